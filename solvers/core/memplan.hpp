// SPDX-License-Identifier: Apache-2.0
// memplan.h for C++20: a problem of spans, and a plan that owns its offsets.
#ifndef MEMPLAN_HPP
#define MEMPLAN_HPP

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memplan.h"

namespace memplan {

// The rows of a problem, which must live as long as it is used; see memplan.h for each.
struct Problem {
  std::span<const memplan_buffer> buffers;
  std::int64_t capacity = MEMPLAN_UNLIMITED;
  std::int64_t base = 0;
  bool only_pairs = false;
  std::span<const memplan_pair> pairs = {};
  std::span<const memplan_gap> gaps = {};
  std::span<const memplan_join> joins = {};
  std::span<const memplan_range> reserved = {};
  std::span<const memplan_memory> memories = {};
  std::span<const std::size_t> memory_of = {};  // as many as buffers, where there are memories
  std::span<const memplan_price> prices = {};
  std::span<const std::size_t> same_offset = {};  // as many as buffers, where memories are of equal use
  std::int64_t bank = 0;
  std::span<const memplan_pair> banks = {};
  std::span<const memplan_pair> shares = {};
  std::span<const memplan_place> places = {};

  memplan_problem in_c() const {
    return {buffers.data(),  buffers.size(),  capacity,     base,         only_pairs,
            pairs.data(),    pairs.size(),    gaps.data(),  gaps.size(),  joins.data(),
            joins.size(),    reserved.data(), reserved.size(), memories.data(), memories.size(),
            memory_of.size() < buffers.size() ? nullptr : memory_of.data(),
            prices.data(),   prices.size(),
            same_offset.size() < buffers.size() ? nullptr : same_offset.data(),
            bank, banks.data(), banks.size(), shares.data(), shares.size(), places.data(), places.size()};
  }
};

// A buffer that may lie anywhere.
constexpr memplan_buffer buffer(std::int64_t size, std::int64_t begin, std::int64_t end, std::int64_t alignment = 1) {
  return {size, begin, end, alignment, MEMPLAN_FREE, 0, 0, 0};
}

struct Plan {
  memplan_result result;
  std::vector<std::int64_t> offsets;  // empty where there is no plan

  bool has_offsets() const { return result.status == MEMPLAN_OPTIMAL || result.status == MEMPLAN_FEASIBLE; }
  bool is_optimal() const { return result.status == MEMPLAN_OPTIMAL; }
  std::string_view status() const { return memplan_status_text(result.status); }
  std::string_view rule() const { return memplan_rule_text(result.rule); }
};

// A plan with the memory of each buffer.
struct Choice : Plan {
  std::vector<std::size_t> memory_of;  // empty where there is no plan
};

inline Plan plan(const Problem &problem, const memplan_options *options = nullptr) {
  const memplan_problem asked = problem.in_c();
  Plan made{{}, std::vector<std::int64_t>(problem.buffers.size())};
  made.result = memplan_plan(&asked, options, made.offsets.data());
  if (!made.has_offsets()) made.offsets.clear();
  return made;
}

// Chooses the memory of each buffer among its homes, and plans it.
inline Choice choose(const Problem &problem, std::span<const memplan_home> homes, const memplan_options *options = nullptr) {
  const memplan_problem asked = problem.in_c();
  Choice made{{{}, std::vector<std::int64_t>(problem.buffers.size())}, std::vector<std::size_t>(problem.buffers.size())};
  made.result = memplan_choose(&asked, homes.data(), homes.size(), options, made.memory_of.data(), made.offsets.data());
  if (!made.has_offsets()) made.offsets.clear(), made.memory_of.clear();
  return made;
}

// Says whether offsets, one for each buffer, keep all rules of a problem; and the first that they break.
inline memplan_result check(const Problem &problem, std::span<const std::int64_t> offsets) {
  const memplan_problem asked = problem.in_c();
  if (offsets.size() == problem.buffers.size()) return memplan_check(&asked, offsets.data());
  memplan_result refused{};
  refused.status = MEMPLAN_INVALID, refused.rule = MEMPLAN_NULL_POINTER, refused.order = -1, refused.peak = refused.cost = -1;
  refused.buffer = refused.other = MEMPLAN_NONE;
  return refused;
}

struct Fullest {
  memplan_moment moment;
  std::vector<std::size_t> buffers;
};

// The first time at which most bytes are alive in a memory, and what is alive then.
inline Fullest fullest(const Problem &problem, std::size_t memory = 0) {
  const memplan_problem asked = problem.in_c();
  Fullest made{memplan_fullest(&asked, memory, nullptr, 0), {}};
  made.buffers.resize(made.moment.count);
  memplan_fullest(&asked, memory, made.buffers.data(), made.buffers.size());
  return made;
}

// Like fullest, of the buffers that may be only in memories in which `buffer` may be.
inline Fullest crowded(const Problem &problem, std::span<const memplan_home> homes, std::size_t buffer) {
  const memplan_problem asked = problem.in_c();
  Fullest made{memplan_crowded(&asked, homes.data(), homes.size(), buffer, nullptr, 0), {}};
  made.buffers.resize(made.moment.count);
  memplan_crowded(&asked, homes.data(), homes.size(), buffer, made.buffers.data(), made.buffers.size());
  return made;
}

// The certificate that no plan has a lower peak, or, for -1, that nothing fits; empty where none was found.
inline std::string certificate(const Problem &problem, std::int64_t peak, const memplan_options *options = nullptr) {
  const memplan_problem asked = problem.in_c();
  std::string text;
  std::size_t length = 0;
  memplan_certify(&asked, options, peak, nullptr, 0, &length);
  text.resize(length);
  if (length > 0) memplan_certify(&asked, options, peak, text.data(), length + 1, &length);
  return text;
}

}  // namespace memplan

#endif
