// Drawn problems of every kind through memplan.h: `drawn COUNT SEED THREADS`. Ends with 1, and says which, where a plan
// does not pass memplan_check, a proof is wrong by trying all offsets, threads give other bytes, or memory is not given
// back.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "drawn.hpp"

namespace {

struct Account {
  std::int64_t blocks = 0, left = INT64_MAX;
};

void *take(void *arena, std::size_t bytes) {
  Account *account = static_cast<Account *>(arena);
  if (account->left-- <= 0) return nullptr;
  ++account->blocks;
  return std::malloc(bytes);
}

void give_back(void *arena, void *block, std::size_t) {
  --static_cast<Account *>(arena)->blocks;
  std::free(block);
}

// Whether some offsets with a peak of at most `limit` and a cost of at most `cost` pass the check: by trying up to 20,000.
bool can_fit(Case &c, std::int64_t limit, std::int64_t cost = INT64_MAX) {
  const std::size_t n = c.buffers.size();
  std::vector<std::int64_t> at(n, 0);
  int left = 20'000;
  const memplan_problem problem = c.problem;
  const auto capacity_of = [&](std::size_t i) {
    return std::min(limit, problem.memory_count > 0 ? c.memories[c.memory_of[i]].capacity : problem.capacity);
  };
  const auto place = [&](auto &&self, std::size_t count) -> bool {
    if (--left < 0) return false;
    memplan_problem part = problem;
    part.count = count, part.gap_count = part.pair_count = part.join_count = 0;
    while (part.gap_count < problem.gap_count && problem.gaps[part.gap_count].buffer < count) ++part.gap_count;
    while (part.join_count < problem.join_count && problem.joins[part.join_count].upper < count) ++part.join_count;
    std::vector<memplan_pair> pairs;
    for (const memplan_pair &pair : c.pairs)
      if (pair.first < count && pair.second < count) pairs.push_back(pair);
    part.pairs = pairs.data(), part.pair_count = pairs.size();
    std::vector<memplan_price> prices;
    for (const memplan_price &row : c.prices)
      if (row.first < count && row.second < count) prices.push_back(row);
    part.prices = prices.data(), part.price_count = prices.size();
    const memplan_result check = memplan_check(&part, at.data());
    if (check.status != MEMPLAN_FEASIBLE || check.peak > limit || check.cost > cost) return false;
    if (count == n) return true;
    for (at[count] = 0; at[count] + c.buffers[count].size <= capacity_of(count); ++at[count])
      if (self(self, count + 1)) return true;
    return false;
  };
  return place(place, 0);
}

bool is_right(std::uint64_t seed) {
  Draw d{seed};
  Case c;
  draw(d, c);
  Account account;
  if (d.one_in(5)) account.left = d.below(60);
  memplan_options options{};
  options.work = d.one_in(4) ? 0 : 1 + d.below(4000), options.seed = seed;
  options.allocate = take, options.release = give_back, options.arena = &account;
  std::vector<std::int64_t> offsets(c.buffers.size() + 1, -7), again(c.buffers.size() + 1, -7);
  const memplan_result result = memplan_plan(&c.problem, &options, offsets.data());
  std::vector<char> text(256);
  std::size_t length = 0;
  const memplan_result proof = memplan_certify(&c.problem, &options, result.peak, text.data(), text.size(), &length);
  if (account.blocks != 0) return std::printf("seed %" PRIu64 ": memory was not given back\n", seed), false;
  if (proof.status == MEMPLAN_OPTIMAL && c.is_tiny && result.peak > 0 && can_fit(c, result.peak - 1))
    return std::printf("seed %" PRIu64 ": certified, and it fits below\n", seed), false;
  const bool is_large = result.rule == MEMPLAN_TOO_LARGE || result.rule >= MEMPLAN_PIN_TOO_LARGE;
  if (result.rule == MEMPLAN_CAPACITY_ZERO || (c.is_huge && is_large)) return proof.rule == result.rule;
  if (result.status == MEMPLAN_INVALID) return std::printf("seed %" PRIu64 ": rule %d\n", seed, result.rule), false;
  if (result.status == MEMPLAN_OUT_OF_MEMORY) return account.left < 0 && result.ran_out != 0;
  if (result.peak >= 0) {
    const memplan_result check = memplan_check(&c.problem, offsets.data());
    if (check.cost != result.cost || result.cost_bound > result.cost)
      return std::printf("seed %" PRIu64 ": costs %" PRId64 ", not %" PRId64 "\n", seed, check.cost, result.cost), false;
    if (check.status != MEMPLAN_FEASIBLE || check.peak != result.peak || result.bound > result.peak)
      return std::printf("seed %" PRIu64 ": %s of %zu and %zu, peak %" PRId64 ", bound %" PRId64 "\n", seed,
                         memplan_rule_text(check.rule), check.buffer, check.other, result.peak, result.bound),
             false;
    if (memplan_fullest(&c.problem, 0, nullptr, 0).bytes > result.peak)
      return std::printf("seed %" PRIu64 ": more alive than the peak %" PRId64 "\n", seed, result.peak), false;
  }
  if (c.is_tiny && result.status == MEMPLAN_INFEASIBLE && can_fit(c, 40 * (1 + c.problem.memory_count)))
    return std::printf("seed %" PRIu64 ": infeasible, and it fits\n", seed), false;
  if (c.is_tiny && result.peak > 0 && result.bound > 0 && can_fit(c, result.bound - 1))
    return std::printf("seed %" PRIu64 ": bound %" PRId64 ", and it fits below\n", seed, result.bound), false;
  if (c.is_tiny && result.cost_bound > 0 && can_fit(c, 40, result.cost_bound - 1))
    return std::printf("seed %" PRIu64 ": a cost of %" PRId64 ", and it costs less\n", seed, result.cost_bound), false;
  if (result.ran_out != 0) return account.left < 0;
  account.left = INT64_MAX;
  const memplan_result twice = memplan_plan(&c.problem, &options, again.data());
  if (std::memcmp(&twice, &result, sizeof result) != 0 || again != offsets)
    return std::printf("seed %" PRIu64 ": not the same bytes again\n", seed), false;
  return true;
}

}  // namespace

int main(int count, char **words) {
  if (count < 4) return 2;
  const std::uint64_t cases = std::strtoull(words[1], nullptr, 10), first = std::strtoull(words[2], nullptr, 10);
  const std::uint64_t threads = std::strtoull(words[3], nullptr, 10);
  std::vector<std::thread> running;
  std::vector<int> faults(threads, 0);
  for (std::uint64_t t = 0; t < threads; ++t)
    running.emplace_back([&, t] {
      for (std::uint64_t k = t; k < cases; k += threads) faults[t] += !is_right(first + k);
    });
  for (std::thread &thread : running) thread.join();
  int total = 0;
  for (const int found : faults) total += found;
  std::printf("%d faults\n", total);
  return total != 0;
}
