// A sweep over time: buffers are placed in the order of their starts, each in a free gap of the addresses of that time.
//
// Blocks, each a placed buffer or a gap, are linked in the order of addresses. Gaps are also linked in lists of similar
// lengths. A buffer gets a gap of its own list that is long enough, if one is near the list's head, or else any gap of
// the next list, so a sweep of n buffers takes O(n) time (segregated fit; Masmano et al. 2004, TLSF).
#pragma once
#include <bit>
#include <numeric>

#include "stack.hpp"

namespace memplan::packing {

// See `SweepTask` in pack.py.
struct SweepTask {
  Array<i64> order;
  Array<i64> size;
  Array<i64> start;
  Array<i64> end;
  Array<i64> step;
  Rows<i64> reserved;
  i64 capacity;
  i64 n_live_sets;
  Array<i64> offsets;
};

class Sweep {
 public:
  Sweep(const SweepTask &task, Arena &arena)
      : task_(task),
        blocks_{arena.uncleared<Block>(2 * (task.order.size + task.reserved.size) + 2)},
        unused_{arena.uncleared<i64>(blocks_.room.size)},
        ending_(arena.uncleared<i64>(task.n_live_sets + 1)) {
    ending_.fill(kAbsent), std::fill(first_, first_ + kLists, kAbsent);
    for (const i64 i : task.order) step_ = std::gcd(step_, task.step[i]);
  }

  i64 run() {
    if (task_.order.size > 0) list_gaps();
    i64 now = 0;
    for (i64 x = 0; x < task_.order.size; ++x) {
      const i64 i = task_.order[x];
      while (now < task_.start[i]) free_ending(++now);
      place(i, task_.offsets[x]);
    }
    return 0;
  }

 private:
  static constexpr i64 kParts = 16, kLists = 64 * kParts, kTries = 8;
  // A block of addresses between the blocks `below` and `above`. Blocks `before` and `after` it are in the list of its
  // length or, for a placed buffer, of its end.
  struct Block {
    i64 low, high, below, above, before, after;
    bool is_gap;
  };
  const SweepTask &task_;
  Stack<Block> blocks_;
  Stack<i64> unused_;
  Array<i64> ending_;
  i64 first_[kLists];
  u64 has_gaps_[kLists / 64] = {};
  i64 step_ = 0;  // all offsets and the lengths of blocks are multiples of it

  i64 up(i64 value, i64 step) const { return (value + step - 1) / step * step; }
  i64 length(i64 b) const { return blocks_[b].high - blocks_[b].low; }

  // Return the list of a length: each power of two is divided in equal parts.
  static i64 list_of(i64 length) {
    if (length < kParts) return length;
    const int shift = std::bit_width(static_cast<u64>(length)) - std::bit_width(static_cast<u64>(kParts));
    return (shift + 1) * kParts + (length >> shift) - kParts;
  }

  void list_gaps() {
    i64 low = 0;
    const i64 capacity = std::min(task_.capacity, kFar);
    for (i64 row = 0; row <= task_.reserved.size; ++row) {
      const bool is_last = row == task_.reserved.size;
      const i64 high = (is_last ? capacity : std::min(capacity, task_.reserved[row][0])) / step_ * step_;
      if (low < high) add(low, high, kAbsent, kAbsent);
      if (!is_last) low = up(task_.reserved[row][1], step_);
    }
  }

  i64 add(i64 low, i64 high, i64 below, i64 above) {
    const i64 b = unused_.size > 0 ? unused_.pop() : blocks_.size++;
    blocks_[b] = {low, high, below, above, kAbsent, kAbsent, true};
    if (below != kAbsent) blocks_[below].above = b;
    if (above != kAbsent) blocks_[above].below = b;
    list(b);
    return b;
  }

  void list(i64 b) {
    const i64 l = list_of(length(b));
    blocks_[b].before = kAbsent, blocks_[b].after = first_[l];
    if (first_[l] != kAbsent) blocks_[first_[l]].before = b;
    first_[l] = b, has_gaps_[l / 64] |= u64{1} << l % 64;
  }

  void unlist(i64 b) {
    const i64 l = list_of(length(b)), before = blocks_[b].before, after = blocks_[b].after;
    if (after != kAbsent) blocks_[after].before = before;
    if (before != kAbsent) blocks_[before].after = after;
    else if ((first_[l] = after) == kAbsent) has_gaps_[l / 64] &= ~(u64{1} << l % 64);
  }

  // Return a gap of at least a length, or ABSENT.
  i64 gap_of(i64 length_wanted) const {
    const i64 next = list_of(length_wanted) + 1;
    i64 b = first_[next - 1];
    for (int tries = 0; b != kAbsent && tries < kTries; ++tries, b = blocks_[b].after)
      if (length(b) >= length_wanted) return b;
    u64 later = has_gaps_[next / 64] & ~u64{0} << next % 64;
    for (i64 word = next / 64; word < kLists / 64; later = ++word < kLists / 64 ? has_gaps_[word] : 0)
      if (later != 0) return first_[64 * word + std::countr_zero(later)];
    return kAbsent;
  }

  void place(i64 i, i64 &offset) {
    const i64 size = up(task_.size[i], step_), b = gap_of(size + task_.step[i] - step_);
    if (b == kAbsent) return;
    unlist(b);
    const i64 low = blocks_[b].low, high = blocks_[b].high, at = up(low, task_.step[i]);
    if (low < at) add(low, at, blocks_[b].below, b);
    if (at + size < high) add(at + size, high, b, blocks_[b].above);
    blocks_[b].low = offset = at, blocks_[b].high = at + size, blocks_[b].is_gap = false;
    blocks_[b].after = ending_[task_.end[i]], ending_[task_.end[i]] = b;
  }

  // Make the buffers that end at a time gaps, each one gap with those beside it.
  void free_ending(i64 time) {
    for (i64 b = ending_[time], next; b != kAbsent; b = next) {
      next = blocks_[b].after;
      Block &block = blocks_[b];
      if (const i64 below = block.below; below != kAbsent && blocks_[below].is_gap) {
        unlist(below), unused_.push(below);
        block.low = blocks_[below].low, block.below = blocks_[below].below;
        if (block.below != kAbsent) blocks_[block.below].above = b;
      }
      if (const i64 above = block.above; above != kAbsent && blocks_[above].is_gap) {
        unlist(above), unused_.push(above);
        block.high = blocks_[above].high, block.above = blocks_[above].above;
        if (block.above != kAbsent) blocks_[block.above].below = b;
      }
      block.is_gap = true, list(b);
    }
  }
};

}  // namespace memplan::packing
