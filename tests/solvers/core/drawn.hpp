// Drawn problems of every kind.
#pragma once
#include <array>
#include <vector>

#include "memplan.h"
#include "random.hpp"

struct Draw : memplan::Random {
  using Random::Random;
  std::int64_t below(std::int64_t count) { return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(count)); }
  bool one_in(int count) { return below(count) == 0; }
};

struct Case {
  std::vector<memplan_buffer> buffers;
  std::vector<memplan_pair> pairs;
  std::vector<memplan_gap> gaps;
  std::vector<memplan_join> joins;
  std::vector<memplan_range> reserved;
  std::vector<memplan_memory> memories;
  std::vector<std::size_t> memory_of;
  std::vector<memplan_price> prices;
  std::vector<std::size_t> same_offset;
  memplan_problem problem{};
  bool is_tiny = false;
  bool is_huge = false;
};

// Make some numbers of a few buffers as large as 2^62: a problem that may be refused for its sums.
inline void enlarge(Draw &d, Case &c) {
  c.is_huge = true, c.is_tiny = false;
  for (std::int64_t left = 1 + d.below(3); left > 0; --left) {
    memplan_buffer &b = c.buffers[static_cast<std::size_t>(d.below(static_cast<std::int64_t>(c.buffers.size())))];
    const std::int64_t number = (std::int64_t{1} << (50 + d.below(13))) - d.below(2);
    const std::int64_t field = d.below(6);
    *std::array{&b.size, &b.alignment, &b.pin, &b.lowest, &b.limit, &b.no_cross}[static_cast<std::size_t>(field)] = number;
  }
}

// Sizes up to 2^shift times a few; tiny ones are small enough to try all offsets.
// Memories of equal use: some buffers have the offset of an earlier one, and are as it is.
inline void draw_same_offsets(Draw &d, Case &c) {
  for (memplan_memory &memory : c.memories)
    memory = {memory.capacity, c.memories[0].base, c.memories[0].reserved, c.memories[0].reserved_count, 0};
  c.same_offset.assign(c.buffers.size(), MEMPLAN_NONE);
  for (std::size_t i = 1; i < c.buffers.size(); ++i) {
    const std::size_t other = static_cast<std::size_t>(d.below(static_cast<std::int64_t>(i)));
    const std::size_t first = c.same_offset[other] == MEMPLAN_NONE ? other : c.same_offset[other];
    memplan_buffer like = c.buffers[first];
    like.begin = c.buffers[i].begin, like.end = c.buffers[i].end;
    if (d.one_in(2)) c.buffers[i] = like, c.same_offset[i] = c.same_offset[first] = first;
  }
  std::erase_if(c.joins, [&](const memplan_join &join) {
    return c.same_offset[join.upper] != MEMPLAN_NONE || c.same_offset[join.lower] != MEMPLAN_NONE;
  });
  c.problem.same_offset = c.same_offset.data();
}

inline void draw(Draw &d, Case &c) {
  c.is_tiny = !d.one_in(3);
  const int n = static_cast<int>(c.is_tiny ? 1 + d.below(5) : 1 + d.below(40));
  const std::int64_t unit = c.is_tiny ? 1 : std::int64_t{1} << d.below(d.one_in(8) ? 50 : 10);
  const std::int64_t early = d.one_in(9) ? INT64_MIN : d.one_in(9) ? INT64_MAX - 40 : d.below(20) - 10;
  const bool is_plain = d.one_in(3);
  c.problem.only_pairs = !is_plain && d.one_in(6);
  for (int i = 0; i < n; ++i) {
    memplan_buffer b{};
    b.size = d.one_in(12) ? 0 : unit * (1 + d.below(6));
    b.begin = early + d.below(20), b.end = b.begin + 1 + d.below(12);
    b.alignment = d.one_in(3) ? std::int64_t{1} << d.below(5) : d.one_in(9) ? 3 : 0;
    b.pin = !is_plain && d.one_in(8) ? unit * d.below(10) : MEMPLAN_FREE;
    b.lowest = !is_plain && d.one_in(8) ? unit * d.below(6) : 0;
    b.limit = !is_plain && d.one_in(8) ? unit * (4 + d.below(12)) : 0;
    b.no_cross = !is_plain && d.one_in(6) ? unit * (4 + d.below(8)) : 0;
    c.buffers.push_back(b);
    if (!is_plain && !c.problem.only_pairs && d.one_in(4) && b.end - b.begin >= 5)
      c.gaps.push_back({static_cast<std::size_t>(i), b.begin + 1, b.begin + 2 + d.below(2)});
  }
  for (std::int64_t k = is_plain ? 0 : d.below(n); k > 0 && n > 1; --k) {
    const std::size_t a = static_cast<std::size_t>(d.below(n)), b = static_cast<std::size_t>(d.below(n));
    if (a != b && (c.problem.only_pairs || d.one_in(3))) c.pairs.push_back({a, b});
  }
  if (!is_plain && n > 1 && d.one_in(4))
    for (std::size_t i = 1; i < c.buffers.size(); ++i)
      if (d.one_in(3) && c.buffers[i].size > 0 && c.buffers[0].size > 0) c.joins.push_back({i, 0, unit * d.below(6)});
  if (!is_plain && d.one_in(4)) c.reserved.push_back({unit * d.below(4), unit * (4 + d.below(3))});
  if (!is_plain && d.one_in(9)) c.problem.base = unit * d.below(9);
  if (d.one_in(16)) enlarge(d, c);
  const bool is_priced = d.one_in(4);
  for (int i = 0; i < n && is_priced; ++i) {
    for (int j = 0; j < i; ++j)
      if (!d.one_in(3)) c.prices.push_back({static_cast<std::size_t>(j), static_cast<std::size_t>(i), d.below(6)});
    c.buffers[static_cast<std::size_t>(i)].no_cross = 0;
  }
  if (!c.prices.empty()) c.joins.clear();
  if (c.prices.empty() && d.one_in(4)) {
    for (std::int64_t left = 1 + d.below(3); left > 0; --left) {
      const bool is_reserved = !c.reserved.empty() && d.one_in(2);
      c.memories.push_back({d.one_in(2) ? MEMPLAN_UNLIMITED : unit * d.below(30), is_plain ? 0 : unit * d.below(3),
                            is_reserved ? c.reserved.data() : nullptr, is_reserved ? c.reserved.size() : 0, 0});
    }
    const std::int64_t memories = static_cast<std::int64_t>(c.memories.size());
    for (int i = 0; i < n; ++i) c.memory_of.push_back(static_cast<std::size_t>(d.below(memories)));
    for (const memplan_join &join : c.joins) c.memory_of[join.upper] = c.memory_of[0];
    c.problem.memories = c.memories.data(), c.problem.memory_count = c.memories.size();
    c.problem.memory_of = c.memory_of.data();
  }
  if (!c.memories.empty() && !c.is_huge && d.one_in(2)) draw_same_offsets(d, c);
  c.problem.buffers = c.buffers.data(), c.problem.count = c.buffers.size();
  c.problem.capacity = d.one_in(2) ? MEMPLAN_UNLIMITED : unit * d.below(30);
  if (!c.prices.empty() && (c.is_tiny || !d.one_in(4))) c.problem.capacity = unit * (c.is_tiny ? 5 + d.below(5) : 8 + d.below(24));
  c.problem.pairs = c.pairs.data(), c.problem.pair_count = c.pairs.size();
  c.problem.gaps = c.gaps.data(), c.problem.gap_count = c.gaps.size();
  c.problem.joins = c.joins.data(), c.problem.join_count = c.joins.size();
  c.problem.reserved = c.reserved.data(), c.problem.reserved_count = c.reserved.size();
  c.problem.prices = c.prices.data(), c.problem.price_count = c.prices.size();
}
