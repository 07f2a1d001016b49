/* SPDX-License-Identifier: Apache-2.0
 *
 * nntrainer's pools on plans of memplan: edit.py has Manager::finalizeTensorPool take this class. OptimizedV1Planner plans
 * first, and its plan stays where memplan's needs as many bytes. NNTRAINER_MEMPLAN=0 in the environment leaves all plans
 * to it; NNTRAINER_MEMPLAN=log prints each, with the nanoseconds of both, of this thread. */
#pragma once
#include <optimized_v1_planner.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "memplan.h"

namespace nntrainer {

class MemplanPlanner : public OptimizedV1Planner {
 public:
  size_t planLayout(const std::vector<size_t> &sizes, const std::vector<std::pair<unsigned int, unsigned int>> &validity,
                    std::vector<size_t> &offsets, std::vector<bool> &gradients, size_t count = 0) const override {
    const char *set = std::getenv("NNTRAINER_MEMPLAN");
    const std::string mode = set ? set : "";
    const long long start = now(mode);
    const size_t own = OptimizedV1Planner::planLayout(sizes, validity, offsets, gradients, count);
    const long long middle = now(mode);
    if (mode == "0") return own;
    std::vector<memplan_buffer> buffers(sizes.size());
    int64_t alignment = 64; // or less, as its planner puts one size behind the other
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
    const size_t peak = result.status <= MEMPLAN_FEASIBLE ? std::min(own, size_t(result.peak)) : own;
    if (peak < own) offsets.assign(places.begin(), places.end());
    if (mode == "log")
      std::fprintf(stderr, "memplan: %zu buffers, nntrainer %zu, memplan %zu, bound %lld; ns: %lld, %lld\n", sizes.size(), own,
                   peak, (long long)result.bound, middle - start, now(mode) - start);
    return peak;
  }

 private:
  static long long now(const std::string &mode) {
    std::timespec time = {};
    if (mode == "log") clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
  }
};

} // namespace nntrainer
