// Lagrange multipliers, which price each memory in each live set, and the bounds on the cost of a choice that they
// give.
//
// If the limits are lifted and excess is charged for, each item is put where it is cheapest by itself. The cost of this
// relaxation, minus the price of all capacity, is at most the cost of any choice (Fisher, Management Science 27, 1981).
// The multipliers are found in floating point and rounded to integers. Any multipliers give a bound, which is then
// computed exactly.
#pragma once
#include <cmath>

#include "measures.hpp"

namespace memplan::choice {

inline constexpr i64 kNever = kFar;  // the bound that means: no choice exists
inline constexpr i64 kFunctions = 6;  // the most measures besides units
inline constexpr i64 kPatience = 15;  // the number of rounds without a gain after which steps get shorter
inline constexpr double kShorter = 0.6, kShortest = 1e-4, kMomentum = 0.8;
inline constexpr double kLargestSum = 1152921504606846976.0;  // 2^60
inline constexpr i64 kFinest = i64{1} << 40;

struct Multipliers {
  Measures measures;
  Rows<i64> worth;
  i64 scale;
};

// Sum by halves, which rounds as numpy does, so that plans do not depend on who adds.
inline double sum_of(const double *values, i64 count) {
  if (count > 128) {
    const i64 half = count / 2 - count / 2 % 8;
    return sum_of(values, half) + sum_of(values + half, count - half);
  }
  double part[8] = {}, sum = 0;
  i64 at = 0;
  for (; at + 8 <= count; at += 8)
    for (i64 k = 0; k < 8; ++k) part[k] += values[at + k];
  if (at > 0) sum = ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
  for (; at < count; ++at) sum += values[at];
  return sum;
}

// Add to `charges` the price of what each item uses in each memory; `size` gives amounts by measure r and lifetime m.
// The scratch array `below` has space for a sum before each live set and after the last one.
template <class T, class SizeOf>
void add_charges(const ChoiceItems &knapsack, const Array<i64> &pool, const Rows<T> &worth, SizeOf &&size,
                 const Rows<T> &below, const Rows<T> &charges) {
  for (i64 r = 0; r < worth.size; ++r) std::partial_sum(worth[r], worth[r] + knapsack.rows, below[r] + 1);
  for (i64 q = 0; q < charges.size; ++q)
    for (i64 m = 0; m < knapsack.start.size; ++m) {
      T charge = 0;
      for (i64 r = 0; r < worth.size; ++r)
        if (pool[r] == q) charge += (below[r][knapsack.end[m]] - below[r][knapsack.start[m]]) * size(r, m);
      charges[q][knapsack.item_of(m)] += charge;
    }
}

// Return the price of each item in each memory, in parts of a step, including the price of the capacity that it uses.
inline Rows<i64> prices_of(Arena &arena, const ChoiceItems &knapsack, const Multipliers &multipliers) {
  const Rows<i64> made = arena.rows<i64>(knapsack.price.size, knapsack.price.columns);
  const Rows<i64> below = arena.rows<i64>(multipliers.worth.size, knapsack.rows + 1);
  if (arena.has_failed) return made;
  const auto size = [&](i64 r, i64 m) { return multipliers.measures.size[r][knapsack.lifetime_buffer[m]]; };
  add_charges(knapsack, multipliers.measures.pool, multipliers.worth, size, below, made);
  for (i64 q = 0; q < made.size; ++q)
    for (i64 j = 0; j < made.columns; ++j) made[q][j] += knapsack.price[q][j] * multipliers.scale;
  return made;
}

// Return a lower bound on the cost of every choice within the limits, in parts of a step.
inline i64 value_of(Arena &arena, const ChoiceItems &knapsack, const Multipliers &multipliers, const Rows<i64> &limit) {
  const Rows<i64> prices = prices_of(arena, knapsack, multipliers), limits = limits_of(arena, multipliers.measures, limit);
  if (arena.has_failed) return 0;
  i64 charged = 0, total = 0;
  for (i64 r = 0; r < limits.size; ++r)
    for (i64 t = 0; t < limits.columns; ++t) total += multipliers.worth[r][t] * limits[r][t];
  for (i64 j = 0; j < prices.columns; ++j)
    charged += std::min(kMost - charged, cheapest_home(knapsack, prices, j, kMost));
  return charged - total;
}

inline i64 rounded_up(i64 value, i64 by) { return -floor_div(-value, by); }

// Finds multipliers by deflected subgradients (Camerini, Fratta and Maffioli 1975) with Polyak's steps.
// With a goal, the bound is on the load of that memory, so its multipliers keep a sum of 1.
class Ascent {
 public:
  // `guess` is an estimate of the largest bound.
  Ascent(Arena &arena, const ChoiceItems &knapsack, const Rows<i64> &limit, i64 goal, double guess)
      : arena_(arena), knapsack_(knapsack), limit_(limit), goal_(goal), guess_(guess) {}

  // Return integer multipliers after some rounds; if the arena has failed, they must not be read.
  template <class IsOver>
  Multipliers run(Measures measures, i64 rounds, IsOver &&is_over) {
    Rows<double> worth = climbed(measures, rounds, is_over);
    const i64 most = limit_.size + kFunctions;
    if (measures.pool.size > most && !arena_.has_failed) {
      // Few measures with high prices bound almost as well, and partial choices carry a load for each, so keep few.
      measures = worth_most(measures, worth, most);
      worth = climbed(measures, rounds, is_over);
    }
    return whole(measures, worth);
  }

 private:
  Arena &arena_;
  const ChoiceItems &knapsack_;
  const Rows<i64> &limit_;
  const i64 goal_;
  const double guess_;

  template <class IsOver>
  Rows<double> climbed(const Measures &measures, i64 rounds, IsOver &&is_over) {
    const i64 count = measures.pool.size, m = knapsack_.start.size, rows = knapsack_.rows, cells = count * rows;
    const i64 pools = limit_.size, items = knapsack_.price.columns;
    const Rows<i64> limits = limits_of(arena_, measures, limit_);
    const Rows<double> size = arena_.rows<double>(count, m), capacity = arena_.rows<double>(count, rows);
    const Rows<double> values = arena_.rows<double>(count, rows), best_values = arena_.rows<double>(count, rows);
    const Rows<double> direction = arena_.rows<double>(count, rows), excess = arena_.rows<double>(count, rows + 1);
    const Rows<double> below = arena_.rows<double>(count, rows + 1), charges = arena_.rows<double>(pools, items);
    const Array<double> terms = arena_.array<double>(std::max(cells, items)), grain = arena_.array<double>(count);
    const Array<i64> home = arena_.array<i64>(items);
    const auto dot = [&](const Rows<double> &a, const Rows<double> &b) {
      for (i64 x = 0; x < cells; ++x) terms[x] = a.data[x] * b.data[x];
      return sum_of(terms.data, cells);
    };
    if (arena_.has_failed) return values;
    for (i64 r = 0; r < count; ++r) {
      // Convert all measures of a memory to its units, because steps would otherwise be too long for some of them.
      const double until = static_cast<double>(measures.until[r]);
      grain[r] = until > 0 ? static_cast<double>(measures.capacity[r]) / until : 1.0;
      for (i64 x = 0; x < m; ++x) size[r][x] = static_cast<double>(measures.size[r][knapsack_.lifetime_buffer[x]]) / grain[r];
      for (i64 t = 0; t < rows; ++t) capacity[r][t] = static_cast<double>(limits[r][t]) / grain[r];
    }
    if (goal_ != kAbsent)
      for (i64 t = 0; t < rows; ++t) capacity[goal_][t] = 0, values[goal_][t] = 1.0 / static_cast<double>(rows);
    std::copy(values.data, values.data + cells, best_values.data);
    double best = -INFINITY, step = 1;
    i64 stalled = 0;
    for (i64 round = 0; round < rounds; ++round) {
      std::fill(charges.data, charges.data + pools * items, 0.0);
      add_charges(knapsack_, measures.pool, values, [&](i64 r, i64 x) { return size[r][x]; }, below, charges);
      for (i64 j = 0; j < items; ++j) {
        double least = 0;
        for (i64 q = 0; q < pools; ++q) {
          const double price = knapsack_.homes[q][j] ? static_cast<double>(knapsack_.price[q][j]) : INFINITY;
          const double here = price + charges[q][j];
          if (q == 0 || here < least) least = here, home[j] = q;
        }
        terms[j] = least;
      }
      const double charged = sum_of(terms.data, items), value = charged - dot(values, capacity);
      stalled = value > best + 1e-4 * std::abs(best) ? 0 : stalled + 1;
      if (value > best) best = value, std::copy(values.data, values.data + cells, best_values.data);
      if (stalled >= kPatience) {
        std::copy(best_values.data, best_values.data + cells, values.data);
        std::fill(direction.data, direction.data + cells, 0.0);
        step *= kShorter, stalled = 0;
        if (step < kShortest) break;
      }
      for (i64 r = 0; r < count; ++r) {
        double *row = excess[r];
        std::fill(row, row + rows + 1, 0.0);
        const auto is_there = [&](i64 x) { return home[knapsack_.item_of(x)] == measures.pool[r]; };
        for (i64 x = 0; x < m; ++x)
          if (is_there(x)) row[knapsack_.start[x]] += size[r][x];
        for (i64 x = 0; x < m; ++x)
          if (is_there(x)) row[knapsack_.end[x]] -= size[r][x];
        std::partial_sum(row, row + rows, row);
        for (i64 t = 0; t < rows; ++t) {
          double over = row[t] - capacity[r][t];
          if (r == goal_) over -= value;
          // Multipliers cannot fall below 0, so ignore directions that lead there.
          if (values[r][t] <= 0 && over < 0) over = 0;
          direction[r][t] = over + kMomentum * direction[r][t];
        }
      }
      const double length = dot(direction, direction);
      if (length == 0 || is_over()) break;
      // Polyak's step: the further the bound is from the guess, the longer the step.
      const double stride = step * std::max(guess_ - value, 1.0) / length;
      for (i64 x = 0; x < cells; ++x) values.data[x] = std::max(0.0, values.data[x] + stride * direction.data[x]);
      if (goal_ == kAbsent) continue;
      const double total = sum_of(values[goal_], rows);
      if (total > 0)
        for (i64 x = 0; x < cells; ++x) values.data[x] /= total;
      else
        std::copy(best_values.data, best_values.data + cells, values.data);
    }
    for (i64 r = 0; r < count; ++r)
      for (i64 t = 0; t < rows; ++t) best_values[r][t] /= grain[r];
    return best_values;
  }

  // Return at most `most` measures: the units, and the functions with the highest total price.
  Measures worth_most(const Measures &measures, const Rows<double> &worth, i64 most) {
    const Rows<i64> limits = limits_of(arena_, measures, limit_);
    const i64 count = measures.pool.size, rows = knapsack_.rows;
    const Array<double> value = arena_.array<double>(count), terms = arena_.array<double>(rows);
    const Array<i64> order = arena_.array<i64>(count);
    const Array<bool> kept = arena_.array<bool>(count);
    if (arena_.has_failed) return measures;
    for (i64 r = 0; r < count; ++r) {
      for (i64 t = 0; t < rows; ++t) terms[t] = worth[r][t] * static_cast<double>(limits[r][t]);
      value[r] = measures.until[r] > 0 ? sum_of(terms.data, rows) : INFINITY, order[r] = r;
    }
    std::sort(order.begin(), order.end(),
              [&](i64 a, i64 b) { return value[a] > value[b] || (value[a] == value[b] && a < b); });
    for (i64 k = 0; k < most; ++k) kept[order[k]] = true;
    return only(measures, kept);
  }

  Measures only(const Measures &measures, const Array<bool> &kept) {
    const i64 count = std::count(kept.begin(), kept.end(), true), n = measures.size.columns;
    const Measures made{arena_.array<i64>(count), arena_.rows<i64>(count, n), arena_.array<i64>(count), arena_.array<i64>(count)};
    if (arena_.has_failed) return made;
    for (i64 r = 0, to = 0; r < measures.pool.size; ++r) {
      if (!kept[r]) continue;
      made.pool[to] = measures.pool[r], made.until[to] = measures.until[r], made.capacity[to] = measures.capacity[r];
      std::copy(measures.size[r], measures.size[r] + n, made.size[to++]);
    }
    return made;
  }

  // Round multipliers to integers, as fine as sums allow, or to 0 if that is too coarse; drop unpriced measures.
  Multipliers whole(Measures measures, const Rows<double> &found) {
    const i64 rows = knapsack_.rows, pools = limit_.size, items = knapsack_.price.columns;
    const Array<bool> kept = arena_.array<bool>(measures.pool.size);
    if (arena_.has_failed) return {measures, {nullptr, 0, rows}, 1};
    i64 count = 0;
    for (i64 r = 0; r < kept.size; ++r) {
      kept[r] = measures.until[r] == 0 || std::any_of(found[r], found[r] + rows, [](double each) { return each > 0; });
      if (kept[r]) std::copy(found[r], found[r] + rows, found[count++]);
    }
    const Rows<double> worth{found.data, count, rows}, charged = arena_.rows<double>(pools, items);
    const Rows<double> below = arena_.rows<double>(count, rows + 1);
    measures = only(measures, kept);
    const Array<double> terms = arena_.array<double>(std::max(items, count * rows));
    Multipliers made{measures, arena_.rows<i64>(count, rows), 1};
    if (arena_.has_failed) return made;
    const auto size = [&](i64 r, i64 m) { return static_cast<double>(measures.size[r][knapsack_.lifetime_buffer[m]]); };
    add_charges(knapsack_, measures.pool, worth, size, below, charged);
    for (i64 j = 0; j < items; ++j) {
      terms[j] = 0;
      for (i64 q = 0; q < pools; ++q)
        terms[j] = std::max(terms[j], static_cast<double>(knapsack_.price[q][j]) + charged[q][j]);
    }
    double largest = sum_of(terms.data, items);
    for (i64 r = 0; r < count; ++r) {
      const i64 *sizes = measures.size[r];
      const double most = static_cast<double>(std::accumulate(sizes, sizes + measures.size.columns, i64{0}));
      for (i64 t = 0; t < rows; ++t) terms[r * rows + t] = worth[r][t] * most;
    }
    largest = largest + sum_of(terms.data, count * rows) + 1.0;
    // Finer multipliers prove more as long as sums stay exact, so use the finest possible scale.
    i64 scale = kFinest;
    while (scale > 1 && static_cast<double>(scale) * largest >= kLargestSum) scale /= 2;
    if (static_cast<double>(scale) * largest >= kLargestSum) return made;
    made.scale = scale;
    for (i64 x = 0; x < count * rows; ++x) made.worth.data[x] = rounded(worth.data[x] * static_cast<double>(scale));
    return made;
  }

  // Round to the nearest integer, and halves to even ones.
  static i64 rounded(double value) {
    const i64 below = static_cast<i64>(value);
    const double rest = value - static_cast<double>(below);
    return rest > 0.5 || (rest == 0.5 && below % 2 != 0) ? below + 1 : below;
  }
};

}  // namespace memplan::choice
