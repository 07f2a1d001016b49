// A choice of memories for 2,000 buffers that is cancelled early: `hurried CALLS` prints its cost after so many questions
// whether it is cancelled, and what memplan_check says of it.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "memplan.h"
#include "random.hpp"

int main(int count, char **words) {
  if (count < 2) return 2;
  memplan::Random random(1);
  const auto below = [&](std::int64_t most) { return static_cast<std::int64_t>(random.next() % static_cast<std::uint64_t>(most)); };
  const memplan_memory memories[] = {{65536, 0, nullptr, 0, 0}, {98304, 0, nullptr, 0, 0}, {MEMPLAN_UNLIMITED, 0, nullptr, 0, 0}};
  const std::int64_t prices[] = {0, 4, 20}, lengths[] = {2, 3, 3, 4, 5, 8, 20};
  std::vector<memplan_buffer> buffers;
  std::vector<memplan_home> homes;
  for (std::size_t i = 0; i < 2'000; ++i) {
    const std::int64_t size = 64 * (1 + below(259)), at = static_cast<std::int64_t>(i), traffic = size * (1 + below(3));
    buffers.push_back({size, at, at + lengths[below(7)], 64, MEMPLAN_FREE, 0, 0, 0});
    for (std::size_t q = 0; q < 3; ++q) homes.push_back({i, q, prices[q] * traffic});
  }
  memplan_problem problem = MEMPLAN_PROBLEM_INIT;
  problem.buffers = buffers.data(), problem.count = buffers.size(), problem.memories = memories, problem.memory_count = 3;
  std::int64_t left = std::strtoll(words[1], nullptr, 10);
  memplan_options options{};
  options.work = 100'000, options.context = &left;
  options.cancel = [](void *context) { return static_cast<int>(--*static_cast<std::int64_t *>(context) < 0); };
  std::vector<std::size_t> memory_of(buffers.size());
  std::vector<std::int64_t> offsets(buffers.size());
  const memplan_result found = memplan_choose(&problem, homes.data(), homes.size(), &options, memory_of.data(), offsets.data());
  problem.memory_of = memory_of.data();
  const memplan_result check = memplan_check(&problem, offsets.data());
  std::printf("%lld %lld %d\n", static_cast<long long>(found.cost), static_cast<long long>(found.cost_bound), check.status);
  return 0;
}
