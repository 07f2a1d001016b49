// SPDX-License-Identifier: Apache-2.0
//
// The door of the page that plans in a browser: problem and answer are arrays of numbers, so that no script depends on
// how the structures of memplan.h are laid out. The positions are those of `static/browser/rows.js`.
#include <stddef.h>
#include <stdlib.h>

#include "memplan.h"

namespace {

enum { BUFFERS, GAPS, PAIRS, RANGES, CAPACITY, BASE, MILLISECONDS, ROWS };
enum { STATUS, RULE, ROW, OTHER, PEAK, BOUND, IS_CHECKED, FULLEST, TIME, OFFSETS };

template <typename Row>
Row *allocate_rows(int64_t count) {
  return static_cast<Row *>(calloc(static_cast<size_t>(count) + 1, sizeof(Row)));
}

}  // namespace

/* Plan a problem and check the plan. After the ROWS numbers, `given` has the rows: of a buffer its size, begin, end,
 * alignment and pin; of a gap its buffer, begin and end; of a pair both buffers; of a range its begin and end. `answer`
 * has room for OFFSETS numbers and an offset for each buffer. Frees nothing: the instance is used once. */
extern "C" void plan_rows(const int64_t *given, int64_t *answer) {
  const int64_t *next = given + ROWS;
  auto *buffers = allocate_rows<memplan_buffer>(given[BUFFERS]);
  auto *gaps = allocate_rows<memplan_gap>(given[GAPS]);
  auto *pairs = allocate_rows<memplan_pair>(given[PAIRS]);
  auto *ranges = allocate_rows<memplan_range>(given[RANGES]);
  answer[STATUS] = MEMPLAN_OUT_OF_MEMORY;
  if (buffers == nullptr || gaps == nullptr || pairs == nullptr || ranges == nullptr) return;
  for (int64_t k = 0; k < given[BUFFERS]; ++k, next += 5) {
    buffers[k].size = next[0], buffers[k].begin = next[1], buffers[k].end = next[2];
    buffers[k].alignment = next[3], buffers[k].pin = next[4];
  }
  const auto row = [](int64_t number) { return static_cast<size_t>(number); };
  for (int64_t k = 0; k < given[GAPS]; ++k, next += 3) gaps[k] = {row(next[0]), next[1], next[2]};
  for (int64_t k = 0; k < given[PAIRS]; ++k, next += 2) pairs[k] = {row(next[0]), row(next[1])};
  for (int64_t k = 0; k < given[RANGES]; ++k, next += 2) ranges[k] = {next[0], next[1]};

  memplan_problem problem = MEMPLAN_PROBLEM_INIT;
  problem.buffers = buffers, problem.count = static_cast<size_t>(given[BUFFERS]);
  problem.gaps = gaps, problem.gap_count = static_cast<size_t>(given[GAPS]);
  problem.pairs = pairs, problem.pair_count = static_cast<size_t>(given[PAIRS]);
  problem.reserved = ranges, problem.reserved_count = static_cast<size_t>(given[RANGES]);
  problem.capacity = given[CAPACITY], problem.base = given[BASE];
  memplan_options options = {};
  options.work = INT64_MAX / 4;  // the time alone ends the search
  options.seconds = static_cast<double>(given[MILLISECONDS]) / 1000;

  const memplan_result found = memplan_plan(&problem, &options, answer + OFFSETS);
  answer[STATUS] = found.status, answer[RULE] = found.rule;
  answer[ROW] = static_cast<ptrdiff_t>(found.buffer), answer[OTHER] = static_cast<ptrdiff_t>(found.other);  // NONE is -1
  answer[PEAK] = found.peak, answer[BOUND] = found.bound;
  const memplan_moment fullest = memplan_fullest(&problem, 0, nullptr, 0);
  answer[FULLEST] = fullest.bytes, answer[TIME] = fullest.time;
  if (found.status > MEMPLAN_FEASIBLE) return;
  const memplan_result checked = memplan_check(&problem, answer + OFFSETS);
  answer[IS_CHECKED] = checked.status == MEMPLAN_FEASIBLE && checked.peak == found.peak;
}
