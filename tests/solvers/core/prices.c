/* Problems with prices from the standard input, planned by memplan.h alone: `prices WORK`.
 *
 * A problem is a line of numbers, `buffers pairs prices capacity`, then its rows: `size begin end alignment pin`,
 * `first second`, `first second price`. Prints for each: status, cost, bound of the cost, nodes, questions of `cancel`.
 * Ends with 1 where memplan_check counts another cost, or a plan is not the same again. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memplan.h"

enum { MOST = 1 << 16 };

static int64_t number(void) {
  int64_t value = 0;
  if (scanf("%" SCNd64, &value) != 1) exit(2);
  return value;
}

static int count_question(void *context) {
  ++*(int64_t *)context;
  return 0;
}

int main(int words, char **word) {
  static memplan_buffer buffers[MOST];
  static memplan_pair pairs[MOST];
  static memplan_price prices[MOST];
  static int64_t offsets[MOST], again[MOST];
  int64_t count;
  while (words == 2 && scanf("%" SCNd64, &count) == 1) {
    int64_t questions = 0;
    memplan_problem problem = {0};
    memplan_options options = {0};
    memplan_result result, check;
    problem.buffers = buffers, problem.count = (size_t)count;
    problem.pairs = pairs, problem.pair_count = (size_t)number();
    problem.prices = prices, problem.price_count = (size_t)number();
    problem.capacity = number();
    for (size_t i = 0; i < problem.count; ++i) {
      memplan_buffer *row = &buffers[i];
      memset(row, 0, sizeof *row);
      row->size = number(), row->begin = number(), row->end = number(), row->alignment = number();
      row->pin = number();
      if (row->pin < 0) row->pin = MEMPLAN_FREE;
    }
    for (size_t k = 0; k < problem.pair_count; ++k) pairs[k].first = (size_t)number(), pairs[k].second = (size_t)number();
    for (size_t k = 0; k < problem.price_count; ++k)
      prices[k].first = (size_t)number(), prices[k].second = (size_t)number(), prices[k].price = number();
    options.work = strtoll(word[1], NULL, 10), options.cancel = count_question, options.context = &questions;
    result = memplan_plan(&problem, &options, offsets);
    printf("%s;%" PRId64 ";%" PRId64 ";%" PRId64 ";%" PRId64 "\n", memplan_status_text(result.status), result.cost,
           result.cost_bound, result.nodes, questions);
    if (result.nodes > options.work) return 1;
    if (result.status > MEMPLAN_FEASIBLE) continue;
    check = memplan_check(&problem, offsets);
    if (check.status != MEMPLAN_FEASIBLE || check.cost != result.cost) return 1;
    memplan_plan(&problem, &options, again);
    if (memcmp(offsets, again, problem.count * sizeof *offsets) != 0) return 1;
  }
  return 0;
}
