// Live sets of a choice of memories that fit in no stacking order. Alignments, pins and reserved ranges leave gaps
// between buffers, which sums of sizes do not show. So in each order of the buffers, each buffer gets its least offset
// above the previous one.
#pragma once
#include <bit>
#include <numeric>

#include "windows.hpp"

namespace memplan::windows {

class Stacks {
 public:
  // Nothing is to be read where the arena has failed.
  Stacks(Arena &arena, const Spaces &spaces)
      : spaces_(spaces),
        sorted_(arena.array<i64>(spaces.start.size)),
        alive_(arena.array<i64>(spaces.start.size)) {
    if (arena.has_failed) return;
    std::iota(sorted_.begin(), sorted_.end(), i64{0});
    std::sort(sorted_.begin(), sorted_.end(), [&spaces](i64 a, i64 b) { return spaces.start[a] != spaces.start[b] ? spaces.start[a] < spaces.start[b] : a < b; });
    i64 most = 0;
    for_each_live_set([&](i64 count) { return most = std::max(most, count), true; });
    top_ = arena.uncleared<i64>(i64{1} << std::min(most, kMostStacked));
  }

  // Call `add(q, buffers, count, need)` for a least set of buffers of each live set that ends above end[q] in memory q;
  // `need` is the least end of that set. Returns false where `add` does, to stop.
  template <class Add>
  bool refute(const Array<i64> &pool, const Array<i64> &end, Add &&add) {
    return for_each_live_set([&](i64 count) {
      for (i64 q = 0; q < spaces_.capacity.size; ++q)
        if (spaces_.capacity[q] != kAbsent && is_refuted(q, pool, count, end[q]) && !add(q, members_, size_, least_top(q)))
          return false;
      return true;
    });
  }

 private:
  static constexpr i64 kMostStacked = 14;
  const Spaces &spaces_;
  Array<i64> sorted_, alive_, top_{nullptr, 0};
  i64 members_[kMostStacked] = {}, size_ = 0;

  // Call `visit(count)` for each live set, the first `count` entries of alive_, in the order of time. Returns false if
  // `visit` does, which ends the loop.
  template <class Visit>
  bool for_each_live_set(Visit &&visit) {
    i64 count = 0;
    for (i64 x = 0; x < sorted_.size;) {
      const i64 t = spaces_.start[sorted_[x]];
      i64 to = 0;
      for (i64 k = 0; k < count; ++k)
        if (spaces_.end[alive_[k]] > t) alive_[to++] = alive_[k];
      for (count = to; x < sorted_.size && spaces_.start[sorted_[x]] == t; ++x) alive_[count++] = sorted_[x];
      if (!visit(count)) return false;
    }
    return true;
  }

  // Take the members of a live set in a memory; if they do not fit below an end, leave out those that are not needed
  // for that. False where they fit, or are too many.
  bool is_refuted(i64 q, const Array<i64> &pool, i64 count, i64 end) {
    i64 gaps = spaces_.reserved_first[q + 1] > spaces_.reserved_first[q] ? kFar : 0, load = 0;
    size_ = 0;
    for (i64 k = 0; k < count; ++k) {
      const i64 i = spaces_.lifetime_buffer[alive_[k]];
      if (pool[i] != q) continue;
      if (size_ == kMostStacked) return false;
      members_[size_++] = i, load += spaces_.size[i];
      const bool is_low = spaces_.highest[q][i] + spaces_.size[i] + spaces_.alignment[q][i] <= end;
      gaps += spaces_.alignment[q][i] - 1 + spaces_.lowest[q][i] + (is_low ? kFar / (4 * kMostStacked) : 0);
    }
    if (load + gaps <= end || least_top(q) <= end) return false;
    for (i64 x = size_ - 1; x >= 0; --x) {
      const i64 left_out = members_[x];
      members_[x] = members_[--size_];
      if (least_top(q) > end) continue;
      members_[size_++] = members_[x], members_[x] = left_out;
    }
    return true;
  }

  // The least end of all stacks of the members, by dynamic programming over their subsets.
  i64 least_top(i64 q) {
    top_[0] = 0;
    for (u32 set = 1; set < u32{1} << size_; ++set) {
      i64 least = kFar;
      for (u32 rest = set; rest != 0; rest &= rest - 1) {
        const int y = std::countr_zero(rest);
        const i64 below = top_[set & ~(u32{1} << y)], i = members_[y];
        if (below < least) least = std::min(least, above(q, i, below));
      }
      top_[set] = least;
    }
    return top_[(i64{1} << size_) - 1];
  }

  // The least end of a buffer above an offset; kFar where it has no place there.
  i64 above(i64 q, i64 i, i64 below) const {
    const i64 lowest = spaces_.lowest[q][i], step = spaces_.alignment[q][i], size = spaces_.size[i];
    i64 at = lowest - floor_div(lowest - std::max(below, lowest), step) * step;
    for (i64 r = spaces_.reserved_first[q]; r < spaces_.reserved_first[q + 1]; ++r)
      if (at < spaces_.reserved[r][1] && at + size > spaces_.reserved[r][0])
        at = lowest - floor_div(lowest - std::max(spaces_.reserved[r][1], lowest), step) * step;
    return at > spaces_.highest[q][i] ? kFar : at + size;
  }
};

}  // namespace memplan::windows
