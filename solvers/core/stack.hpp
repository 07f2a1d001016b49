// A list in an array, which has room for so many.
#pragma once
#include "arena.hpp"

namespace memplan {

// What a kernel returns where there is no memory.
inline constexpr i64 kNoMemory = INT64_MIN;

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
