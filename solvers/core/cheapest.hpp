// The cheapest choice of memories, by dynamic programming over live sets, with bounds from multipliers.
//
// A partial choice assigns memories to the items that have arrived so far. If two partial choices reach a live set with
// all live items in the same memories, their futures are the same, so only the cheaper one is kept. A partial choice
// that can no longer become cheap enough is dropped. Its cost is counted with multipliers: the reduced price of each
// item, plus the price of the capacity left free in each live set passed. This cost never falls, so it bounds the cost
// of the whole choice. At the end it equals that cost, because all capacity was either charged for or left free. If
// there are too many partial choices, the live sets are also processed backwards. If there are still too many, only the
// most promising ones are continued, and the least cost among the dropped ones is the bound.
#pragma once
#include <optional>

#include "partial_choices.hpp"

namespace memplan::choice {

// the first search goes this far above the bound, as a fraction of it; each later one goes twice as far
inline constexpr double kFirstSpan = 0.02;
inline constexpr i64 kNarrowest = 4096;     // the first search goes at least this part of `at_most` above the bound

// The number of partial choices that each live set may pass on, and the number kept in all, at 6 bytes each.
struct Effort {
  i64 partials, kept;
};

// Return the cheapest choice within limits and a cost, or a bound above that cost; `home` gets each item's memory.
template <class IsOver>
Cheapest cheapest(Arena &arena, const ChoiceItems &forwards, const Multipliers &multipliers, const Rows<i64> &limit,
                  const NoGoods &nogoods, i64 at_most, const Effort &effort, const Array<i64> &home, Allocator &allocator,
                  IsOver &&is_over) {
  const i64 rows = forwards.rows, lives = forwards.start.size, items = forwards.price.columns;
  const i64 value = value_of(arena, forwards, multipliers, limit);
  const Rows<i64> price = prices_of(arena, forwards, multipliers);
  const Timeline first(arena, forwards, multipliers, limit, nogoods);
  const Array<i64> chosen = arena.array<i64>(items);
  ChoiceItems backwards = forwards;
  backwards.start = arena.array<i64>(lives), backwards.end = arena.array<i64>(lives);
  Multipliers reversed = multipliers;
  const auto mirrored = [&](const Rows<i64> &table) {
    const Rows<i64> made = arena.rows<i64>(table.size, rows);
    for (i64 r = 0; r < made.size; ++r) std::reverse_copy(table[r], table[r] + rows, made[r]);
    return made;
  };
  reversed.worth = mirrored(multipliers.worth);
  const Rows<i64> reversed_limit = mirrored(limit);
  if (arena.has_failed) return {};
  const i64 cells = first.capacity.size * rows;
  const bool has_room = std::none_of(first.capacity.data, first.capacity.data + cells, [](i64 free) { return free < 0; });
  if (first.is_refuted || !has_room) return {false, 0, kNever, 0};
  for (i64 m = 0; m < lives; ++m) backwards.start[m] = rows - forwards.end[m], backwards.end[m] = rows - forwards.start[m];
  std::optional<Timeline> second;
  // The first value already includes the least price of each item, so only the price above it remains.
  for (i64 j = 0; j < items; ++j) {
    const i64 least = cheapest_home(forwards, price, j, kNever);
    for (i64 q = 0; q < price.size; ++q) price[q][j] -= least;
  }
  i64 floor = std::max<i64>(0, rounded_up(value, multipliers.scale)), most = at_most;
  const i64 widest = std::max<i64>(1, std::min(effort.partials, effort.kept / std::max<i64>(1, first.choices)));
  // A narrow range of costs keeps few partial choices, and most choices are near the bound, so start with a narrow one.
  i64 span = std::max<i64>({1, static_cast<i64>(static_cast<double>(floor) * kFirstSpan), floor_div(at_most, kNarrowest)});
  bool is_swapped = false, is_crowded = false;
  Cheapest best{false, 0, floor, 0};
  while (floor <= most && !is_over() && !arena.has_failed) {
    const i64 wanted = std::min(most, floor + span);
    i64 bounds[2] = {}, count = 0;
    while (count < (second ? 2 : 1)) {
      const bool is_forwards = (count == 0) != is_swapped;
      Arena inner(allocator);
      PartialChoices partials(inner, is_forwards ? forwards : backwards, is_forwards ? multipliers : reversed,
                              is_forwards ? first : *second, price, value, wanted, widest);
      const Cheapest made = inner.has_failed ? Cheapest{} : partials.run(chosen, is_over);
      arena.has_failed = arena.has_failed || inner.has_failed;
      floor = std::max(floor, made.bound), best.work += made.work;
      if (made.is_found && made.cost <= most) {
        best.is_found = true, best.cost = made.cost, most = made.cost - 1;
        std::copy(chosen.begin(), chosen.end(), home.data);
      }
      bounds[count++] = made.bound;
      if (made.bound > wanted || floor > most || is_crowded) break;
      // If many items begin together and few end together, fewer partial choices arise backwards, so try that.
      if (!second) second.emplace(arena, backwards, reversed, reversed_limit, nogoods);
      if (arena.has_failed) return {};
    }
    span = std::min(kNever, 2 * span);
    if (bounds[count - 1] > bounds[0]) is_swapped = !is_swapped;
    // If partial choices were dropped, search the rest once, as far as possible.
    if (*std::max_element(bounds, bounds + count) <= wanted && floor <= most) {
      if (is_crowded) break;
      is_crowded = true, span = most;
    }
  }
  best.bound = best.is_found ? std::min(floor, best.cost) : floor;
  return best;
}

// Return a lower bound, of at most `at_most` + 1, on the cost of all choices within the limits.
template <class IsOver>
Cheapest least_cost(Arena &arena, const ChoiceItems &knapsack, const Multipliers &multipliers, const Rows<i64> &limit,
                    const NoGoods &nogoods, i64 at_most, i64 widest, IsOver &&is_over) {
  const i64 value = value_of(arena, knapsack, multipliers, limit), items = knapsack.price.columns;
  const Rows<i64> price = prices_of(arena, knapsack, multipliers);
  const Timeline timeline(arena, knapsack, multipliers, limit, nogoods);
  if (arena.has_failed) return {};
  for (i64 j = 0; j < items; ++j) {
    const i64 least = cheapest_home(knapsack, price, j, kNever);
    for (i64 q = 0; q < price.size; ++q) price[q][j] -= least;
  }
  PartialChoices partials(arena, knapsack, multipliers, timeline, price, value, at_most, widest, true);
  return arena.has_failed ? Cheapest{} : partials.run({nullptr, 0}, is_over);
}

}  // namespace memplan::choice
