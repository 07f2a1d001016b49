// The cheapest plan of one memory, where pairs that share bytes may have a price.
#pragma once
#include <numeric>

#include "asked.hpp"
#include "instance.hpp"

namespace memplan {

// Return the greatest common divisor of all prices, or 1 if there is none.
inline i64 price_step(const memplan_problem &problem) {
  i64 step = 0;
  for (std::size_t row = 0; row < problem.price_count; ++row) step = std::gcd(step, problem.prices[row].price);
  return std::max<i64>(step, 1);
}

// Return the cost of a plan: the sum of the prices of pairs whose bytes overlap.
inline i64 cost_of(const memplan_problem &problem, const i64 *offsets) {
  i64 cost = 0;
  for (std::size_t row = 0; row < problem.price_count; ++row) {
    const auto &[first, second, price] = problem.prices[row];
    const i64 low = offsets[first], other = offsets[second];
    const i64 size = problem.buffers[first].size, other_size = problem.buffers[second].size;
    if (size > 0 && other_size > 0 && low < other + other_size && other < low + size) cost += price;
  }
  return cost;
}

// Return the rule that prevents a search for prices, or MEMPLAN_FINE.
inline memplan_rule fault_of_prices(const memplan_problem &problem) {
  const i64 step = price_step(problem);
  i64 sum = 0;
  for (std::size_t row = 0; row < problem.price_count; ++row) sum += problem.prices[row].price / step;
  if (sum >= i64{1} << 33) return MEMPLAN_PRICES_TOO_LARGE;
  bool is_alone = problem.memory_count == 0 && problem.join_count == 0 && problem.same_offset == nullptr;
  for (std::size_t row = 0; row < problem.count && is_alone; ++row) is_alone = problem.buffers[row].no_cross == 0;
  return is_alone ? MEMPLAN_FINE : MEMPLAN_PRICES_BESIDE;
}

constexpr i64 kNoPlan = kLargest;  // the cost of no plan

// The result of a search for cheaper plans: whether the offsets are those of a cheaper plan, a lower bound on the cost
// of every plan, in steps, and the number of nodes.
struct Paid {
  bool is_less;
  i64 bound;
  bool is_infeasible;
  bool has_failed;
  i64 spent;
};

// Search with limited work from a plan of a given cost, or from none, and write the offsets of a cheaper plan.
Paid pay_less(Allocator &allocator, const memplan_problem &problem, const OnePool &instance, u64 seed, Stop &stop,
              i64 work, i64 cost, i64 *offset);

}  // namespace memplan
