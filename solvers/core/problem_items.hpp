// Conversion of a problem of memplan.h to the items of a choice of memories, where joined buffers form one item.
#pragma once
#include "compile.hpp"
#include "measures.hpp"
#include "shares.hpp"

namespace memplan::choice {

inline constexpr i64 kNowhere = kMost;  // the cost of a memory in which an item may not be

// Why nothing fits: `bytes` are alive at once that may be only where `buffer` may be.
// With `other`, the group that contains both buffers has no common memory.
struct Reason {
  std::size_t buffer = MEMPLAN_NONE, other = MEMPLAN_NONE;
  i64 bytes = 0;
};

// If the arena has failed, no member may be read.
class ProblemItems {
 public:
  ChoiceItems knapsack{};
  Rows<i64> limit{nullptr, 0, 0};
  Array<i64> bytes{nullptr, 0};  // the bytes of each item
  Array<i64> life_buffer{nullptr, 0}, start{nullptr, 0}, end{nullptr, 0};  // the lifetimes, as the problem states them
  i64 unit = 1, all = 0;         // bytes per unit; the total size of all buffers, in units
  i64 dearest = 0;               // the cost of all items if each is where it costs most

  ProblemItems(Arena &arena, const memplan_problem &problem, const memplan_home *homes, std::size_t home_count)
      : arena_(arena), problem_(problem), homes_(homes), home_count_(home_count) {
    const i64 n = count(), p = static_cast<i64>(problem.memory_count), joined = static_cast<i64>(problem.join_count);
    memplan_problem alone = problem;  // the problem without rules other than sizes and lifetimes
    alone.memory_count = alone.reserved_count = alone.bank_count = alone.join_count = 0;
    if (problem.share_count == 0) alone.pair_count = 0;
    alone.capacity = MEMPLAN_UNLIMITED, alone.base = alone.bank = 0;
    const OnePool instance = Compiler(arena, alone).instance([] { return false; });
    const i64 lives = problem.only_pairs ? n : instance.start.size, rows = problem.only_pairs ? n : instance.n_sets;
    knapsack.rows = rows;
    columns_ = problem.share_count > 0 ? 2 * n : n;
    knapsack.item = arena.array<i64>(columns_), bytes = arena.array<i64>(n - joined);
    for (Array<i64> *column : {&life_buffer, &start, &end}) *column = arena.array<i64>(lives);
    knapsack.lifetime_buffer = life_buffer, knapsack.start = start, knapsack.end = end;
    for (Rows<i64> *each : {&knapsack.homes, &knapsack.price}) *each = arena.rows<i64>(p, n - joined);
    knapsack.size = arena.rows<i64>(p, columns_);
    limit = arena.rows<i64>(p, rows);
    if (arena.has_failed) return;
    unit = instance.unit;
    for (i64 i = 0; i < instance.n && !problem.only_pairs; ++i)
      for (i64 m = instance.first[i]; m < instance.first[i + 1]; ++m) set_life(m, instance.source[i], instance.start[m], instance.end[m]);
    // Without lifetimes, no buffers need be alive together, so each buffer gets its own live set.
    for (i64 i = 0; i < n && problem.only_pairs; ++i) set_life(i, i, i, i + 1);
    number_items();
    if (problem.share_count > 0 && !problem.only_pairs) share(Shares(arena, problem, instance), instance);
    if (!arena.has_failed) list_homes();
  }

  i64 count() const { return static_cast<i64>(problem_.count); }

  // Return whether a memory may be too small for all buffers.
  bool is_limited(i64 q) const { return problem_.memories[q].capacity < MEMPLAN_UNLIMITED; }

  // Return true if a buffer exceeds every free piece of its memories, or if more is alive than its memories hold.
  bool is_refuted(Reason &reason) const {
    for (i64 i = 0; i < count(); ++i) {
      if (cheapest_home(knapsack, knapsack.price, knapsack.item[i], kNowhere) != kNowhere) continue;
      reason = {static_cast<std::size_t>(i), MEMPLAN_NONE, problem_.buffers[i].size};
      for (std::size_t row = 0; row < problem_.join_count; ++row)
        if (const memplan_join &join = problem_.joins[row]; knapsack.item[static_cast<i64>(join.upper)] == knapsack.item[i])
          reason = {join.upper, join.lower, 0};
      return true;
    }
    const Array<i64> load = arena_.array<i64>(knapsack.rows + 1);
    if (arena_.has_failed) return true;
    for (std::size_t other = 0; other < problem_.count && !problem_.only_pairs; ++other) {
      if (!is_first_of_its_kind(other)) continue;
      load.fill(0);
      for (i64 m = 0; m < knapsack.start.size; ++m) {
        const i64 i = knapsack.lifetime_buffer[m];
        if (i >= count() || !is_within(homes_, home_count_, static_cast<std::size_t>(i), other)) continue;
        load[knapsack.start[m]] += problem_.buffers[i].size, load[knapsack.end[m]] -= problem_.buffers[i].size;
      }
      std::partial_sum(load.begin(), load.end(), load.begin());
      reason = {other, MEMPLAN_NONE, load.size > 0 ? *std::max_element(load.begin(), load.end()) : 0};
      if (reason.bytes > capacity_of(other)) return true;
    }
    return false;
  }

 private:
  Arena &arena_;
  const memplan_problem &problem_;
  const memplan_home *homes_;
  const std::size_t home_count_;
  // the number of buffers; doubled if some may share bytes, since each then also has a form without bytes
  i64 columns_ = 0;

  void set_life(i64 m, i64 i, i64 start, i64 end) const {
    life_buffer[m] = i, this->start[m] = start, this->end[m] = end;
  }

  // A buffer counts only while its bytes are its own; at other times, its form without bytes represents it.
  void share(const Shares &shares, const OnePool &instance) {
    i64 lives = 0;
    for (i64 i = 0; i < instance.n && !arena_.has_failed; ++i) lives += shares.own_end[i] - shares.own_first[i];
    for (Array<i64> *column : {&knapsack.lifetime_buffer, &knapsack.start, &knapsack.end}) *column = arena_.array<i64>(lives + start.size);
    if (arena_.has_failed) return;
    i64 m = 0;
    const auto add = [&](i64 i, i64 low, i64 high) { knapsack.lifetime_buffer[m] = i, knapsack.start[m] = low, knapsack.end[m++] = high; };
    for (i64 i = 0; i < instance.n; ++i)
      for (i64 x = shares.own_first[i]; x < shares.own_end[i]; ++x) add(instance.source[i], shares.own.begin()[x].low, shares.own.begin()[x].high);
    for (i64 r = 0; r < start.size; ++r) add(count() + life_buffer[r], start[r], end[r]);
    for (i64 i = 0; i < count(); ++i) knapsack.item[count() + i] = knapsack.item[i];
  }

  void number_items() {
    std::size_t row = 0;
    i64 made = 0;
    for (i64 i = 0; i < count(); ++i) {
      const bool is_upper = row < problem_.join_count && problem_.joins[row].upper == static_cast<std::size_t>(i);
      if (is_upper)
        ++row;
      else
        knapsack.item[i] = made++;
    }
    for (row = 0; row < problem_.join_count; ++row)
      knapsack.item[static_cast<i64>(problem_.joins[row].upper)] = knapsack.item[static_cast<i64>(problem_.joins[row].lower)];
    for (i64 i = 0; i < count(); ++i)
      bytes[knapsack.item[i]] += problem_.buffers[i].size, all += problem_.buffers[i].size / unit;
  }

  static i64 free_bytes(const memplan_memory &memory) {
    i64 free = memory.capacity;
    for (std::size_t row = 0; row < memory.reserved_count; ++row)
      free -= std::min(memory.reserved[row].end, memory.capacity) - std::min(memory.reserved[row].begin, memory.capacity);
    return free;
  }

  // Allow for each item the memories in which all of its buffers may be.
  void list_homes() {
    const i64 items = bytes.size;
    for (std::size_t row = 0; row < home_count_; ++row) {
      const i64 q = static_cast<i64>(homes_[row].memory), j = knapsack.item[static_cast<i64>(homes_[row].buffer)];
      ++knapsack.homes[q][j], knapsack.price[q][j] += homes_[row].cost;
    }
    const Array<i64> group = arena_.array<i64>(items);
    if (arena_.has_failed) return;
    for (i64 i = 0; i < count(); ++i) ++group[knapsack.item[i]];
    for (i64 q = 0; q < limit.size; ++q) {
      const i64 free = free_bytes(problem_.memories[q]);
      std::fill(limit[q], limit[q] + limit.columns, std::min(all, free / unit));
      for (i64 j = 0; j < items; ++j) knapsack.homes[q][j] = home_count_ == 0 || knapsack.homes[q][j] == group[j];
      for (i64 i = 0; i < count(); ++i) {
        knapsack.size[q][i] = problem_.buffers[i].size / unit;
        if (problem_.buffers[i].size > free) knapsack.homes[q][knapsack.item[i]] = 0;
      }
    }
    for (i64 j = 0; j < items; ++j) {
      i64 most = 0;
      for (i64 q = 0; q < limit.size; ++q)
        if (knapsack.homes[q][j]) most = std::max(most, knapsack.price[q][j]);
      dearest += most;
    }
  }

  // Return whether a buffer is the first of those that may be in the same memories.
  bool is_first_of_its_kind(std::size_t buffer) const {
    if (home_count_ == 0) return buffer == 0;
    for (std::size_t i = 0; i < buffer; ++i)
      if (is_within(homes_, home_count_, i, buffer) && is_within(homes_, home_count_, buffer, i)) return false;
    return true;
  }

  // Return the total size of the memories that a buffer may be in.
  i64 capacity_of(std::size_t buffer) const {
    i64 sum = 0;
    const auto add = [&](std::size_t memory) { sum += std::min(problem_.memories[memory].capacity, MEMPLAN_UNLIMITED - sum); };
    for (std::size_t row = 0; row < home_count_; ++row)
      if (homes_[row].buffer == buffer) add(homes_[row].memory);
    for (std::size_t q = 0; q < problem_.memory_count && home_count_ == 0; ++q) add(q);
    return sum;
  }
};

}  // namespace memplan::choice
