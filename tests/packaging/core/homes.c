/* Choices that are wrong, each in one way: ends with 1, and says where another reason comes. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "memplan.h"

static memplan_buffer buffers[2];
static memplan_memory memories[2];
static memplan_home homes[3];
static memplan_problem problem;
static memplan_options options;
static size_t home_count, memory_of[2];
static int64_t offsets[2];
static int faults;
static memplan_place places[2];

static void set_up(void) {
  const memplan_problem none = MEMPLAN_PROBLEM_INIT;
  const memplan_memory both[2] = {{12, 0, NULL, 0, 0}, {MEMPLAN_UNLIMITED, 0, NULL, 0, 0}};
  const memplan_home rows[3] = {{0, 0, 5}, {1, 0, 1}, {1, 1, 7}};
  memplan_options plain = {0};
  for (int k = 0; k < 2; ++k) {
    const memplan_buffer buffer = {12, 0, 4, 1, MEMPLAN_FREE, 0, 0, 0};
    buffers[k] = buffer, memories[k] = both[k];
  }
  memcpy(homes, rows, sizeof homes);
  plain.work = 1000;
  problem = none, options = plain, home_count = 3;
  problem.buffers = buffers, problem.count = 2, problem.memories = memories, problem.memory_count = 2;
}

static memplan_result choose(void) {
  return memplan_choose(&problem, homes, home_count, &options, memory_of, offsets);
}

static void expect(memplan_result found, memplan_status status, memplan_rule rule, size_t row, int line) {
  if (found.status == status && found.rule == rule && found.buffer == row) return;
  printf("line %d: %s, %s, row %zu\n", line, memplan_status_text(found.status), memplan_rule_text(found.rule), found.buffer);
  faults = 1;
}

#define REFUSED(change, rule, row) \
  set_up();                        \
  change;                          \
  expect(choose(), MEMPLAN_INVALID, rule, row, __LINE__);
#define NOTHING_FITS(change, row)                                 \
  set_up();                                                       \
  change;                                                         \
  expect(choose(), MEMPLAN_INFEASIBLE, MEMPLAN_FINE, row, __LINE__);

int main(void) {
  size_t alive[2];
  memplan_result found;
  memplan_moment crowd;
  memplan_pair pair = {0, 1};
  set_up();
  found = choose();
  expect(found, MEMPLAN_OPTIMAL, MEMPLAN_FINE, MEMPLAN_NONE, __LINE__);
  faults |= found.cost != 12 || memory_of[0] != 0 || memory_of[1] != 1 || offsets[0] + offsets[1] != 0;
  REFUSED(homes[2].buffer = 2, MEMPLAN_HOME_WRONG, 2)
  REFUSED(homes[0].memory = 2, MEMPLAN_HOME_WRONG, 0)
  REFUSED(homes[1].cost = -1, MEMPLAN_HOME_WRONG, 1)
  REFUSED(homes[2].memory = 0, MEMPLAN_HOME_WRONG, 2)
  REFUSED(homes[0].cost = homes[1].cost = (int64_t)1 << 58, MEMPLAN_HOMES_TOO_LARGE, 1)
  REFUSED(places[0].buffer = 2; problem.places = places; problem.place_count = 1, MEMPLAN_PLACE_WRONG, 0)
  REFUSED(problem.memory_count = 0, MEMPLAN_CHOICE_BESIDE, MEMPLAN_NONE)
  REFUSED(problem.price_count = 1, MEMPLAN_CHOICE_BESIDE, MEMPLAN_NONE)
  REFUSED(problem.memories = NULL, MEMPLAN_NULL_POINTER, MEMPLAN_NONE)
  REFUSED(problem.count = SIZE_MAX, MEMPLAN_TOO_MANY, MEMPLAN_NONE)
  REFUSED(buffers[1].size = -1, MEMPLAN_SIZE_NEGATIVE, 1)
  REFUSED(memories[1].base = -1, MEMPLAN_BASE_NEGATIVE, 1)
  REFUSED(options.seconds = NAN, MEMPLAN_OPTION_WRONG, MEMPLAN_NONE)
  REFUSED(options.work = -1, MEMPLAN_OPTION_WRONG, MEMPLAN_NONE)
  set_up();
  found = memplan_choose(NULL, homes, 3, NULL, memory_of, offsets);
  expect(found, MEMPLAN_INVALID, MEMPLAN_NULL_POINTER, MEMPLAN_NONE, __LINE__);
  found = memplan_choose(&problem, NULL, 3, NULL, memory_of, offsets);
  expect(found, MEMPLAN_INVALID, MEMPLAN_NULL_POINTER, MEMPLAN_NONE, __LINE__);
  found = memplan_choose(&problem, homes, 3, NULL, NULL, offsets);
  expect(found, MEMPLAN_INVALID, MEMPLAN_NULL_POINTER, MEMPLAN_NONE, __LINE__);
  NOTHING_FITS(buffers[0].size = 17, 0)
  NOTHING_FITS(home_count = 2, 0)
  set_up();
  home_count = 2, buffers[1].begin = 2;
  found = choose();
  crowd = memplan_crowded(&problem, homes, home_count, found.buffer, alive, 2);
  faults |= found.bound != 24 || crowd.time != 2 || crowd.bytes != 24 || crowd.count != 2 || alive[0] != 0 || alive[1] != 1;
  faults |= memplan_crowded(&problem, homes, home_count, 2, alive, 2).bytes != -1;
  faults |= memplan_crowded(&problem, NULL, 1, 0, alive, 2).bytes != -1;
  buffers[1].begin = 4, buffers[1].end = 5; /* one after the other, both in the small one */
  found = choose();
  expect(found, MEMPLAN_OPTIMAL, MEMPLAN_FINE, MEMPLAN_NONE, __LINE__);
  faults |= found.cost != 6;
  home_count = 3, memories[0].bank = 4; /* and now not, as every bank there is the first one's */
  problem.banks = &pair, problem.bank_count = 1;
  found = choose();
  faults |= found.cost != 12 || memplan_status_text(found.status) == NULL || memory_of[1] != 1;
  set_up();
  problem.shares = &pair, problem.share_count = 1; /* both in the small one, in place */
  found = choose();
  expect(found, MEMPLAN_OPTIMAL, MEMPLAN_FINE, MEMPLAN_NONE, __LINE__);
  faults |= found.cost != 6 || memory_of[1] != 0 || offsets[0] != offsets[1];
  set_up();
  homes[2].cost = 2, buffers[1].begin = 4, buffers[1].end = 5; /* one after the other, and the second one was in the large one */
  places[0].buffer = 1, places[0].memory = 1, places[0].offset = 64, places[0].weight = 12;
  problem.places = places, problem.place_count = 1;
  found = choose();
  faults |= found.cost != 6 || found.moved != 12 || found.moved_bound != 12 || found.least != 6;
  options.accept = 0.2;
  found = choose();
  expect(found, MEMPLAN_FEASIBLE, MEMPLAN_FINE, MEMPLAN_NONE, __LINE__);
  faults |= found.cost != 7 || found.moved != 0 || found.least != 6 || memory_of[1] != 1 || offsets[1] != 64;
  set_up();
  buffers[0].pin = buffers[1].pin = 8; /* neither ends within the small memory, and one may be nowhere else */
  expect(choose(), MEMPLAN_INFEASIBLE, MEMPLAN_FINE, MEMPLAN_NONE, __LINE__);
  return faults;
}
