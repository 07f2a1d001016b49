/* SPDX-License-Identifier: Apache-2.0
 *
 * memplan: where in memories to put buffers whose lifetimes are known. C99 and C++.
 *
 *   memplan_buffer buffers[2] = {{.size = 401408, .begin = 0, .end = 3, .pin = MEMPLAN_FREE},
 *                                {.size = 200704, .begin = 2, .end = 5, .pin = MEMPLAN_FREE}};
 *   memplan_problem problem = {.buffers = buffers, .count = 2, .capacity = MEMPLAN_UNLIMITED};
 *   int64_t offsets[2];
 *   memplan_result result = memplan_plan(&problem, NULL, offsets);
 *
 * Zero is the default of every field but `pin` and `capacity`, which MEMPLAN_BUFFER_INIT and MEMPLAN_PROBLEM_INIT set:
 * a capacity of 0 is refused where a buffer has a size, and a forgotten pin is offset 0. Nothing is kept between calls, which any number of
 * threads may make at once; nothing is thrown, nothing ends the process. The same problem and options give the same
 * bytes on every machine, unless a clock or `cancel` ends the search.
 */
#ifndef MEMPLAN_H
#define MEMPLAN_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32) && defined(MEMPLAN_SHARED)
#define MEMPLAN_API __declspec(dllexport)
#elif defined(__GNUC__)
#define MEMPLAN_API __attribute__((visibility("default")))
#else
#define MEMPLAN_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define MEMPLAN_VERSION 1000000 /* 1.0.0: 1,000,000 for the first number, 1,000 for the second, 1 for the last */

#define MEMPLAN_FREE INT64_MIN
#define MEMPLAN_UNLIMITED INT64_MAX
#define MEMPLAN_NONE SIZE_MAX

/* Bytes, alive from `begin` up to, and without, `end`. */
typedef struct memplan_buffer {
  int64_t size;      /* 0 takes no place: its offset is 0, or its pin */
  int64_t begin;
  int64_t end;
  int64_t alignment; /* of the address; 0 and 1: any */
  int64_t pin;       /* the offset that it must have, or MEMPLAN_FREE */
  int64_t lowest;    /* no offset below it */
  int64_t limit;     /* no end above it; 0: none but the capacity */
  int64_t no_cross;  /* its bytes lie between two multiples of this address; 0: anywhere */
} memplan_buffer;

#define MEMPLAN_BUFFER_INIT {0, 0, 0, 0, MEMPLAN_FREE, 0, 0, 0}

/* A time in which a buffer is not alive, inside of its lifetime, from `begin` up to, and without, `end`. Rows ascend by
 * buffer, then by time, and those of one buffer do not touch. */
typedef struct memplan_gap {
  size_t buffer;
  int64_t begin;
  int64_t end;
} memplan_gap;

/* Two buffers that must not share a byte, whenever they are alive. */
typedef struct memplan_pair {
  size_t first;
  size_t second;
} memplan_pair;

/* `upper` lies `distance` bytes above `lower`, which is the upper one of no row: a group has one lowest buffer, and a
 * row for each of the others. Rows ascend by `upper`. */
typedef struct memplan_join {
  size_t upper;
  size_t lower;
  int64_t distance;
} memplan_join;

/* Two buffers that cost `price` where they share bytes, one after the other; of rows of the same two, the sum. */
typedef struct memplan_price {
  size_t first;
  size_t second;
  int64_t price;
} memplan_price;

/* Bytes that no buffer may use, from `begin` up to, and without, `end`. Rows ascend, and do not overlap. */
typedef struct memplan_range {
  int64_t begin;
  int64_t end;
} memplan_range;

/* One of several memories, whose offsets have nothing to do with those in others. */
typedef struct memplan_memory {
  int64_t capacity; /* bytes, or MEMPLAN_UNLIMITED */
  int64_t base;     /* the address of its offset 0 */
  const memplan_range *reserved;
  size_t reserved_count;
} memplan_memory;

typedef struct memplan_problem {
  const memplan_buffer *buffers;
  size_t count;
  int64_t capacity; /* bytes, or MEMPLAN_UNLIMITED */
  int64_t base;     /* the address of offset 0 */
  int only_pairs;   /* not 0: lifetimes are not read, `pairs` alone say what conflicts */
  const memplan_pair *pairs;
  size_t pair_count;
  const memplan_gap *gaps;
  size_t gap_count;
  const memplan_join *joins;
  size_t join_count;
  const memplan_range *reserved;
  size_t reserved_count;
  const memplan_memory *memories; /* where there are some, `capacity`, `base` and `reserved` are not read */
  size_t memory_count;
  const size_t *memory_of; /* the memory of each buffer, which memory_choice.h chooses; all of a group are in one */
  const memplan_price *prices; /* where there are some, the least cost within the capacity is searched for, whatever the
                                  peak; not with several memories, joins, no_cross or same_offset; above 2,000
                                  buffers, or 256 reserved ranges, it is counted, and not searched for */
  size_t price_count;
  const size_t *same_offset; /* where it is not NULL, memories are of equal use: each counts as used as far as the one
                                that is used most, and peak and bound are those of one. They differ in capacity alone.
                                Of each buffer, the first one of those that have its offset, which are equal in all but
                                lifetime and memory, and in no join; MEMPLAN_NONE where no other has */
} memplan_problem;

#define MEMPLAN_PROBLEM_INIT \
  {NULL, 0, MEMPLAN_UNLIMITED, 0, 0, NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL, NULL, 0, NULL}

typedef enum memplan_status {
  MEMPLAN_OPTIMAL,       /* offsets given, and no plan has a lower peak; with prices, a lower cost */
  MEMPLAN_FEASIBLE,      /* offsets given */
  MEMPLAN_INFEASIBLE,    /* proved: nothing fits; `bound` bytes are needed at least, where that is the reason, in the
                            memory `other` where several are listed; and where two pins are at odds, or two buffers of
                            one offset conflict, those of `buffer` and `other` */
  MEMPLAN_UNKNOWN,       /* no plan was found in the work, and none is ruled out */
  MEMPLAN_INVALID,       /* `buffer` breaks `rule`; nothing was searched */
  MEMPLAN_OUT_OF_MEMORY  /* the allocator gave nothing */
} memplan_status;

/* The rule that a problem breaks, or an offset. Where it is not about a buffer, `buffer` is the row of the pair, gap,
 * join, price or range, or, of several memories, of the memory; or MEMPLAN_NONE. */
typedef enum memplan_rule {
  MEMPLAN_FINE,
  MEMPLAN_NULL_POINTER,       /* a pointer is NULL where the count is not 0 */
  MEMPLAN_TOO_MANY,           /* more than 2^31 - 1 buffers, or 2^40 rows */
  MEMPLAN_TOO_LARGE,          /* sizes, alignments, no_cross, distances, prices and the highest place add up to 2^60 */
  MEMPLAN_CAPACITY_NEGATIVE,
  MEMPLAN_BASE_NEGATIVE,
  MEMPLAN_SIZE_NEGATIVE,
  MEMPLAN_LIFETIME_EMPTY,     /* it ends before or when it begins */
  MEMPLAN_ALIGNMENT_NEGATIVE,
  MEMPLAN_PIN_NEGATIVE,
  MEMPLAN_LOWEST_NEGATIVE,
  MEMPLAN_LIMIT_NEGATIVE,
  MEMPLAN_NO_CROSS_NEGATIVE,
  MEMPLAN_MEMORY_WRONG,       /* of a buffer: one that is not there */
  MEMPLAN_PAIR_WRONG,         /* a buffer with itself, or one that is not there */
  MEMPLAN_GAP_WRONG,          /* empty, not inside a lifetime, or out of order */
  MEMPLAN_JOIN_WRONG,         /* a distance below 0, a buffer of size 0, not there or with the offset of others, two
                                 memories, or out of order */
  MEMPLAN_RANGE_WRONG,        /* empty, below 0 or above 2^60, or out of order */
  MEMPLAN_PRICE_WRONG,        /* of a buffer with itself, or one that is not there, or below 0 */
  MEMPLAN_PRICES_TOO_LARGE,   /* they add up to 2^33 of their largest common divisor, or more */
  MEMPLAN_PRICES_BESIDE,      /* several memories, joins, no_cross or same_offset: such problems are checked, and not searched */
  MEMPLAN_OPTION_WRONG,       /* work below 0, seconds below 0 or not a number, half an allocator */
  MEMPLAN_OFFSET_NEGATIVE,    /* from here on: of offsets, by memplan_check */
  MEMPLAN_MISALIGNED,
  MEMPLAN_OFF_PIN,
  MEMPLAN_OUT_OF_RANGE,       /* below `lowest` or above `limit` */
  MEMPLAN_CROSSING,           /* a multiple of `no_cross` */
  MEMPLAN_ABOVE_CAPACITY,
  MEMPLAN_IN_RESERVED,        /* `other` is the row of the range */
  MEMPLAN_OFF_DISTANCE,       /* of the group; `other` is the lower one */
  MEMPLAN_OVERLAP,            /* of `buffer` and `other` */
  MEMPLAN_CAPACITY_ZERO,      /* of problems again: that of the buffer's memory; see MEMPLAN_PROBLEM_INIT */
  MEMPLAN_BASE_TOO_LARGE,     /* above 2^60, as the next two */
  MEMPLAN_PIN_TOO_LARGE,
  MEMPLAN_LOWEST_TOO_LARGE,
  MEMPLAN_SAME_OFFSET_WRONG,  /* not the first one, which names itself, or not equal to it, or in a join */
  MEMPLAN_MEMORIES_DIFFER,    /* in more than capacity, where they are of equal use */
  MEMPLAN_OFFSETS_DIFFER      /* of offsets again: of `buffer` and `other`, the first one */
} memplan_rule;

/* What proves the bound. */
typedef enum memplan_proof {
  MEMPLAN_PROOF_NONE,
  MEMPLAN_PROOF_LIVE_SET,  /* what is alive at one time, rounded up by alignments or not; or the largest buffer */
  MEMPLAN_PROOF_SEARCH     /* an exhausted search */
} memplan_proof;

typedef struct memplan_options {
  int64_t work;                 /* nodes of the exact search; 0: quick orders alone. Where none of these keeps the
                                   capacity, two are searched by turns, for so many each: with it and without */
  double seconds;               /* no longer than this; 0: no clock is read */
  uint64_t seed;
  int (*cancel)(void *context); /* not 0 ends the search with the best plan so far; called from the calling thread */
  void *context;
  void *(*allocate)(void *arena, size_t bytes); /* aligned as malloc does; both NULL: malloc and free */
  void (*release)(void *arena, void *block, size_t bytes);
  void *arena;
} memplan_options;

typedef struct memplan_result {
  memplan_status status;
  memplan_rule rule;
  memplan_proof proof;
  int32_t ran_out; /* not 0: the allocator refused, and with more memory the plan may be another one */
  size_t buffer;
  size_t other;
  int64_t peak;    /* the largest end, of several memories their sum; -1 without a plan */
  int64_t bound;   /* no plan has a lower peak */
  int64_t cost;    /* what pairs cost that share bytes at a price; -1 without a plan */
  int64_t cost_bound; /* no plan costs less */
  int64_t nodes;   /* of the exact search; with prices, the work of their search, too */
  int32_t orders;  /* quick orders tried */
  int32_t order;   /* the one that gave the plan, -1 where the search did or there is none */
  size_t memory;   /* the most bytes that were taken from the allocator at once */
} memplan_result;

/* A time, the bytes alive then, and the number of buffers that these are. */
typedef struct memplan_moment {
  int64_t time;
  int64_t bytes;
  size_t count;
} memplan_moment;

/* Plan a problem. `offsets` has room for `count` numbers, which are written where the status is OPTIMAL or FEASIBLE.
 * Without options: quick orders, then a search of 100,000 nodes. */
MEMPLAN_API memplan_result memplan_plan(const memplan_problem *problem, const memplan_options *options,
                                        int64_t *offsets);

/* FEASIBLE with the peak, or INVALID with the first rule that the problem or the offsets break. Takes no memory and
 * shares nothing with the search; O(n^2 + rows). */
MEMPLAN_API memplan_result memplan_check(const memplan_problem *problem, const int64_t *offsets);

/* The first time at which most bytes are alive in a memory (`memory` is not read where none are listed), and the first
 * `room` of the buffers that are alive then, in order, in `buffers`. Where these bytes are more than the capacity, they
 * are why nothing fits; where less, no time alone is. `bytes` is -1 for a problem that breaks a rule, that has no such
 * memory, or whose lifetimes are not read. Takes no memory; O((n + gaps)^2). */
MEMPLAN_API memplan_moment memplan_fullest(const memplan_problem *problem, size_t memory, size_t *buffers, size_t room);

/* Write a certificate that no plan has a lower peak, or, for a peak of -1, that nothing fits: `memplan-lemmas/1`, which
 * programs without memplan check against the problem. OPTIMAL or INFEASIBLE with `length` characters, of which as many
 * are written as `room` has beside a '\0'; UNKNOWN where no proof was found in `work` nodes of a search of its own, or
 * where `lowest` and `limit` decide, which certificates do not say, or memories are listed, each of which is certified by
 * itself, or offsets are the same. Members of a group count as if they could overlap, and `pairs` say where they must not. */
MEMPLAN_API memplan_result memplan_certify(const memplan_problem *problem, const memplan_options *options, int64_t peak,
                                           char *text, size_t room, size_t *length);

/* The version, such as "1.0.0". */
MEMPLAN_API const char *memplan_version(void);

/* What a status or a rule says, in English. */
MEMPLAN_API const char *memplan_status_text(memplan_status status);
MEMPLAN_API const char *memplan_rule_text(memplan_rule rule);

#ifdef __cplusplus
}
#endif
#endif
