// memplan.h for C++: problems and plans as vectors and spans, rules as text. C++20.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "memplan.h"

namespace memplan_cpp {

inline constexpr std::int64_t kFree = MEMPLAN_FREE;
inline constexpr std::int64_t kUnlimited = MEMPLAN_UNLIMITED;

// A buffer with defaults that require nothing.
struct Buffer : memplan_buffer {
  Buffer(std::int64_t bytes, std::int64_t from, std::int64_t until) : memplan_buffer{} {
    size = bytes, begin = from, end = until, pin = MEMPLAN_FREE;
  }
  Buffer &aligned(std::int64_t to) { return alignment = to, *this; }
  Buffer &pinned(std::int64_t at) { return pin = at, *this; }
  Buffer &within(std::int64_t low, std::int64_t high) { return lowest = low, limit = high, *this; }
};

// What is planned. It refers to nothing but itself.
struct Problem {
  std::vector<memplan_buffer> buffers;
  std::int64_t capacity = kUnlimited;
  std::int64_t base = 0;
  std::vector<memplan_pair> pairs;
  std::vector<memplan_gap> gaps;
  std::vector<memplan_join> joins;
  std::vector<memplan_range> reserved;

  std::size_t add(const memplan_buffer &buffer) {
    buffers.push_back(buffer);
    return buffers.size() - 1;
  }

  // The same for C, while this is not changed.
  memplan_problem view() const {
    memplan_problem problem = {};
    problem.buffers = buffers.data(), problem.count = buffers.size();
    problem.capacity = capacity, problem.base = base;
    problem.pairs = pairs.data(), problem.pair_count = pairs.size();
    problem.gaps = gaps.data(), problem.gap_count = gaps.size();
    problem.joins = joins.data(), problem.join_count = joins.size();
    problem.reserved = reserved.data(), problem.reserved_count = reserved.size();
    return problem;
  }
};

struct Plan {
  memplan_result result;
  std::vector<std::int64_t> offsets;  // empty where there is no plan

  bool fits() const { return result.status == MEMPLAN_OPTIMAL || result.status == MEMPLAN_FEASIBLE; }
  bool is_optimal() const { return result.status == MEMPLAN_OPTIMAL; }
  explicit operator bool() const { return fits(); }

  // What came of it, for people.
  std::string text() const {
    if (result.status != MEMPLAN_INVALID) return memplan_status_text(result.status);
    const std::string rule = memplan_rule_text(result.rule);
    return result.buffer == MEMPLAN_NONE ? rule : "row " + std::to_string(result.buffer) + ": " + rule;
  }
};

// Plan a problem, by a search of so many nodes and, where a time is given, no longer than that.
inline Plan plan(const Problem &problem, std::int64_t work = 100'000, double seconds = 0) {
  const memplan_problem view = problem.view();
  memplan_options options = {};
  options.work = work, options.seconds = seconds;
  Plan made{{}, std::vector<std::int64_t>(problem.buffers.size())};
  made.result = memplan_plan(&view, &options, made.offsets.data());
  if (!made.fits()) made.offsets.clear();
  return made;
}

// Check offsets that anybody made.
inline Plan check(const Problem &problem, std::span<const std::int64_t> offsets) {
  const memplan_problem view = problem.view();
  if (offsets.size() != problem.buffers.size()) {
    memplan_result result = {};
    result.status = MEMPLAN_INVALID, result.rule = MEMPLAN_NULL_POINTER, result.buffer = MEMPLAN_NONE;
    return {result, {}};
  }
  return {memplan_check(&view, offsets.data()), {offsets.begin(), offsets.end()}};
}

}  // namespace memplan_cpp
