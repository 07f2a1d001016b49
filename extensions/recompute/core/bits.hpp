// Sets of operations or of tensors, as bits.
#pragma once
#include <bit>

#include "graph.hpp"

namespace memplan::order {

constexpr i64 kWords = 2, kMostBits = 64 * kWords;

// A set of operations or of tensors.
struct Bits {
  u64 word[kWords] = {};

  bool has(i64 at) const { return word[at >> 6] >> (at & 63) & 1; }
  void add(i64 at) { word[at >> 6] |= u64{1} << (at & 63); }
  void remove(i64 at) { word[at >> 6] &= ~(u64{1} << (at & 63)); }
  bool any() const { return (word[0] | word[1]) != 0; }
  bool within(const Bits &other) const { return !(*this - other).any(); }
  i64 count() const { return std::popcount(word[0]) + std::popcount(word[1]); }
  friend Bits operator|(const Bits &a, const Bits &b) { return {{a.word[0] | b.word[0], a.word[1] | b.word[1]}}; }
  friend Bits operator&(const Bits &a, const Bits &b) { return {{a.word[0] & b.word[0], a.word[1] & b.word[1]}}; }
  friend Bits operator-(const Bits &a, const Bits &b) { return {{a.word[0] & ~b.word[0], a.word[1] & ~b.word[1]}}; }
  friend bool operator==(const Bits &a, const Bits &b) { return a.word[0] == b.word[0] && a.word[1] == b.word[1]; }

  template <class F>
  void each(F visit) const {
    for (i64 k = 0; k < kWords; ++k)
      for (u64 rest = word[k]; rest != 0; rest &= rest - 1) visit(64 * k + std::countr_zero(rest));
  }
};

inline u64 mixed(u64 hash, const Bits &bits) {
  for (const u64 word : bits.word) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15ULL;
    hash ^= hash >> 29;
  }
  return hash;
}

}  // namespace memplan::order
