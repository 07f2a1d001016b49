// Validation of a problem: the rules that it must satisfy before it is planned.
#pragma once
#include <algorithm>

#include "instance.hpp"
#include "memplan.h"

namespace memplan {

// Return the memory of a buffer; without a list of memories, all buffers are in the problem's only memory.
inline memplan_memory memory_of(const memplan_problem &problem, std::size_t buffer) {
  if (problem.memory_count > 0) return problem.memories[problem.memory_of[buffer]];
  return {problem.capacity, problem.base, problem.reserved, problem.reserved_count, problem.bank};
}

inline bool is_in_one(const memplan_problem &problem, std::size_t a, std::size_t b) {
  return problem.memory_count == 0 || problem.memory_of[a] == problem.memory_of[b];
}

inline bool has_same_offset(const memplan_problem &problem, std::size_t buffer) {
  return problem.same_offset != nullptr && problem.same_offset[buffer] != MEMPLAN_NONE;
}

// Return whether `other` may be in every memory in which `buffer` may be.
inline bool is_within(const memplan_home *homes, std::size_t count, std::size_t buffer, std::size_t other) {
  const auto rows = [&](std::size_t of, const memplan_home *&end) {
    const auto below = [](const memplan_home &home, std::size_t number) { return home.buffer < number; };
    end = std::lower_bound(homes, homes + count, of + 1, below);
    return std::lower_bound(homes, homes + count, of, below);
  };
  const memplan_home *end, *other_end;
  const memplan_home *begin = rows(buffer, end), *other_begin = rows(other, other_end);
  return count == 0 || std::includes(other_begin, other_end, begin, end, [](const memplan_home &a, const memplan_home &b) {
    return a.memory < b.memory;
  });
}

inline constexpr i64 kMostCost = i64{1} << 58;  // the largest cost of a home, and the largest weight of a place

class Door {
 public:
  // If memories are still to be chosen, the memory of each buffer is not read.
  explicit Door(const memplan_problem &problem, bool is_choice = false) : problem_(problem), is_choice_(is_choice) {}

  // Return the first broken rule, and in `at` its buffer or row. Takes no memory, and O(n + rows log rows) time.
  memplan_rule fault(std::size_t &at) {
    at = MEMPLAN_NONE;
    const memplan_problem &p = problem_;
    if ((p.buffers == nullptr && p.count > 0) || (p.pairs == nullptr && p.pair_count > 0) ||
        (p.gaps == nullptr && p.gap_count > 0) || (p.joins == nullptr && p.join_count > 0) ||
        (p.prices == nullptr && p.price_count > 0) || (p.banks == nullptr && p.bank_count > 0) ||
        (p.shares == nullptr && p.share_count > 0) || (p.places == nullptr && p.place_count > 0) ||
        (p.memory_count > 0 && (p.memories == nullptr || (p.memory_of == nullptr && p.count > 0 && !is_choice_))))
      return MEMPLAN_NULL_POINTER;
    if (p.count > kMostBuffers || p.memory_count > kMostBuffers || p.pair_count > kMostRows ||
        p.gap_count > kMostRows || p.join_count > kMostRows || p.price_count > kMostRows || p.bank_count > kMostRows ||
        p.share_count > kMostRows || p.place_count > kMostRows)
      return MEMPLAN_TOO_MANY;
    i64 highest = 0;
    if (const memplan_rule rule = fault_of_memories(at, highest); rule != MEMPLAN_FINE) return rule;
    for (std::size_t i = 0; i < p.count; ++i) {
      at = i;
      const memplan_rule rule = fault_of(p.buffers[i]);
      if (rule != MEMPLAN_FINE) return rule;
      if (!is_choice_ && p.memory_count > 0 && p.memory_of[i] >= p.memory_count) return MEMPLAN_MEMORY_WRONG;
      if (!is_choice_ && p.buffers[i].size > 0 && memory_of(p, i).capacity == 0) return MEMPLAN_CAPACITY_ZERO;
      if (has_same_offset(p, i) && !is_like_first(p.same_offset[i], i)) return MEMPLAN_SAME_OFFSET_WRONG;
      highest = std::max({highest, p.buffers[i].pin, p.buffers[i].lowest});
    }
    if (const memplan_rule rule = fault_of_rows(at); rule != MEMPLAN_FINE) return rule;
    if (const memplan_rule rule = fault_of_shares(at); rule != MEMPLAN_FINE) return rule;
    if (const memplan_rule rule = fault_of_places(at); rule != MEMPLAN_FINE) return rule;
    at = MEMPLAN_NONE;
    for (std::size_t q = 0; q < std::max<std::size_t>(1, p.memory_count); ++q)
      if (!add(highest)) return MEMPLAN_TOO_LARGE;
    return MEMPLAN_FINE;
  }

 private:
  static constexpr std::size_t kMostBuffers = 0x7fffffff, kMostRows = std::size_t{1} << (sizeof(std::size_t) > 4 ? 40 : 28);
  const memplan_problem &problem_;
  const bool is_choice_;
  i64 sum_ = 0;

  bool add(i64 value) {
    if (value > kLargest - sum_) return false;
    sum_ += value;
    return true;
  }

  memplan_rule fault_of_memories(std::size_t &at, i64 &highest) {
    const memplan_problem &p = problem_;
    if (p.memory_count == 0) return fault_of({p.capacity, p.base, p.reserved, p.reserved_count, p.bank}, at, highest);
    for (std::size_t q = 0; q < p.memory_count; ++q) {
      if (const memplan_rule rule = fault_of(p.memories[q], at, highest); rule != MEMPLAN_FINE) return at = q, rule;
      if (p.same_offset != nullptr && !are_alike(p.memories[0], p.memories[q])) return at = q, MEMPLAN_MEMORIES_DIFFER;
    }
    return MEMPLAN_FINE;
  }

  static bool are_alike(const memplan_memory &a, const memplan_memory &b) {
    const auto is_equal = [](const memplan_range &x, const memplan_range &y) { return x.begin == y.begin && x.end == y.end; };
    return a.base == b.base && a.bank == b.bank && std::equal(a.reserved, a.reserved + a.reserved_count, b.reserved, b.reserved + b.reserved_count, is_equal);
  }

  bool is_like_first(std::size_t first, std::size_t i) const {
    if (first > i || problem_.same_offset[first] != first) return false;
    const memplan_buffer &a = problem_.buffers[first], &b = problem_.buffers[i];
    return a.size == b.size && a.alignment == b.alignment && a.pin == b.pin && a.lowest == b.lowest && a.limit == b.limit &&
           a.no_cross == b.no_cross;
  }

  memplan_rule fault_of(const memplan_memory &memory, std::size_t &at, i64 &highest) {
    if (memory.reserved == nullptr && memory.reserved_count > 0) return MEMPLAN_NULL_POINTER;
    if (memory.reserved_count > kMostRows) return MEMPLAN_TOO_MANY;
    if (memory.capacity < 0) return MEMPLAN_CAPACITY_NEGATIVE;
    if (memory.base < 0) return MEMPLAN_BASE_NEGATIVE;
    if (!add(memory.base)) return MEMPLAN_BASE_TOO_LARGE;
    if (memory.bank < 0) return MEMPLAN_BANK_NEGATIVE;
    if (!add(memory.bank)) return MEMPLAN_TOO_LARGE;
    for (std::size_t row = 0; row < memory.reserved_count; ++row) {
      const memplan_range &range = memory.reserved[row];
      const i64 before = row > 0 ? memory.reserved[row - 1].end : 0;
      if (range.begin < before || range.end <= range.begin || range.end > kLargest) return at = row, MEMPLAN_RANGE_WRONG;
      highest = std::max(highest, range.end);
    }
    return MEMPLAN_FINE;
  }

  memplan_rule fault_of(const memplan_buffer &buffer) {
    if (buffer.size < 0) return MEMPLAN_SIZE_NEGATIVE;
    if (!problem_.only_pairs && buffer.end <= buffer.begin) return MEMPLAN_LIFETIME_EMPTY;
    if (buffer.alignment < 0) return MEMPLAN_ALIGNMENT_NEGATIVE;
    if (buffer.pin < 0 && buffer.pin != MEMPLAN_FREE) return MEMPLAN_PIN_NEGATIVE;
    if (buffer.pin > kLargest) return MEMPLAN_PIN_TOO_LARGE;
    if (buffer.lowest < 0) return MEMPLAN_LOWEST_NEGATIVE;
    if (buffer.lowest > kLargest) return MEMPLAN_LOWEST_TOO_LARGE;
    if (buffer.limit < 0) return MEMPLAN_LIMIT_NEGATIVE;
    if (buffer.no_cross < 0) return MEMPLAN_NO_CROSS_NEGATIVE;
    return add(buffer.size) && add(buffer.alignment) && add(buffer.no_cross) ? MEMPLAN_FINE : MEMPLAN_TOO_LARGE;
  }

  memplan_rule fault_of_rows(std::size_t &at) {
    const memplan_problem &p = problem_;
    const auto are_two = [&p](std::size_t a, std::size_t b) { return a < p.count && b < p.count && a != b; };
    for (at = 0; at < p.pair_count; ++at)
      if (!are_two(p.pairs[at].first, p.pairs[at].second)) return MEMPLAN_PAIR_WRONG;
    for (at = 0; at < p.bank_count; ++at)
      if (!are_two(p.banks[at].first, p.banks[at].second)) return MEMPLAN_BANK_WRONG;
    if (p.bank_count > 0 && (p.join_count + p.price_count > 0 || p.same_offset != nullptr))
      return at = MEMPLAN_NONE, MEMPLAN_BANKS_BESIDE;
    for (at = 0; at < p.price_count; ++at) {
      const memplan_price &row = p.prices[at];
      if (!are_two(row.first, row.second) || row.price < 0) return MEMPLAN_PRICE_WRONG;
      if (!add(row.price)) return MEMPLAN_TOO_LARGE;
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
      if (!are_two(join.upper, join.lower) || join.distance < 0) return MEMPLAN_JOIN_WRONG;
      if (p.buffers[join.upper].size == 0 || p.buffers[join.lower].size == 0) return MEMPLAN_JOIN_WRONG;
      if ((at > 0 && p.joins[at - 1].upper >= join.upper) || is_upper(join.lower)) return MEMPLAN_JOIN_WRONG;
      if (!is_choice_ && !is_in_one(p, join.upper, join.lower)) return MEMPLAN_JOIN_WRONG;
      if (has_same_offset(p, join.upper) || has_same_offset(p, join.lower)) return MEMPLAN_JOIN_WRONG;
      if (!add(join.distance)) return MEMPLAN_TOO_LARGE;
    }
    return MEMPLAN_FINE;
  }

  memplan_rule fault_of_shares(std::size_t &at) const {
    const memplan_problem &p = problem_;
    for (at = 0; at < p.share_count; ++at) {
      const memplan_pair &row = p.shares[at];
      if (row.first >= p.count || row.second >= p.count || lowest_of(row.first) == lowest_of(row.second)) return MEMPLAN_SHARE_WRONG;
    }
    at = MEMPLAN_NONE;
    return p.share_count > 0 && (p.price_count > 0 || p.same_offset != nullptr) ? MEMPLAN_SHARES_BESIDE : MEMPLAN_FINE;
  }

  memplan_rule fault_of_places(std::size_t &at) const {
    const memplan_problem &p = problem_;
    i64 sum = 0;
    for (at = 0; at < p.place_count; ++at) {
      const memplan_place &row = p.places[at];
      const bool is_later = at == 0 || p.places[at - 1].buffer < row.buffer;
      if (row.buffer >= p.count || row.memory >= std::max<std::size_t>(1, p.memory_count)) return MEMPLAN_PLACE_WRONG;
      if (row.offset < 0 || row.weight < 0 || !is_later) return MEMPLAN_PLACE_WRONG;
      if (row.weight > kMostCost - sum) return MEMPLAN_PLACES_TOO_LARGE;
      sum += row.weight;
    }
    at = MEMPLAN_NONE;
    return p.place_count > 0 && (p.price_count > 0 || p.same_offset != nullptr) ? MEMPLAN_PLACES_BESIDE : MEMPLAN_FINE;
  }

  const memplan_join *row_of(std::size_t upper) const {
    const memplan_join *end = problem_.joins + problem_.join_count;
    const auto below = [](const memplan_join &join, std::size_t other) { return join.upper < other; };
    const memplan_join *row = std::lower_bound(problem_.joins, end, upper, below);
    return row != end && row->upper == upper ? row : nullptr;
  }
  bool is_upper(std::size_t buffer) const { return row_of(buffer) != nullptr; }

  // Return the lowest buffer of a buffer's group, or the buffer itself if it is in no group.
  std::size_t lowest_of(std::size_t buffer) const {
    const memplan_join *row = row_of(buffer);
    return row == nullptr ? buffer : row->lower;
  }
};

// Return whether a problem has features with which memories cannot be chosen.
inline bool is_beside_choice(const memplan_problem &problem) {
  return problem.memory_count == 0 || problem.price_count > 0 || problem.same_offset != nullptr;
}

// Return the first broken rule of a problem whose memories are to be chosen, or of its homes.
inline memplan_rule fault_of_choice(const memplan_problem &problem, const memplan_home *homes, std::size_t count, std::size_t &at) {
  if (is_beside_choice(problem)) return MEMPLAN_CHOICE_BESIDE;
  if (homes == nullptr && count > 0) return MEMPLAN_NULL_POINTER;
  if (const memplan_rule rule = Door(problem, true).fault(at); rule != MEMPLAN_FINE) return rule;
  i64 sum = 0;
  for (at = 0; at < count; ++at) {
    const memplan_home &home = homes[at], &before = homes[at > 0 ? at - 1 : 0];
    const bool is_later = at == 0 || before.buffer < home.buffer || (before.buffer == home.buffer && before.memory < home.memory);
    if (home.buffer >= problem.count || home.memory >= problem.memory_count || home.cost < 0 || !is_later)
      return MEMPLAN_HOME_WRONG;
    if (home.cost > kMostCost - sum) return MEMPLAN_HOMES_TOO_LARGE;
    sum += home.cost;
  }
  return at = MEMPLAN_NONE, MEMPLAN_FINE;
}

}  // namespace memplan
