// A list stored in an array of fixed capacity.
#pragma once
#include "arena.hpp"

namespace memplan {

// The result of a kernel that could not allocate memory.
inline constexpr i64 kNoMemory = INT64_MIN;

// Run a search over tables in its own arena, whose arrays exist as long as the call.
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

// A list that grows in an arena, which keeps the memory of smaller versions. If the arena fails, nothing is added.
template <class T>
class Growing {
 public:
  explicit Growing(Arena &arena) : arena_(arena) {}

  void push(const T &value) {
    if (size == room_.size) reserve(2 * size + 64);
    if (size < room_.size) room_[size++] = value;
  }

  // Extend the list by `count` entries that are not written yet.
  void extend(i64 count) {
    if (size + count > room_.size) reserve(2 * (size + count));
    if (size + count <= room_.size) size += count;
  }

  // Reserve space for `count` entries in all; pages of unused space are not touched.
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

// Sort the ranges from index `from` on, and merge overlapping ones. Borders (at, at) stay unless a range contains them.
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
