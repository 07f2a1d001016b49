/* SPDX-License-Identifier: Apache-2.0
 *
 * Which memory each buffer is in, beside memplan.h: the least cost found at which all fits, a bound below which
 * none does, and why nothing fits. C99 and C++. memory_choice.cpp is compiled like memplan.cpp, and linked beside it.
 */
#ifndef MEMPLAN_MEMORY_CHOICE_H
#define MEMPLAN_MEMORY_CHOICE_H

#include "memplan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A memory that a buffer may be in, and what it costs there. Rows ascend by buffer, then by memory. A buffer without a
 * row may be in no memory; without any rows, each may be in all, at no cost. */
typedef struct memplan_home {
  size_t buffer;
  size_t memory;
  int64_t cost;
} memplan_home;

/* A time, and the bytes alive then of `count` buffers, none of which may be in a memory where `widest` may not be; with
 * what these memories hold. */
typedef struct memplan_crowd {
  int64_t time;
  int64_t bytes;
  int64_t capacity;
  size_t count;
  size_t widest;
} memplan_crowd;

typedef struct memplan_choice {
  memplan_status status; /* OPTIMAL where `cost` is `cost_bound`, INFEASIBLE where it is proved that nothing fits */
  const char *reason;    /* one sentence in English: what is wrong, or why there is no plan; empty where there is one */
  size_t row;            /* the buffer, memory or home that the reason is about, or MEMPLAN_NONE */
  memplan_crowd crowd;   /* where bytes are most above, or least below, what their memories hold */
  int64_t cost;          /* -1 without a plan */
  int64_t cost_bound;    /* no choice costs less */
  int64_t peak;          /* of all memories together; -1 without a plan */
  int64_t nodes;         /* of the exact search, in all plans that were tried */
} memplan_choice;

/* Choose a memory for each buffer, and plan it. `memory_of` and `offsets` have room for as many numbers as there are
 * buffers, and are written where the status is OPTIMAL or FEASIBLE; memplan_check accepts both. The problem lists
 * `memories`; its own `memory_of` is not read, and it has no prices, joins or same_offset. `work` is that of each plan
 * that is tried; seconds, which are for all of them, and `cancel` end the search with the status UNKNOWN, or with a plan
 * whose cost may be higher. Memory is taken from malloc. The same problem and work give the same bytes. */
memplan_choice memplan_choose(const memplan_problem *problem, const memplan_home *homes, size_t home_count,
                              const memplan_options *options, size_t *memory_of, int64_t *offsets);

/* The buffers of a crowd, in order, of which the first `room` are written to `buffers`. Returns their number. */
size_t memplan_crowded(const memplan_problem *problem, const memplan_home *homes, size_t home_count, memplan_crowd crowd,
                       size_t *buffers, size_t room);

#ifdef __cplusplus
}
#endif
#endif
