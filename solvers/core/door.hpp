// What a problem must be, before anything is done with it.
#pragma once
#include <algorithm>

#include "instance.hpp"
#include "memplan.h"

namespace memplan {

class Door {
 public:
  explicit Door(const memplan_problem &problem) : problem_(problem) {}

  // The first rule that the problem breaks, and the buffer, or row, that does. Takes no memory; O(n + rows log rows).
  memplan_rule fault(std::size_t &at) {
    at = MEMPLAN_NONE;
    const memplan_problem &p = problem_;
    if ((p.buffers == nullptr && p.count > 0) || (p.pairs == nullptr && p.pair_count > 0) ||
        (p.gaps == nullptr && p.gap_count > 0) || (p.joins == nullptr && p.join_count > 0) ||
        (p.reserved == nullptr && p.reserved_count > 0))
      return MEMPLAN_NULL_POINTER;
    constexpr std::size_t rows = std::size_t{1} << (sizeof(std::size_t) > 4 ? 40 : 28);
    if (p.count > 0x7fffffff || p.pair_count > rows || p.gap_count > rows || p.join_count > rows ||
        p.reserved_count > rows)
      return MEMPLAN_TOO_MANY;
    if (p.capacity < 0) return MEMPLAN_CAPACITY_NEGATIVE;
    if (p.base < 0) return MEMPLAN_BASE_NEGATIVE;
    if (!add(p.base)) return MEMPLAN_TOO_LARGE;
    i64 highest = 0;
    for (std::size_t i = 0; i < p.count; ++i) {
      at = i;
      const memplan_rule rule = fault_of(p.buffers[i]);
      if (rule != MEMPLAN_FINE) return rule;
      highest = std::max({highest, p.buffers[i].pin, p.buffers[i].lowest});
    }
    const memplan_rule rule = fault_of_rows(at, highest);
    if (rule != MEMPLAN_FINE) return rule;
    at = MEMPLAN_NONE;
    return add(highest) ? MEMPLAN_FINE : MEMPLAN_TOO_LARGE;
  }

 private:
  const memplan_problem &problem_;
  i64 sum_ = 0;

  bool add(i64 value) {
    if (value > kLargest - sum_) return false;
    sum_ += value;
    return true;
  }

  memplan_rule fault_of(const memplan_buffer &buffer) {
    if (buffer.size < 0) return MEMPLAN_SIZE_NEGATIVE;
    if (!problem_.only_pairs && buffer.end <= buffer.begin) return MEMPLAN_LIFETIME_EMPTY;
    if (buffer.alignment < 0) return MEMPLAN_ALIGNMENT_NEGATIVE;
    if (buffer.pin < 0 && buffer.pin != MEMPLAN_FREE) return MEMPLAN_PIN_NEGATIVE;
    if (buffer.lowest < 0) return MEMPLAN_LOWEST_NEGATIVE;
    if (buffer.limit < 0) return MEMPLAN_LIMIT_NEGATIVE;
    if (buffer.no_cross < 0) return MEMPLAN_NO_CROSS_NEGATIVE;
    return add(buffer.size) && add(buffer.alignment) && add(buffer.no_cross) ? MEMPLAN_FINE : MEMPLAN_TOO_LARGE;
  }

  memplan_rule fault_of_rows(std::size_t &at, i64 &highest) {
    const memplan_problem &p = problem_;
    for (at = 0; at < p.pair_count; ++at) {
      const memplan_pair &pair = p.pairs[at];
      if (pair.first >= p.count || pair.second >= p.count || pair.first == pair.second) return MEMPLAN_PAIR_WRONG;
    }
    for (at = 0; at < p.gap_count; ++at) {
      const memplan_gap &gap = p.gaps[at];
      if (gap.buffer >= p.count || p.only_pairs || gap.end <= gap.begin) return MEMPLAN_GAP_WRONG;
      if (gap.begin <= p.buffers[gap.buffer].begin || gap.end >= p.buffers[gap.buffer].end) return MEMPLAN_GAP_WRONG;
      if (at == 0) continue;
      const memplan_gap &before = p.gaps[at - 1];
      if (before.buffer > gap.buffer || (before.buffer == gap.buffer && before.end >= gap.begin))
        return MEMPLAN_GAP_WRONG;
    }
    for (at = 0; at < p.join_count; ++at) {
      const memplan_join &join = p.joins[at];
      if (join.upper >= p.count || join.lower >= p.count || join.upper == join.lower || join.distance < 0)
        return MEMPLAN_JOIN_WRONG;
      if (p.buffers[join.upper].size == 0 || p.buffers[join.lower].size == 0) return MEMPLAN_JOIN_WRONG;
      if ((at > 0 && p.joins[at - 1].upper >= join.upper) || is_upper(join.lower)) return MEMPLAN_JOIN_WRONG;
      if (!add(join.distance)) return MEMPLAN_TOO_LARGE;
    }
    for (at = 0; at < p.reserved_count; ++at) {
      const memplan_range &range = p.reserved[at];
      if (range.begin < 0 || range.end <= range.begin) return MEMPLAN_RANGE_WRONG;
      if (at > 0 && p.reserved[at - 1].end > range.begin) return MEMPLAN_RANGE_WRONG;
      highest = std::max(highest, range.end);
    }
    return MEMPLAN_FINE;
  }

  bool is_upper(std::size_t buffer) const {
    const memplan_join *end = problem_.joins + problem_.join_count;
    const auto below = [](const memplan_join &join, std::size_t other) { return join.upper < other; };
    const memplan_join *row = std::lower_bound(problem_.joins, end, buffer, below);
    return row != end && row->upper == buffer;
  }
};

}  // namespace memplan
