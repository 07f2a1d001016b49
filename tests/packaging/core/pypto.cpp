// Problems of pypto's kind; a line for each, with its status, its peak, and the offsets of its buffers.
#include <iostream>

#include "pypto.h"

using namespace dsa;

static DsaProblem two_lives() {
  DsaProblem problem;
  problem.buffers = {{1, {{0, 2}}, 64, 32, 0}, {2, {{2, 4}}, 32, 32, 0}, {3, {{0, 1}, {3, 4}}, 32, 32, 0}};
  return problem;
}

static void show(const char *name, const DsaProblem &problem) {
  const DsaSolution solution = solve(problem, 1.0);
  std::cout << name << ' ' << static_cast<int>(solution.status) << ' ' << solution.value.peak << ' '
            << solution.value.sync;
  for (const auto &[id, offset] : solution.offsets) std::cout << ' ' << offset;
  std::cout << '\n';
}

int main() {
  DsaProblem problem = two_lives();
  show("lives", problem);
  problem.separations = {{1, 2}};
  show("separation", problem);
  problem.pool_caps[0] = 96;
  show("capacity", problem);
  problem = two_lives();
  problem.colocations = {{1, 2}}, problem.pinned = {{3, 0}};
  show("colocation", problem);
  problem = two_lives();
  problem.reserved_base[0] = 32, problem.cost_model = CostModel{{{1, 2, 7}}, {}};
  show("penalty", problem);
  problem.pool_caps[0] = 128;
  show("penalty-paid", problem);
  problem.cost_model->banks = {{0, 64, 2}};
  show("banks", problem);
}
