// The memory of one call: arrays of zeros that are freed together when it ends.
#pragma once
#include <cstdlib>
#include <type_traits>

#include "tables.hpp"

namespace memplan {

// What a kernel returns where there is no memory.
inline constexpr i64 kNoMemory = INT64_MIN;

class Scratch {
 public:
  Scratch() = default;
  Scratch(const Scratch &) = delete;
  Scratch &operator=(const Scratch &) = delete;
  ~Scratch() {
    while (last_ != nullptr) {
      Block *before = last_->before;
      std::free(last_);
      last_ = before;
    }
  }

  // An array of zeros; an empty one where there is no memory, and `has_failed`.
  template <class T>
  Array<T> array(i64 size) {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
    const bool is_sane = size >= 0 && size < (i64{1} << 60) / static_cast<i64>(sizeof(T));
    void *block = is_sane ? std::calloc(1, sizeof(Block) + sizeof(T) * static_cast<std::size_t>(size)) : nullptr;
    if (block == nullptr) {
      has_failed = true;
      return {nullptr, 0};
    }
    Block *row = static_cast<Block *>(block);
    row->before = last_, last_ = row;
    return {reinterpret_cast<T *>(row + 1), size};
  }

  bool has_failed = false;

 private:
  struct alignas(16) Block {
    Block *before;
  };
  Block *last_ = nullptr;
};

// A list in an array, which has room for so many.
template <class T>
struct Stack {
  Array<T> room;
  i64 size = 0;

  void push(const T &value) { room[size++] = value; }
  T pop() { return room[--size]; }
  T &back() const { return room[size - 1]; }
  T &operator[](i64 at) const {
    check_index(at, size);
    return room[at];
  }
  T *begin() const { return room.data; }
  T *end() const { return room.data + size; }
};

}  // namespace memplan
