// The measures by which a choice of memories counts each buffer in each memory: its units, and dual feasible functions
// of its size.
#pragma once
#include <numeric>

#include "arena.hpp"

namespace memplan::choice {

inline constexpr i64 kCounts = 12;    // the most parts of a memory in which sizes are counted
inline constexpr i64 kLarge = 4;      // the most sizes above half of a memory from which measures are made

// See the tables in choice.py.
struct ChoiceItems {
  i64 rows;
  Array<i64> item;
  Rows<i64> homes;
  Rows<i64> price;
  Rows<i64> size;
  Array<i64> lifetime_buffer;
  Array<i64> start;
  Array<i64> end;

  i64 item_of(i64 m) const { return item[lifetime_buffer[m]]; }
};
struct Measures {
  Array<i64> pool;
  Rows<i64> size;
  Array<i64> until;
  Array<i64> capacity;
};
inline i64 highest(const Rows<i64> &limit, i64 q) {
  return limit.columns > 0 ? std::max<i64>(0, *std::max_element(limit[q], limit[q] + limit.columns)) : 0;
}

// Return the least cost of an item in its memories; `none` if it may be in no memory.
inline i64 cheapest_home(const ChoiceItems &knapsack, const Rows<i64> &prices, i64 j, i64 none) {
  for (i64 q = 0; q < prices.size; ++q)
    if (knapsack.homes[q][j]) none = std::min(none, prices[q][j]);
  return none;
}

// Return the measures of sizes: units of each memory and, for the given limits, dual feasible functions of the units
// (Fekete and Schepers, Mathematical Programming 91, 2001); measures that no live set exceeds are left out.
inline Measures measures_of(Arena &arena, const ChoiceItems &knapsack, const Rows<i64> &limit) {
  const i64 pools = knapsack.size.size, n = knapsack.size.columns;
  const i64 most = pools + limit.size * (kCounts + kLarge);
  Measures made{arena.array<i64>(most), arena.rows<i64>(most + 1, n), arena.array<i64>(most), arena.array<i64>(most)};
  const Array<i64> own = arena.array<i64>(n), large = arena.array<i64>(n), load = arena.array<i64>(knapsack.rows + 1);
  if (arena.has_failed) return made;
  i64 r = 0;
  for (; r < pools; ++r) made.pool[r] = r, std::copy(knapsack.size[r], knapsack.size[r] + n, made.size[r]);
  for (i64 q = 0; q < limit.size; ++q) {
    const i64 until = highest(limit, q);
    if (until == 0) continue;
    i64 sizes = 0;
    for (i64 i = 0; i < n; ++i) {
      const i64 size = knapsack.size[q][i];
      own[i] = knapsack.homes[q][knapsack.item[i]] && size <= until ? size : 0;
      if (2 * own[i] > until) large[sizes++] = own[i];
    }
    const auto keep = [&](auto &&count, i64 capacity) {
      i64 *row = made.size[r], sum = 0;
      for (i64 i = 0; i < n; ++i) row[i] = count(own[i]);
      load.fill(0);
      for (i64 m = 0; m < knapsack.start.size; ++m)
        load[knapsack.start[m]] += row[knapsack.lifetime_buffer[m]], load[knapsack.end[m]] -= row[knapsack.lifetime_buffer[m]];
      bool is_exceeded = false;
      for (i64 t = 0; t < knapsack.rows; ++t) is_exceeded |= (sum += load[t]) > capacity;
      if (is_exceeded) made.pool[r] = q, made.until[r] = until, made.capacity[r++] = capacity;
    };
    for (i64 k = 1; k <= std::min(kCounts, until); ++k) keep([&](i64 size) { return (k + 1) * size / (until + 1); }, k);
    std::sort(large.data, large.data + sizes, ascends);
    sizes = std::unique(large.data, large.data + sizes) - large.data;
    for (i64 x = 0, before = kAbsent; x < kLarge && sizes > 0; ++x) {
      const i64 at = x * (sizes - 1) / (kLarge - 1), least = large[at];
      if (at == before) continue;
      before = at;
      // Two large buffers exclude each other, and a large one excludes every smaller one that counts.
      keep([&](i64 size) { return size >= least ? until : size <= until - least ? 0 : size; }, until);
    }
  }
  made.pool.size = made.size.size = made.until.size = made.capacity.size = r;
  return made;
}

// Return the limits of all measures; a measure limits nothing if its memory's limit exceeds the measure's range.
inline Rows<i64> limits_of(Arena &arena, const Measures &measures, const Rows<i64> &limit) {
  const Rows<i64> made = arena.rows<i64>(measures.pool.size, limit.columns);
  for (i64 r = 0; r < made.size; ++r) {
    if (r < limit.size) {
      std::copy(limit[r], limit[r] + limit.columns, made[r]);
      continue;
    }
    const i64 *size = measures.size[r];
    const bool holds = highest(limit, measures.pool[r]) <= measures.until[r];
    const i64 value = holds ? measures.capacity[r] : std::accumulate(size, size + measures.size.columns, i64{0});
    std::fill(made[r], made[r] + limit.columns, value);
  }
  return made;
}

}  // namespace memplan::choice
