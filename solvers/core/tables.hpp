// The definitions that all sources share: numbers, arrays of tables, division that rounds down, and a random sequence.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#ifdef MEMPLAN_CHECKED
#include <cstdio>
#include <cstdlib>
#endif

#if __cplusplus <= 201703L && !defined(_MSVC_LANG)
#error "memplan needs C++20: compile with -std=c++20"
#endif
#ifdef _WIN32
#define MEMPLAN_KERNEL extern "C" __declspec(dllexport) std::int64_t
#elif defined(__GNUC__)
#define MEMPLAN_KERNEL extern "C" __attribute__((visibility("default"))) std::int64_t
#else
#define MEMPLAN_KERNEL extern "C" std::int64_t
#endif

namespace memplan {

using i64 = std::int64_t;
using u64 = std::uint64_t;
using u32 = std::uint32_t;

inline constexpr i64 kMost = INT64_MAX;
inline constexpr i64 kAbsent = -1;
// With the default order, std::sort calls a function that is not linked in some C++ libraries, so pass this order.
inline constexpr auto ascends = [](auto a, auto b) { return a < b; };
inline constexpr i64 kFar = i64{1} << 62;  // above all offsets, and a capacity that no plan needs

// The outcome of a search: a placement; a proof that there is none; neither so far; or too little space.
enum Outcome : i64 { kFound = 1, kExhausted = 0, kStopped = -1, kFull = -2 };

struct Range {
  i64 low, high;
};

// With MEMPLAN_CHECKED, an index out of bounds ends the process with a message; otherwise, indices are not checked.
inline void check_index([[maybe_unused]] i64 at, [[maybe_unused]] i64 size) {
#ifdef MEMPLAN_CHECKED
  if (at < 0 || at >= size) {
    std::fprintf(stderr, "memplan: index %lld of %lld\n", static_cast<long long>(at), static_cast<long long>(size));
    std::abort();
  }
#endif
}

// An array that somebody else owns. A table is a struct of arrays, i64 (also for bool) and double, with the layout
// that `tables.py` gives a named tuple with the same fields in the same order.
template <class T>
struct Array {
  T *data;
  i64 size;
  T &operator[](i64 at) const {
    check_index(at, size);
    return data[at];
  }
  T *begin() const { return data; }
  T *end() const { return data + size; }
  void fill(T value) const { std::fill(data, data + size, value); }
};

// Rows of equal length, stored one after the other.
template <class T>
struct Rows {
  T *data;
  i64 size;
  i64 columns;
  T *operator[](i64 row) const {
    check_index(row, size);
    return data + row * columns;
  }
};

// Return the quotient rounded down; floor_mod returns the remainder, which is not negative. The divisor is positive.
inline i64 floor_div(i64 value, i64 by) {
  const i64 quotient = value / by;
  return value % by < 0 ? quotient - 1 : quotient;
}
inline i64 floor_mod(i64 value, i64 by) {
  const i64 rest = value % by;
  return rest < 0 ? rest + by : rest;
}

// Return whether another thread has requested a stop.
inline bool is_set(const Array<i64> &flag) {
  return std::atomic_ref<i64>(flag.data[0]).load(std::memory_order_relaxed) != 0;
}

// Return the next of a random sequence of 31-bit numbers, whose state is not 0 (xorshift, Marsaglia 2003).
inline i64 draw(i64 &state) {
  constexpr u64 mask = 0x7FFFFFFFFFFFFFFF;
  u64 x = static_cast<u64>(state);
  x ^= (x << 13) & mask;
  x ^= x >> 7;
  x ^= (x << 17) & mask;
  state = static_cast<i64>(x);
  return static_cast<i64>((x >> 20) & 0x7FFFFFFF);
}

}  // namespace memplan
