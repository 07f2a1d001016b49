// A list stored in an array of fixed capacity.
#pragma once
#include "arena.hpp"

namespace memplan {

// What a kernel returns where there is no memory.
inline constexpr i64 kNoMemory = INT64_MIN;

// The result of a search over tables, whose own arrays last as long as the call.
template <class Search, class... Tables>
i64 run_in_arena(const Tables &...tables) {
  Allocator allocator;
  Arena arena(allocator);
  Search search(tables..., arena);
  return arena.has_failed ? kNoMemory : search.run();
}

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

// A list that grows in an arena, which keeps what it has grown out of. Once the arena has failed, nothing is added.
template <class T>
class Growing {
 public:
  explicit Growing(Arena &arena) : arena_(arena) {}

  void push(const T &value) {
    if (size == room_.size) reserve(2 * size + 64);
    if (size < room_.size) room_[size++] = value;
  }

  // Add so many that are not written yet.
  void extend(i64 count) {
    if (size + count > room_.size) reserve(2 * (size + count));
    if (size + count <= room_.size) size += count;
  }

  // Make room for `count` entries in all; pages of unused room are not touched.
  void reserve(i64 count) {
    const Array<T> larger = arena_.uncleared<T>(count);
    if (arena_.has_failed) return;
    std::copy(begin(), end(), larger.data);
    room_ = larger;
  }

  Array<T> array() const { return {room_.data, size}; }
  T *begin() const { return room_.data; }
  T *end() const { return room_.data + size; }
  T &operator[](i64 at) const {
    check_index(at, size);
    return room_[at];
  }

  i64 size = 0;

 private:
  Arena &arena_;
  Array<T> room_{nullptr, 0};
};

// Sort the ranges from one on, and make one of those that overlap. Borders, (at, at), stay where nothing holds them.
inline void merge(Growing<Range> &ranges, i64 from) {
  Range *first = ranges.begin() + from;
  if (ranges.size - from < 2) return;
  std::sort(first, ranges.end(),
            [](const Range &a, const Range &b) { return a.low < b.low || (a.low == b.low && a.high < b.high); });
  Range *last = first;
  for (const Range *next = first + 1; next != ranges.end(); ++next)
    if (next->low < last->high)
      last->high = std::max(last->high, next->high);
    else
      *++last = *next;
  ranges.size = last + 1 - ranges.begin();
}

}  // namespace memplan
