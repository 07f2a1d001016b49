/* Choices that are wrong, each in one way: ends with 1, and says where another reason comes. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "memory_choice.h"

static memplan_buffer buffers[2];
static memplan_memory memories[2];
static memplan_home homes[3];
static memplan_problem problem;
static memplan_options options;
static size_t home_count, memory_of[2];
static int64_t offsets[2];
static int faults;

static void set_up(void) {
  const memplan_problem none = MEMPLAN_PROBLEM_INIT;
  const memplan_memory both[2] = {{12, 0, NULL, 0}, {MEMPLAN_UNLIMITED, 0, NULL, 0}};
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

static memplan_choice choose(void) {
  return memplan_choose(&problem, homes, home_count, &options, memory_of, offsets);
}

static void expect(memplan_choice found, memplan_status status, const char *reason, size_t row, int line) {
  if (found.status == status && strstr(found.reason, reason) != NULL && found.row == row) return;
  printf("line %d: %s, %s, row %zu\n", line, memplan_status_text(found.status), found.reason, found.row);
  faults = 1;
}

#define REFUSED(change, reason, row) \
  set_up();                          \
  change;                            \
  expect(choose(), MEMPLAN_INVALID, reason, row, __LINE__);
#define NOTHING_FITS(change, reason, row) \
  set_up();                               \
  change;                                 \
  expect(choose(), MEMPLAN_INFEASIBLE, reason, row, __LINE__);

int main(void) {
  size_t alive[2];
  memplan_choice found;
  set_up();
  found = choose();
  expect(found, MEMPLAN_OPTIMAL, "", MEMPLAN_NONE, __LINE__);
  faults |= found.cost != 12 || memory_of[0] != 0 || memory_of[1] != 1 || offsets[0] + offsets[1] != 0;
  REFUSED(homes[2].buffer = 2, "the buffer of the home is not there", 2)
  REFUSED(homes[0].memory = 2, "the memory of the home is not there", 0)
  REFUSED(homes[1].cost = -1, "must not be negative", 1)
  REFUSED(homes[2].memory = 0, "must ascend", 2)
  REFUSED(homes[0].cost = homes[1].cost = (int64_t)1 << 60, "at most 2^60", 1)
  REFUSED(problem.memory_count = 0, "memories are chosen among", MEMPLAN_NONE)
  REFUSED(problem.join_count = 1, "without prices, joins",
          MEMPLAN_NONE)
  REFUSED(problem.memories = NULL, "NULL", MEMPLAN_NONE)
  REFUSED(problem.count = SIZE_MAX, "too many", MEMPLAN_NONE)
  REFUSED(buffers[1].size = -1, "the size must not be negative", 1)
  REFUSED(memories[1].base = -1, "the base must not be negative", 1)
  REFUSED(options.seconds = NAN, "seconds must not be negative", MEMPLAN_NONE)
  REFUSED(options.work = -1, "work", MEMPLAN_NONE)
  set_up();
  expect(memplan_choose(NULL, homes, 3, NULL, memory_of, offsets), MEMPLAN_INVALID, "NULL", MEMPLAN_NONE, __LINE__);
  expect(memplan_choose(&problem, NULL, 3, NULL, memory_of, offsets), MEMPLAN_INVALID, "NULL", MEMPLAN_NONE, __LINE__);
  expect(memplan_choose(&problem, homes, 3, NULL, NULL, offsets), MEMPLAN_INVALID, "room", MEMPLAN_NONE, __LINE__);
  NOTHING_FITS(buffers[0].size = 17, "larger than each memory", 0)
  NOTHING_FITS(home_count = 2, "more bytes are alive", 0)
  set_up();
  home_count = 2, buffers[1].begin = 2;
  found = choose();
  faults |= found.crowd.time != 2 || found.crowd.bytes != 24 || found.crowd.capacity != 12 || found.crowd.count != 2;
  faults |= memplan_crowded(&problem, homes, home_count, found.crowd, alive, 2) != 2 || alive[0] != 0 || alive[1] != 1;
  buffers[1].begin = 4, buffers[1].end = 5; /* one after the other, both in the small one */
  found = choose();
  expect(found, MEMPLAN_OPTIMAL, "", MEMPLAN_NONE, __LINE__);
  faults |= found.cost != 6;
  set_up();
  buffers[0].pin = buffers[1].pin = 8; /* neither ends within the small memory, and one may be nowhere else */
  expect(choose(), MEMPLAN_UNKNOWN, "a memory was not packed", 0, __LINE__);
  return faults;
}
