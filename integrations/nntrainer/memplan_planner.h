/* SPDX-License-Identifier: Apache-2.0
 *
 * nntrainer's pools on plans of memplan: a class beside its planners. In manager.cpp, Manager::finalizeTensorPool gives
 * MemplanPlanner() to pool.finalize in place of its own; memplan.h and memplan.cpp are compiled in, as C++20. */
#pragma once
#include <memory_planner.h>

#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "memplan.h"

namespace nntrainer {

class MemplanPlanner : public MemoryPlanner {
 public:
  size_t planLayout(const std::vector<size_t> &sizes, const std::vector<std::pair<unsigned int, unsigned int>> &validity,
                    std::vector<size_t> &offsets, std::vector<bool> &, size_t) const override {
    std::vector<memplan_buffer> buffers(sizes.size());
    int64_t alignment = 64; // or less, as its planners put one size behind the other
    for (const size_t size : sizes) alignment = std::gcd(alignment, int64_t(size));
    for (size_t k = 0; k < sizes.size(); ++k) {
      const auto [begin, end] = validity[k];
      buffers[k] = {int64_t(sizes[k]), begin, end, alignment, MEMPLAN_FREE, 0, 0, 0};
    }
    memplan_problem problem = MEMPLAN_PROBLEM_INIT;
    problem.buffers = buffers.data(), problem.count = buffers.size();
    std::vector<int64_t> places(sizes.size());
    const memplan_options quick = {.work = 0}, search = {.work = 1000};
    memplan_result result = memplan_plan(&problem, &quick, places.data());
    if (result.status == MEMPLAN_FEASIBLE) result = memplan_plan(&problem, &search, places.data());
    if (result.status > MEMPLAN_FEASIBLE) throw std::runtime_error(memplan_status_text(result.status));
    offsets.assign(places.begin(), places.end());
    return size_t(result.peak);
  }
  const std::string getType() const override { return "memplan_planner"; }
};

} // namespace nntrainer
