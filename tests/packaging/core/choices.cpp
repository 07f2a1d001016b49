// Drawn choices of memories through memplan.h: `choices COUNT SEED`. Ends with 1, and says which, where a plan does not
// pass memplan_check, or a cost, a bound, or that nothing fits is wrong by planning every choice. Prints how many fit,
// how many of these cost least, and how many are proved; how many fit nowhere, and how many of these are proved and explained.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "drawn.hpp"

namespace {

int fits = 0, least = 0, proved = 0, none = 0, explained = 0;

bool is_right(std::uint64_t seed) {
  Draw d{seed};
  Case c;
  draw(d, c);
  if (!c.is_tiny || c.is_huge) return true;
  c.memories.clear();
  const bool has_banks = d.one_in(4);
  for (std::int64_t left = 2 + d.below(2); left > 0; --left) {
    const bool is_reserved = !c.reserved.empty() && d.one_in(2);
    c.memories.push_back({d.one_in(4) ? MEMPLAN_UNLIMITED : 4 + d.below(12), d.below(3),
                          is_reserved ? c.reserved.data() : nullptr, is_reserved ? c.reserved.size() : 0,
                          has_banks ? 1 + d.below(6) : 0});
  }
  const std::size_t n = c.buffers.size(), memories = c.memories.size();
  memplan_problem problem = c.problem;
  problem.prices = nullptr, problem.price_count = 0;
  if (has_banks) problem.joins = nullptr, problem.join_count = 0;
  problem.memories = c.memories.data(), problem.memory_count = memories;
  problem.memory_of = nullptr, problem.same_offset = nullptr;
  std::vector<memplan_pair> banks;
  for (std::size_t i = 1; i < n && has_banks; ++i) banks.push_back({i, static_cast<std::size_t>(d.below(static_cast<std::int64_t>(i)))});
  problem.banks = banks.data(), problem.bank_count = banks.size();
  std::vector<memplan_home> homes;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t q = 0; q < memories; ++q)
      if (!d.one_in(4)) homes.push_back({i, q, d.below(20)});
  std::vector<std::size_t> chosen(n + 1, 99);
  std::vector<std::int64_t> offsets(n + 1, -7), others(n + 1);
  const memplan_result result =
      memplan_choose(&problem, homes.data(), homes.size(), nullptr, chosen.data(), offsets.data());
  if (result.status == MEMPLAN_INVALID) return std::printf("seed %" PRIu64 ": %s\n", seed, memplan_rule_text(result.rule)), false;
  const auto cost_of = [&](std::size_t i, std::size_t q) {
    if (homes.empty()) return std::int64_t{0};
    for (const memplan_home &home : homes)
      if (home.buffer == i && home.memory == q) return home.cost;
    return std::int64_t{-1};
  };
  if (result.status <= MEMPLAN_FEASIBLE) {
    problem.memory_of = chosen.data();
    const memplan_result check = memplan_check(&problem, offsets.data());
    std::int64_t cost = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (cost_of(i, chosen[i]) < 0) return std::printf("seed %" PRIu64 ": a wrong memory\n", seed), false;
      cost += cost_of(i, chosen[i]);
    }
    if (check.status != MEMPLAN_FEASIBLE || check.peak != result.peak || cost != result.cost)
      return std::printf("seed %" PRIu64 ": %s, cost %" PRId64 "\n", seed, memplan_rule_text(check.rule), cost), false;
  }
  if (result.status == MEMPLAN_INFEASIBLE && result.buffer != MEMPLAN_NONE && result.other == MEMPLAN_NONE && !problem.only_pairs) {
    std::vector<std::size_t> crowded(n);
    const memplan_moment crowd =
        memplan_crowded(&problem, homes.data(), homes.size(), result.buffer, crowded.data(), n);
    std::int64_t bytes = 0, held = 0;
    for (std::size_t k = 0; k < crowd.count; ++k) bytes += problem.buffers[crowded[k]].size;
    for (std::size_t q = 0; q < memories; ++q)
      if (cost_of(result.buffer, q) >= 0) held += std::min(c.memories[q].capacity, MEMPLAN_UNLIMITED - held);
    const bool is_large = result.bound == problem.buffers[result.buffer].size;
    if (bytes != crowd.bytes || (!is_large && (bytes != result.bound || bytes <= held)))
      return std::printf("seed %" PRIu64 ": not the buffers or the bytes of the crowd\n", seed), false;
  }
  std::int64_t best = INT64_MAX;
  bool is_open = false;
  std::vector<std::size_t> each(n, 0);
  problem.memory_of = each.data();
  for (std::size_t at = 0; at < n || n == 0;) {
    std::int64_t cost = 0;
    for (std::size_t i = 0; i < n && cost >= 0; ++i) cost = cost_of(i, each[i]) < 0 ? -1 : cost + cost_of(i, each[i]);
    if (cost >= 0 && cost < best) {
      const memplan_result plan = memplan_plan(&problem, nullptr, others.data());
      if (plan.status <= MEMPLAN_FEASIBLE) best = cost;
      is_open |= plan.status == MEMPLAN_UNKNOWN;
    }
    for (at = 0; at < n && ++each[at] == memories; ++at) each[at] = 0;
    if (n == 0) break;
  }
  if (is_open) return true;
  const bool is_none = best == INT64_MAX;
  const char *fault = result.status <= MEMPLAN_FEASIBLE && is_none    ? "a plan where none is"
                      : result.status <= MEMPLAN_FEASIBLE && result.cost < best ? "less than the least"
                      : !is_none && result.cost_bound > best          ? "a bound above the least"
                      : !is_none && result.status == MEMPLAN_INFEASIBLE ? "infeasible, and it fits"
                      : !is_none && result.buffer != MEMPLAN_NONE     ? "crowded, and it fits"
                                                                      : nullptr;
  if (fault != nullptr) return std::printf("seed %" PRIu64 ": %s\n", seed, fault), false;
  if (result.status == MEMPLAN_OPTIMAL && result.cost != best)
    return std::printf("seed %" PRIu64 ": %" PRId64 " is not the least\n", seed, result.cost), false;
  fits += !is_none, least += !is_none && result.cost == best, proved += result.status == MEMPLAN_OPTIMAL;
  none += is_none, explained += is_none && result.status == MEMPLAN_INFEASIBLE;
  return true;
}

}  // namespace

int main(int count, char **words) {
  if (count < 3) return 2;
  const std::uint64_t cases = std::strtoull(words[1], nullptr, 10), first = std::strtoull(words[2], nullptr, 10);
  int faults = 0;
  for (std::uint64_t k = 0; k < cases; ++k) faults += !is_right(first + k);
  std::printf("%d %d %d %d %d\n", fits, least, proved, none, explained);
  return faults > 0;
}
