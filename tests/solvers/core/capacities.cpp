// Drawn problems without a capacity, then with one as large as the peak: `capacities COUNT`. Ends with 1, and says which,
// where that has no plan, or is further from a proof. Fewer than so many that were searched would show nothing.
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "memplan.h"

int main(int count, char **words) {
  if (count < 2) return 2;
  std::mt19937_64 draw(4);
  const auto below = [&draw](std::uint64_t most) { return static_cast<std::int64_t>(draw() % most); };
  const int cases = std::atoi(words[1]);
  int worse = 0, searched = 0;
  for (int k = 0; k < cases; ++k) {
    std::vector<memplan_buffer> buffers(static_cast<std::size_t>(6 + below(25)), memplan_buffer MEMPLAN_BUFFER_INIT);
    for (memplan_buffer &row : buffers) {
      row.begin = below(20), row.end = row.begin + 1 + below(8);
      row.size = 1 + below(200), row.alignment = std::int64_t{1} << below(4);
    }
    memplan_problem problem = MEMPLAN_PROBLEM_INIT;
    problem.buffers = buffers.data(), problem.count = buffers.size();
    memplan_options options{};
    options.work = 20'000;
    std::vector<std::int64_t> offsets(buffers.size());
    const memplan_result open = memplan_plan(&problem, &options, offsets.data());
    problem.capacity = open.peak;
    const memplan_result tight = memplan_plan(&problem, &options, offsets.data());
    searched += tight.nodes > 0;
    if (tight.status <= open.status && tight.peak <= open.peak && tight.bound >= open.bound) continue;
    std::printf("case %d: %s, then %s\n", k, memplan_status_text(open.status), memplan_status_text(tight.status));
    ++worse;
  }
  return worse > 0 || searched < cases / 3;
}
