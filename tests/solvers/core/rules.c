/* A problem that is right, and each rule broken in turn: ends with 1, and says where another answer comes. */
#include <math.h>
#include <stdio.h>

#include "memplan.h"

static memplan_buffer rows[3];
static memplan_pair pairs[1];
static memplan_gap gaps[1];
static memplan_join joins[1];
static memplan_range ranges[1];
static memplan_price prices[1];
static memplan_place places[1];
static memplan_memory memories[2];
static size_t memory_of[3];
static memplan_problem problem;
static int64_t offsets[3];
static int faults;

static void set_up(void) {
  for (int k = 0; k < 3; ++k) {
    const memplan_buffer row = {8, 10 * k, 10 * k + 15, 4, MEMPLAN_FREE, 0, 0, 0};
    rows[k] = row;
    offsets[k] = 8 * (k % 2);
  }
  const memplan_problem whole = {rows, 3, 64, 0, 0, NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL, NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL, 0};
  problem = whole;
}

static void expect(memplan_result found, memplan_status status, memplan_rule rule, size_t buffer, int line) {
  if (found.status == status && found.rule == rule && found.buffer == buffer) return;
  printf("line %d: %s, %s, buffer %zu\n", line, memplan_status_text(found.status), memplan_rule_text(found.rule),
         found.buffer);
  faults = 1;
}

#define REFUSED(change, rule, row)                                                                        \
  set_up();                                                                                               \
  change;                                                                                                 \
  expect(memplan_plan(&problem, NULL, offsets), MEMPLAN_INVALID, rule, row, __LINE__);                    \
  expect(memplan_check(&problem, offsets), MEMPLAN_INVALID, rule, row, __LINE__);
#define WRONG(change, rule, row) \
  set_up();                      \
  change;                        \
  expect(memplan_check(&problem, offsets), MEMPLAN_INVALID, rule, row, __LINE__);
#define TWO(change, rule, row) \
  set_up_two();                \
  change;                      \
  expect(memplan_check(&problem, offsets), MEMPLAN_INVALID, rule, row, __LINE__);
#define ROWS(field, number, ...)                                 \
  {                                                              \
    const memplan_##number row = {__VA_ARGS__};                  \
    field##s[0] = row;                                           \
  }

/* The first and the last one in one memory, the other in a smaller one. */
static void set_up_two(void) {
  const memplan_memory both[2] = {{16, 0, NULL, 0, 0}, {8, 4, NULL, 0, 0}};
  set_up();
  for (int k = 0; k < 2; ++k) memories[k] = both[k], offsets[2 * k] = 0;
  for (int k = 0; k < 3; ++k) memory_of[k] = (size_t)(k % 2);
  offsets[1] = 0;
  problem.capacity = -1;
  problem.memories = memories, problem.memory_count = 2, problem.memory_of = memory_of;
}

/* Two cores of equal use: the problem of tests/solvers/formulation/test_equal_use.py, which is answered as there. */
static void test_equal_use(void) {
  const memplan_buffer row = MEMPLAN_BUFFER_INIT;
  const int64_t sizes[4] = {64, 64, 32, 96}, begins[4] = {0, 1, 0, 2}, ends[4] = {2, 3, 1, 4};
  const size_t cores[4] = {0, 1, 0, 1};
  memplan_buffer four[4];
  memplan_memory alike[2] = {{MEMPLAN_UNLIMITED, 0, NULL, 0, 0}, {MEMPLAN_UNLIMITED, 0, NULL, 0, 0}};
  size_t same[4] = {0, 0, MEMPLAN_NONE, MEMPLAN_NONE};
  int64_t at[4];
  memplan_problem cored = MEMPLAN_PROBLEM_INIT;
  for (int k = 0; k < 4; ++k) four[k] = row, four[k].size = sizes[k], four[k].begin = begins[k], four[k].end = ends[k];
  cored.buffers = four, cored.count = 4, cored.memories = alike, cored.memory_count = 2, cored.memory_of = cores;
  cored.same_offset = same;
  memplan_result found = memplan_plan(&cored, NULL, at);
  expect(found, MEMPLAN_OPTIMAL, MEMPLAN_FINE, MEMPLAN_NONE, __LINE__);
  faults |= found.peak != 160 || found.bound != 160 || at[0] != at[1] || memplan_check(&cored, at).peak != 160;
  at[1] += 256;
  expect(memplan_check(&cored, at), MEMPLAN_INVALID, MEMPLAN_OFFSETS_DIFFER, 1, __LINE__);
  at[1] -= 256;
  alike[0].capacity = 100; /* of the other core, 160 bytes are needed, and so of this one */
  found = memplan_plan(&cored, NULL, at);
  expect(found, MEMPLAN_INFEASIBLE, MEMPLAN_FINE, MEMPLAN_NONE, __LINE__);
  faults |= found.other != 0 || found.bound != 160;
  expect(memplan_check(&cored, at), MEMPLAN_INVALID, MEMPLAN_ABOVE_CAPACITY, at[3] > 0 ? 3 : 1, __LINE__);
  faults |= memplan_certify(&cored, NULL, -1, NULL, 0, NULL).status != MEMPLAN_UNKNOWN;
  alike[1].base = 64;
  expect(memplan_plan(&cored, NULL, at), MEMPLAN_INVALID, MEMPLAN_MEMORIES_DIFFER, 1, __LINE__);
  alike[1].base = 0, four[1].size = 65;
  expect(memplan_plan(&cored, NULL, at), MEMPLAN_INVALID, MEMPLAN_SAME_OFFSET_WRONG, 1, __LINE__);
  four[1].size = 64, same[0] = MEMPLAN_NONE;
  expect(memplan_plan(&cored, NULL, at), MEMPLAN_INVALID, MEMPLAN_SAME_OFFSET_WRONG, 1, __LINE__);
  cored.memory_count = 0, same[0] = 0; /* both alive together in one memory */
  found = memplan_plan(&cored, NULL, at);
  expect(found, MEMPLAN_INFEASIBLE, MEMPLAN_FINE, 0, __LINE__);
  faults |= found.other != 1;
  const memplan_join joined[1] = {{1, 0, 0}};
  cored.joins = joined, cored.join_count = 1;
  expect(memplan_plan(&cored, NULL, at), MEMPLAN_INVALID, MEMPLAN_JOIN_WRONG, 0, __LINE__);
}

/* The first of the times that are fullest, with what is alive then: of all, of a memory, and without a gap. */
static void test_fullest(void) {
  size_t alive[3] = {9, 9, 9};
  set_up();
  memplan_moment most = memplan_fullest(&problem, MEMPLAN_NONE, alive, 3);
  faults |= most.time != 10 || most.bytes != 16 || most.count != 2 || alive[0] != 0 || alive[1] != 1 || alive[2] != 9;
  rows[2].size = 9;
  most = memplan_fullest(&problem, 0, alive, 1);
  faults |= most.time != 20 || most.bytes != 17 || most.count != 2 || alive[0] != 1 || alive[1] != 1;
  ROWS(gap, gap, 1, 18, 22)
  problem.gaps = gaps, problem.gap_count = 1;
  faults |= memplan_fullest(&problem, 0, NULL, 0).time != 22;
  faults |= memplan_fullest(&problem, 0, NULL, 1).bytes != -1 || memplan_fullest(NULL, 0, alive, 3).bytes != -1;
  problem.only_pairs = 1;
  faults |= memplan_fullest(&problem, 0, alive, 3).bytes != -1;
  set_up_two();
  most = memplan_fullest(&problem, 1, alive, 3);
  faults |= most.time != 10 || most.bytes != 8 || most.count != 1 || alive[0] != 1;
  faults |= memplan_fullest(&problem, 2, alive, 3).bytes != -1;
  memory_of[0] = 2;
  faults |= memplan_fullest(&problem, 0, alive, 3).bytes != -1;
  set_up();
  problem.count = 0;
  faults |= memplan_fullest(&problem, 0, alive, 3).bytes != 0;
}

int main(void) {
  test_equal_use();
  test_fullest();
  set_up_two();
  memplan_result two = memplan_plan(&problem, NULL, offsets);
  expect(two, MEMPLAN_OPTIMAL, MEMPLAN_FINE, MEMPLAN_NONE, __LINE__);
  faults |= two.peak != 16 || two.bound != 16 || offsets[0] + offsets[1] + offsets[2] != 0;
  expect(memplan_check(&problem, offsets), MEMPLAN_FEASIBLE, MEMPLAN_FINE, MEMPLAN_NONE, __LINE__);
  memories[1].capacity = 7;
  two = memplan_plan(&problem, NULL, offsets);
  expect(two, MEMPLAN_INFEASIBLE, MEMPLAN_FINE, MEMPLAN_NONE, __LINE__);
  faults |= two.other != 1 || two.bound != 8;
  expect(memplan_check(&problem, offsets), MEMPLAN_INVALID, MEMPLAN_ABOVE_CAPACITY, 1, __LINE__);
  TWO(memories[1].base = 2, MEMPLAN_MISALIGNED, 1)
  TWO(rows[0].end = 25, MEMPLAN_OVERLAP, 0)
  TWO(problem.memories = NULL, MEMPLAN_NULL_POINTER, MEMPLAN_NONE)
  TWO(problem.memory_of = NULL, MEMPLAN_NULL_POINTER, MEMPLAN_NONE)
  TWO(memory_of[1] = 2, MEMPLAN_MEMORY_WRONG, 1)
  TWO(memories[1].capacity = -1, MEMPLAN_CAPACITY_NEGATIVE, 1)
  TWO(memories[1].capacity = 0, MEMPLAN_CAPACITY_ZERO, 1)
  TWO(ROWS(range, range, 8, 8) memories[1].reserved = ranges; memories[1].reserved_count = 1, MEMPLAN_RANGE_WRONG, 1)
  TWO(ROWS(range, range, 4, 6) memories[1].reserved = ranges; memories[1].reserved_count = 1, MEMPLAN_IN_RESERVED, 1)
  TWO(ROWS(join, join, 1, 0, 0) problem.joins = joins; problem.join_count = 1, MEMPLAN_JOIN_WRONG, 0)
  set_up_two(); /* what lies in two memories shares no byte */
  ROWS(pair, pair, 1, 0)
  problem.pairs = pairs, problem.pair_count = 1;
  expect(memplan_check(&problem, offsets), MEMPLAN_FEASIBLE, MEMPLAN_FINE, MEMPLAN_NONE, __LINE__);

  set_up();
  expect(memplan_plan(&problem, NULL, offsets), MEMPLAN_OPTIMAL, MEMPLAN_FINE, MEMPLAN_NONE, __LINE__);
  expect(memplan_check(&problem, offsets), MEMPLAN_FEASIBLE, MEMPLAN_FINE, MEMPLAN_NONE, __LINE__);
  expect(memplan_plan(NULL, NULL, offsets), MEMPLAN_INVALID, MEMPLAN_NULL_POINTER, MEMPLAN_NONE, __LINE__);
  expect(memplan_plan(&problem, NULL, NULL), MEMPLAN_INVALID, MEMPLAN_NULL_POINTER, MEMPLAN_NONE, __LINE__);
  problem.capacity = 15;
  expect(memplan_plan(&problem, NULL, offsets), MEMPLAN_INFEASIBLE, MEMPLAN_FINE, MEMPLAN_NONE, __LINE__);
  memplan_options options = {0};
  options.seconds = NAN;
  expect(memplan_plan(&problem, &options, offsets), MEMPLAN_INVALID, MEMPLAN_OPTION_WRONG, MEMPLAN_NONE, __LINE__);
  options.seconds = 0, options.work = -1;
  expect(memplan_plan(&problem, &options, offsets), MEMPLAN_INVALID, MEMPLAN_OPTION_WRONG, MEMPLAN_NONE, __LINE__);

#define BANKS(first, second) ROWS(pair, pair, first, second) problem.banks = pairs; problem.bank_count = 1; problem.bank = 16
  WRONG(BANKS(0, 1), MEMPLAN_IN_ONE_BANK, 0)
  expect(memplan_plan(&problem, NULL, offsets), MEMPLAN_FEASIBLE, MEMPLAN_FINE, MEMPLAN_NONE, __LINE__);
  expect(memplan_check(&problem, offsets), MEMPLAN_FEASIBLE, MEMPLAN_FINE, MEMPLAN_NONE, __LINE__);
  problem.base = 8, offsets[0] = 0, offsets[1] = 8; /* the address 16 is between them */
  expect(memplan_check(&problem, offsets), MEMPLAN_FEASIBLE, MEMPLAN_FINE, MEMPLAN_NONE, __LINE__);
  expect(memplan_plan(&problem, NULL, offsets), MEMPLAN_OPTIMAL, MEMPLAN_FINE, MEMPLAN_NONE, __LINE__);
  set_up_two(); /* of two memories, a bank is in one */
  BANKS(0, 1);
  memories[0].bank = memories[1].bank = 16;
  expect(memplan_check(&problem, offsets), MEMPLAN_FEASIBLE, MEMPLAN_FINE, MEMPLAN_NONE, __LINE__);
  BANKS(0, 2);
  expect(memplan_check(&problem, offsets), MEMPLAN_INVALID, MEMPLAN_IN_ONE_BANK, 0, __LINE__);
  memories[0].bank = 0;
  expect(memplan_check(&problem, offsets), MEMPLAN_FEASIBLE, MEMPLAN_FINE, MEMPLAN_NONE, __LINE__);
  TWO(memories[1].bank = -1, MEMPLAN_BANK_NEGATIVE, 1)
  REFUSED(problem.bank = -1, MEMPLAN_BANK_NEGATIVE, MEMPLAN_NONE)
  REFUSED(problem.bank_count = 1, MEMPLAN_NULL_POINTER, MEMPLAN_NONE)
  REFUSED(BANKS(1, 1), MEMPLAN_BANK_WRONG, 0)
  REFUSED(BANKS(1, 3), MEMPLAN_BANK_WRONG, 0)
  REFUSED(BANKS(0, 1); ROWS(join, join, 1, 0, 0) problem.joins = joins; problem.join_count = 1, MEMPLAN_BANKS_BESIDE, MEMPLAN_NONE)

#define SHARES(first, second) ROWS(pair, pair, first, second) problem.shares = pairs; problem.share_count = 1
  set_up(); /* input and output in place */
  SHARES(0, 1);
  rows[2].begin = 25;
  memplan_result shared = memplan_plan(&problem, NULL, offsets);
  faults |= shared.status != MEMPLAN_OPTIMAL || shared.peak != 8 || shared.bound != 8 || shared.moved != 0 || shared.least != 8;
  expect(memplan_check(&problem, offsets), MEMPLAN_FEASIBLE, MEMPLAN_FINE, MEMPLAN_NONE, __LINE__);
  faults |= memplan_certify(&problem, NULL, 8, NULL, 0, NULL).status != MEMPLAN_UNKNOWN;
  offsets[1] = 4; /* at one offset, and no other */
  expect(memplan_check(&problem, offsets), MEMPLAN_INVALID, MEMPLAN_OVERLAP, 0, __LINE__);
  rows[2].begin = 20, offsets[1] = offsets[2] = 0; /* the second and the third one are no pair */
  expect(memplan_check(&problem, offsets), MEMPLAN_INVALID, MEMPLAN_OVERLAP, 1, __LINE__);
  offsets[2] = 8, problem.pairs = pairs, problem.pair_count = 1; /* kept apart all the same */
  expect(memplan_check(&problem, offsets), MEMPLAN_INVALID, MEMPLAN_OVERLAP, 0, __LINE__);
  faults |= memplan_plan(&problem, NULL, offsets).peak != 16;
  REFUSED(problem.share_count = 1, MEMPLAN_NULL_POINTER, MEMPLAN_NONE)
  REFUSED(SHARES(1, 1), MEMPLAN_SHARE_WRONG, 0)
  REFUSED(SHARES(1, 3), MEMPLAN_SHARE_WRONG, 0)
  REFUSED(SHARES(1, 0); ROWS(join, join, 1, 0, 8) problem.joins = joins; problem.join_count = 1, MEMPLAN_SHARE_WRONG, 0)
  REFUSED(SHARES(1, 0); ROWS(price, price, 1, 2, 1) problem.prices = prices; problem.price_count = 1, MEMPLAN_SHARES_BESIDE, MEMPLAN_NONE)

#define PLACES(...) ROWS(place, place, __VA_ARGS__) problem.places = places; problem.place_count = 1
  set_up(); /* where the second one was */
  PLACES(1, 0, 0, 5);
  memplan_result kept = memplan_plan(&problem, NULL, offsets);
  faults |= kept.status != MEMPLAN_OPTIMAL || kept.moved != 0 || kept.least != 16 || offsets[1] != 0 || offsets[0] != 8;
  offsets[1] = 16, offsets[0] = 0, offsets[2] = 0;
  kept = memplan_check(&problem, offsets);
  faults |= kept.moved != 5 || kept.missed != 0;
  places[0].offset = 16; /* above the least peak, which no plan may exceed but by `accept` */
  kept = memplan_plan(&problem, NULL, offsets);
  faults |= kept.peak != 16 || kept.moved != 5 || kept.moved_bound != 5;
  memplan_options near = {0};
  near.accept = 0.5, near.work = 1000;
  kept = memplan_plan(&problem, &near, offsets);
  faults |= kept.status != MEMPLAN_FEASIBLE || kept.peak != 24 || kept.moved != 0 || kept.least != 16 || offsets[1] != 16;
  near.accept = NAN;
  expect(memplan_plan(&problem, &near, offsets), MEMPLAN_INVALID, MEMPLAN_OPTION_WRONG, MEMPLAN_NONE, __LINE__);
  places[0].weight = 0, places[0].offset = 0; /* a hint */
  kept = memplan_plan(&problem, NULL, offsets);
  faults |= kept.missed != 0 || offsets[1] != 0;
  offsets[1] = 8, offsets[0] = offsets[2] = 0;
  faults |= memplan_check(&problem, offsets).missed != 1;
  REFUSED(problem.place_count = 1, MEMPLAN_NULL_POINTER, MEMPLAN_NONE)
  REFUSED(PLACES(3, 0, 0, 1), MEMPLAN_PLACE_WRONG, 0)
  REFUSED(PLACES(1, 1, 0, 1), MEMPLAN_PLACE_WRONG, 0)
  REFUSED(PLACES(1, 0, -1, 1), MEMPLAN_PLACE_WRONG, 0)
  REFUSED(PLACES(1, 0, 0, -1), MEMPLAN_PLACE_WRONG, 0)
  REFUSED(PLACES(1, 0, 0, INT64_MAX), MEMPLAN_PLACES_TOO_LARGE, 0)
  REFUSED(PLACES(1, 0, 0, 1); ROWS(price, price, 1, 2, 1) problem.prices = prices; problem.price_count = 1, MEMPLAN_PLACES_BESIDE, MEMPLAN_NONE)

  REFUSED(problem.buffers = NULL, MEMPLAN_NULL_POINTER, MEMPLAN_NONE)
  REFUSED(problem.count = SIZE_MAX, MEMPLAN_TOO_MANY, MEMPLAN_NONE)
  REFUSED(problem.capacity = -1, MEMPLAN_CAPACITY_NEGATIVE, MEMPLAN_NONE)
  REFUSED(problem.base = -4, MEMPLAN_BASE_NEGATIVE, MEMPLAN_NONE)
  REFUSED(rows[1].size = -1, MEMPLAN_SIZE_NEGATIVE, 1)
  REFUSED(rows[2].end = rows[2].begin, MEMPLAN_LIFETIME_EMPTY, 2)
  REFUSED(rows[1].alignment = -2, MEMPLAN_ALIGNMENT_NEGATIVE, 1)
  REFUSED(rows[0].pin = -1, MEMPLAN_PIN_NEGATIVE, 0)
  REFUSED(rows[0].lowest = -1, MEMPLAN_LOWEST_NEGATIVE, 0)
  REFUSED(rows[0].limit = -1, MEMPLAN_LIMIT_NEGATIVE, 0)
  REFUSED(rows[0].no_cross = -1, MEMPLAN_NO_CROSS_NEGATIVE, 0)
  REFUSED(rows[2].size = INT64_C(1) << 60, MEMPLAN_TOO_LARGE, 2)
  REFUSED(problem.capacity = 0, MEMPLAN_CAPACITY_ZERO, 0)
  REFUSED(problem.base = INT64_MAX, MEMPLAN_BASE_TOO_LARGE, MEMPLAN_NONE)
  REFUSED(rows[1].pin = INT64_MAX, MEMPLAN_PIN_TOO_LARGE, 1)
  REFUSED(rows[1].lowest = INT64_MAX, MEMPLAN_LOWEST_TOO_LARGE, 1)
  REFUSED(ROWS(range, range, 8, INT64_MAX) problem.reserved = ranges; problem.reserved_count = 1, MEMPLAN_RANGE_WRONG, 0)
  REFUSED(ROWS(pair, pair, 1, 1) problem.pairs = pairs; problem.pair_count = 1, MEMPLAN_PAIR_WRONG, 0)
  REFUSED(ROWS(pair, pair, 0, 3) problem.pairs = pairs; problem.pair_count = 1, MEMPLAN_PAIR_WRONG, 0)
  REFUSED(ROWS(gap, gap, 0, 0, 5) problem.gaps = gaps; problem.gap_count = 1, MEMPLAN_GAP_WRONG, 0)
  REFUSED(ROWS(join, join, 1, 0, -8) problem.joins = joins; problem.join_count = 1, MEMPLAN_JOIN_WRONG, 0)
  REFUSED(ROWS(price, price, 1, 1, 3) problem.prices = prices; problem.price_count = 1, MEMPLAN_PRICE_WRONG, 0)
  REFUSED(ROWS(price, price, 1, 3, 3) problem.prices = prices; problem.price_count = 1, MEMPLAN_PRICE_WRONG, 0)
  REFUSED(ROWS(price, price, 1, 2, -1) problem.prices = prices; problem.price_count = 1, MEMPLAN_PRICE_WRONG, 0)
  REFUSED(problem.price_count = 1, MEMPLAN_NULL_POINTER, MEMPLAN_NONE)
  REFUSED(ROWS(range, range, 8, 8) problem.reserved = ranges; problem.reserved_count = 1, MEMPLAN_RANGE_WRONG, 0)

  WRONG(offsets[1] = -1, MEMPLAN_OFFSET_NEGATIVE, 1)
  WRONG(offsets[1] = 10, MEMPLAN_MISALIGNED, 1)
  WRONG(rows[1].pin = 16, MEMPLAN_OFF_PIN, 1)
  WRONG(rows[1].lowest = 12, MEMPLAN_OUT_OF_RANGE, 1)
  WRONG(rows[1].limit = 12, MEMPLAN_OUT_OF_RANGE, 1)
  WRONG(rows[1].no_cross = 12, MEMPLAN_CROSSING, 1)
  WRONG(problem.capacity = 12, MEMPLAN_ABOVE_CAPACITY, 1)
  WRONG(offsets[1] = 4, MEMPLAN_OVERLAP, 0)
  WRONG(ROWS(range, range, 12, 14) problem.reserved = ranges; problem.reserved_count = 1, MEMPLAN_IN_RESERVED, 1)
  WRONG(ROWS(join, join, 1, 0, 16) problem.joins = joins; problem.join_count = 1, MEMPLAN_OFF_DISTANCE, 1)
  WRONG(ROWS(pair, pair, 2, 0) problem.pairs = pairs; problem.pair_count = 1, MEMPLAN_OVERLAP, 2)

  set_up(); /* as where nobody has thought of pins */
  for (int k = 0; k < 3; ++k) rows[k].pin = 0;
  memplan_result pinned = memplan_plan(&problem, NULL, offsets);
  expect(pinned, MEMPLAN_INFEASIBLE, MEMPLAN_FINE, 0, __LINE__);
  faults |= pinned.other != 1;
  const memplan_buffer row = MEMPLAN_BUFFER_INIT;
  const memplan_problem none = MEMPLAN_PROBLEM_INIT;
  faults |= row.pin != MEMPLAN_FREE || none.capacity != MEMPLAN_UNLIMITED;

  set_up(); /* a pin that is off its alignment */
  rows[1].alignment = 16, rows[1].pin = 8;
  expect(memplan_plan(&problem, NULL, offsets), MEMPLAN_INFEASIBLE, MEMPLAN_FINE, 1, __LINE__);

  set_up(); /* a gap in which the second one lies */
  rows[1].begin = 3, rows[1].end = 7, offsets[1] = 0;
  ROWS(gap, gap, 0, 2, 8)
  problem.gaps = gaps, problem.gap_count = 1;
  expect(memplan_check(&problem, offsets), MEMPLAN_FEASIBLE, MEMPLAN_FINE, MEMPLAN_NONE, __LINE__);
  rows[1].end = 9;
  expect(memplan_check(&problem, offsets), MEMPLAN_INVALID, MEMPLAN_OVERLAP, 0, __LINE__);
  return faults;
}
