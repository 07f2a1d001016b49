// Drawn problems of every kind through memplan.h: `drawn COUNT SEED THREADS`. Ends with 1, and says which, where a plan
// does not pass memplan_check, a proof is wrong by trying all offsets, threads give other bytes, or memory is not given
// back.
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "memplan.h"
#include "random.hpp"

namespace {

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
  memplan_problem problem{};
  bool is_tiny = false;
};

// Sizes up to 2^shift times a few; tiny ones are small enough to try all offsets.
void draw(Draw &d, Case &c) {
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
  c.problem.buffers = c.buffers.data(), c.problem.count = c.buffers.size();
  c.problem.capacity = d.one_in(2) ? MEMPLAN_UNLIMITED : unit * d.below(30);
  c.problem.pairs = c.pairs.data(), c.problem.pair_count = c.pairs.size();
  c.problem.gaps = c.gaps.data(), c.problem.gap_count = c.gaps.size();
  c.problem.joins = c.joins.data(), c.problem.join_count = c.joins.size();
  c.problem.reserved = c.reserved.data(), c.problem.reserved_count = c.reserved.size();
}

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

// Whether some offsets with all ends at most `limit` pass the check: by trying all.
bool can_fit(Case &c, std::int64_t limit) {
  const std::size_t n = c.buffers.size();
  std::vector<std::int64_t> at(n, 0);
  memplan_problem problem = c.problem;
  problem.capacity = limit < c.problem.capacity ? limit : c.problem.capacity;
  const auto place = [&](auto &&self, std::size_t count) -> bool {
    memplan_problem part = problem;
    part.count = count, part.gap_count = part.pair_count = part.join_count = 0;
    while (part.gap_count < problem.gap_count && problem.gaps[part.gap_count].buffer < count) ++part.gap_count;
    while (part.join_count < problem.join_count && problem.joins[part.join_count].upper < count) ++part.join_count;
    std::vector<memplan_pair> pairs;
    for (const memplan_pair &pair : c.pairs)
      if (pair.first < count && pair.second < count) pairs.push_back(pair);
    part.pairs = pairs.data(), part.pair_count = pairs.size();
    if (memplan_check(&part, at.data()).status != MEMPLAN_FEASIBLE) return false;
    if (count == n) return true;
    for (at[count] = 0; at[count] + c.buffers[count].size <= problem.capacity; ++at[count])
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
  if (account.blocks != 0) return std::printf("seed %" PRIu64 ": memory was not given back\n", seed), false;
  if (result.status == MEMPLAN_INVALID) return std::printf("seed %" PRIu64 ": rule %d\n", seed, result.rule), false;
  if (result.status == MEMPLAN_OUT_OF_MEMORY) return account.left < 0;
  if (result.peak >= 0) {
    const memplan_result check = memplan_check(&c.problem, offsets.data());
    if (check.status != MEMPLAN_FEASIBLE || check.peak != result.peak || result.bound > result.peak)
      return std::printf("seed %" PRIu64 ": %s of %zu and %zu, peak %" PRId64 ", bound %" PRId64 "\n", seed,
                         memplan_rule_text(check.rule), check.buffer, check.other, result.peak, result.bound),
             false;
  }
  if (c.is_tiny && result.status == MEMPLAN_INFEASIBLE && can_fit(c, 40))
    return std::printf("seed %" PRIu64 ": infeasible, and it fits\n", seed), false;
  if (c.is_tiny && result.peak > 0 && result.bound > 0 && can_fit(c, result.bound - 1))
    return std::printf("seed %" PRIu64 ": bound %" PRId64 ", and it fits below\n", seed, result.bound), false;
  if (account.left < 1'000'000) return true;
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
