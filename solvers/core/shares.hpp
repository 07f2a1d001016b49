// The pairs of buffers that may have the same offset although both are alive.
#pragma once
#include <numeric>

#include "arena.hpp"
#include "instance.hpp"
#include "memplan.h"
#include "stack.hpp"

namespace memplan {

// If the arena has failed, no member may be read.
class Shares {
 public:
  // (n + 1,): start of each buffer's list of buffers that are alive with it and may share its offset
  Array<i64> first{nullptr, 0};
  Array<i64> other{nullptr, 0};
  // The live sets in which each buffer has its own bytes, because no larger buffer that also has its own bytes there
  // may share an offset with it.
  Growing<Range> own;
  Array<i64> own_first{nullptr, 0}, own_end{nullptr, 0};

  Shares(Arena &arena, const memplan_problem &problem, const OnePool &instance)
      : first(arena.array<i64>(instance.n + 2)),
        other(arena.array<i64>(2 * static_cast<i64>(problem.share_count))),
        own(arena),
        own_first(arena.array<i64>(instance.n)),
        own_end(arena.array<i64>(instance.n)) {
    const Array<i64> place = arena.uncleared<i64>(static_cast<i64>(problem.count));
    const Array<u32> order = arena.uncleared<u32>(instance.n);
    if (arena.has_failed) return;
    place.fill(kAbsent);
    for (i64 i = 0; i < instance.n; ++i) place[instance.source[i]] = i, order[i] = static_cast<u32>(i);
    const auto for_each = [&](auto &&visit) {
      for (std::size_t row = 0; row < problem.share_count; ++row) {
        const i64 i = place[static_cast<i64>(problem.shares[row].first)], j = place[static_cast<i64>(problem.shares[row].second)];
        if (i != kAbsent && j != kAbsent && instance.conflict(i, j) && !is_named(instance, i, j)) visit(i, j), visit(j, i);
      }
    };
    for_each([this](i64 i, i64) { ++first[i + 2]; });
    std::partial_sum(first.begin(), first.end(), first.data);
    for_each([this](i64 i, i64 j) { other[first[i + 1]++] = j; });
    first.size = instance.n + 1, other.size = first[instance.n];
    std::sort(order.begin(), order.end(), [&](u32 a, u32 b) {
      return instance.size.data[a] != instance.size.data[b] ? instance.size.data[a] > instance.size.data[b] : a < b;
    });
    for (const u32 i : order) {
      own_first[i] = own.size;
      for (i64 r = instance.first[i]; r < instance.first[i + 1]; ++r) own.push({instance.start[r], instance.end[r]});
      for (i64 k = first[i]; k < first[i + 1]; ++k)
        for (i64 x = own_first[other[k]]; x < own_end[other[k]] && !arena.has_failed; ++x) take_out(own_first[i], own[x]);
      own_end[i] = own.size;
    }
  }

 private:
  // Remove a range from all ranges from index `from` on.
  void take_out(i64 from, const Range range) {
    for (i64 x = own.size - 1; x >= from; --x) {
      const Range here = own[x];
      if (range.high <= here.low || here.high <= range.low) continue;
      own[x] = own[own.size - 1], --own.size;
      if (here.low < range.low) own.push({here.low, range.low});
      if (range.high < here.high) own.push({range.high, here.high});
    }
  }

  static bool is_named(const OnePool &instance, i64 i, i64 j) {
    return std::binary_search(instance.pair.data + instance.pair_first[i], instance.pair.data + instance.pair_first[i + 1], j);
  }
};

}  // namespace memplan
