/* SPDX-License-Identifier: Apache-2.0
 *
 * memplan: offsets for buffers whose lifetimes are known, in one memory or several. For C99 and C++.
 *
 *   memplan_buffer buffers[2] = {{.size = 401408, .begin = 0, .end = 3, .pin = MEMPLAN_FREE},
 *                                {.size = 200704, .begin = 2, .end = 5, .pin = MEMPLAN_FREE}};
 *   memplan_problem problem = {.buffers = buffers, .count = 2, .capacity = MEMPLAN_UNLIMITED};
 *   int64_t offsets[2];
 *   memplan_result result = memplan_plan(&problem, NULL, offsets);
 *
 * The default of every field is zero, except for `pin` and `capacity`: begin with MEMPLAN_BUFFER_INIT and
 * MEMPLAN_PROBLEM_INIT, which set them. A buffer of zeros is pinned to offset 0, and a capacity of 0 is refused if a
 * buffer has a size. Calls share no state, so threads may call at the same time. No call throws an exception or ends
 * the process. The same problem and options give the same offsets on every machine, unless `seconds` or `cancel` ends
 * the search.
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

/* A buffer is alive from time `begin` on and no longer at time `end`. */
typedef struct memplan_buffer {
  int64_t size;      /* a buffer of size 0 takes no bytes: its offset is its pin, or 0 */
  int64_t begin;
  int64_t end;
  int64_t alignment; /* the address is a multiple of it; 0 and 1 allow any address */
  int64_t pin;       /* the offset that it must have, or MEMPLAN_FREE */
  int64_t lowest;    /* the least offset that it may have */
  int64_t limit;     /* the highest end that it may have in its memory, like `end_at_most` of problems in JSON; 0: the
                        capacity alone limits it */
  int64_t no_cross;  /* no multiple of this address may lie inside the buffer; 0: it may cross any address */
} memplan_buffer;

#define MEMPLAN_BUFFER_INIT {0, 0, 0, 0, MEMPLAN_FREE, 0, 0, 0}

/* A gap in the lifetime of a buffer: it is not alive from time `begin` on, and alive again at time `end`. Sort the rows
 * by buffer, then by time. Two gaps of one buffer must not touch. */
typedef struct memplan_gap {
  size_t buffer;
  int64_t begin;
  int64_t end;
} memplan_gap;

/* Two buffers that must not share a byte, even if their lifetimes do not overlap. */
typedef struct memplan_pair {
  size_t first;
  size_t second;
} memplan_pair;

/* The offset of `upper` is that of `lower` plus `distance`. In a group of such buffers, all rows name the lowest buffer
 * as `lower`, which is the `upper` of no row. Sort the rows by `upper`. */
typedef struct memplan_join {
  size_t upper;
  size_t lower;
  int64_t distance;
} memplan_join;

/* A plan costs `price` more if the two buffers share bytes at different times. Prices of several rows add up. */
typedef struct memplan_price {
  size_t first;
  size_t second;
  int64_t price;
} memplan_price;

/* Bytes that no buffer may use: from offset `begin` on, and before offset `end`. Rows ascend and do not overlap. */
typedef struct memplan_range {
  int64_t begin;
  int64_t end;
} memplan_range;

/* One of several memories. Offsets in one memory are independent of those in the others. */
typedef struct memplan_memory {
  int64_t capacity; /* bytes, or MEMPLAN_UNLIMITED */
  int64_t base;     /* the address of its offset 0 */
  const memplan_range *reserved;
  size_t reserved_count;
  int64_t bank; /* a bank begins at each address that is a multiple of it; 0: there are none */
} memplan_memory;

/* A memory that a buffer may be in, and what it costs there. Rows ascend by buffer, then by memory. A buffer without a
 * row may be in no memory; without any rows, each may be in all, at no cost. */
typedef struct memplan_home {
  size_t buffer;
  size_t memory;
  int64_t cost;
} memplan_home;

/* Where a buffer was in an older plan, or a hint. A plan keeps as many of these places as it can, by `weight`, which is
 * what a buffer that lies elsewhere counts: 1 counts buffers, and the size counts bytes. A place of weight 0 is a hint,
 * which is taken where no buffer leaves a place with a weight for it. Rows ascend by buffer. A buffer of size 0 counts as
 * if it lay there. */
typedef struct memplan_place {
  size_t buffer;
  size_t memory; /* 0 if no memories are listed */
  int64_t offset;
  int64_t weight;
} memplan_place;

typedef struct memplan_problem {
  const memplan_buffer *buffers;
  size_t count;
  int64_t capacity; /* bytes, or MEMPLAN_UNLIMITED */
  int64_t base;     /* the address of offset 0 */
  int only_pairs;   /* not 0: lifetimes are ignored, and only `pairs` say which buffers conflict */
  const memplan_pair *pairs;
  size_t pair_count;
  const memplan_gap *gaps;
  size_t gap_count;
  const memplan_join *joins;
  size_t join_count;
  const memplan_range *reserved;
  size_t reserved_count;
  const memplan_memory *memories; /* if given, they replace `capacity`, `base`, `reserved` and `bank` */
  size_t memory_count;
  const size_t *memory_of; /* the memory of each buffer, as by memplan_choose; joined buffers are in one memory */
  const memplan_price *prices; /* if given, the search looks for the least cost within the capacity. Not with several
                                  memories, joins, no_cross or same_offset. Above 2,000 buffers or 256
                                  reserved ranges, the cost is reported, but the search does not lower it */
  size_t price_count;
  const size_t *same_offset; /* for memories of equal use, which may differ only in capacity. Peak and bound are of the
                                fullest memory. Names, for each buffer, the first of the buffers that have its
                                offset, or MEMPLAN_NONE if no other buffer has it. Buffers of one offset are in no join
                                and differ only in lifetime and memory */
  int64_t bank; /* like that of a memory */
  const memplan_pair *banks; /* two buffers that must not touch a common bank, whenever they are alive. Not with joins,
                                prices or same_offset. Only orders are tried for such plans, and bounds ignore the rule */
  size_t bank_count;
  const memplan_pair *shares; /* two buffers that may have one offset although both are alive, such as input and output of
                                 an operation in place. `pairs` and `banks` keep them apart all the same. Not with prices
                                 or same_offset, nor of one group of joins. Such plans are found by orders, and seldom
                                 proved to be the best */
  size_t share_count;
  const memplan_place *places; /* see memplan_options.accept. Not with prices or same_offset */
  size_t place_count;
} memplan_problem;

#define MEMPLAN_PROBLEM_INIT \
  {NULL, 0, MEMPLAN_UNLIMITED, 0, 0, NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL, NULL, 0, NULL, 0, NULL, 0, \
   NULL, 0, NULL, 0}

typedef enum memplan_status {
  MEMPLAN_OPTIMAL,       /* offsets are written, and no plan has a lower peak, or a lower cost if there are prices */
  MEMPLAN_FEASIBLE,      /* offsets are written */
  MEMPLAN_INFEASIBLE,    /* proved: nothing fits. Either `bound` bytes or more are needed (in memory `other`, if several
                            are listed), or `buffer` and `other` contradict each other: by their pins, or because they
                            conflict and must have one offset. If both are one row, its pin is not aligned */
  MEMPLAN_UNKNOWN,       /* the search ended without a plan, and without a proof that there is none */
  MEMPLAN_INVALID,       /* row `buffer` breaks `rule`; nothing was searched */
  MEMPLAN_OUT_OF_MEMORY  /* the allocator returned NULL */
} memplan_status;

/* The rule that the problem, or an offset, breaks. `buffer` of the result is the row that breaks it: of the buffers,
 * pairs, gaps, joins, prices, ranges or memories; MEMPLAN_NONE if no row does. */
typedef enum memplan_rule {
  MEMPLAN_FINE,
  MEMPLAN_NULL_POINTER,       /* a pointer is NULL and its count is not 0 */
  MEMPLAN_TOO_MANY,           /* more than 2^31 - 1 buffers, or 2^40 rows */
  MEMPLAN_TOO_LARGE,          /* sizes, alignments, no_cross, distances, prices and the highest place add up to 2^60 */
  MEMPLAN_CAPACITY_NEGATIVE,
  MEMPLAN_BASE_NEGATIVE,
  MEMPLAN_SIZE_NEGATIVE,
  MEMPLAN_LIFETIME_EMPTY,     /* `end` is at or before `begin` */
  MEMPLAN_ALIGNMENT_NEGATIVE,
  MEMPLAN_PIN_NEGATIVE,
  MEMPLAN_LOWEST_NEGATIVE,
  MEMPLAN_LIMIT_NEGATIVE,
  MEMPLAN_NO_CROSS_NEGATIVE,
  MEMPLAN_MEMORY_WRONG,       /* `memory_of` names a memory that does not exist */
  MEMPLAN_PAIR_WRONG,         /* a buffer and itself, or a buffer that does not exist */
  MEMPLAN_GAP_WRONG,          /* empty, outside of the lifetime, or not in order */
  MEMPLAN_JOIN_WRONG,         /* a negative distance; a buffer that has size 0, does not exist or shares the offset
                                 of others; buffers of two memories; or rows out of order */
  MEMPLAN_RANGE_WRONG,        /* empty, below 0, above 2^60, or not in order */
  MEMPLAN_PRICE_WRONG,        /* a buffer and itself, a buffer that does not exist, or a price below 0 */
  MEMPLAN_PRICES_TOO_LARGE,   /* they add up to 2^33 times their greatest common divisor, or more */
  MEMPLAN_PRICES_BESIDE,      /* with several memories, joins, no_cross or same_offset; memplan_check takes those */
  MEMPLAN_OPTION_WRONG,       /* negative work; negative seconds or accept, or NaN; one function of an allocator */
  MEMPLAN_OFFSET_NEGATIVE,    /* from here on, rules of memplan_check about offsets */
  MEMPLAN_MISALIGNED,
  MEMPLAN_OFF_PIN,
  MEMPLAN_OUT_OF_RANGE,       /* below `lowest` or above `limit` */
  MEMPLAN_CROSSING,           /* of a multiple of `no_cross` */
  MEMPLAN_ABOVE_CAPACITY,
  MEMPLAN_IN_RESERVED,        /* `other` is the row of the range */
  MEMPLAN_OFF_DISTANCE,       /* not `distance` above `other`, the lower buffer of its join */
  MEMPLAN_OVERLAP,            /* `buffer` and `other` share bytes */
  MEMPLAN_CAPACITY_ZERO,      /* of the buffer's memory (a rule of problems); MEMPLAN_PROBLEM_INIT sets it */
  MEMPLAN_BASE_TOO_LARGE,     /* above 2^60, like the next two */
  MEMPLAN_PIN_TOO_LARGE,
  MEMPLAN_LOWEST_TOO_LARGE,
  MEMPLAN_SAME_OFFSET_WRONG,  /* not the first buffer of its offset, which names itself; or unequal, or joined */
  MEMPLAN_MEMORIES_DIFFER,    /* memories of equal use differ in more than their capacity */
  MEMPLAN_OFFSETS_DIFFER,     /* `buffer` does not have the offset of `other` (a rule of offsets) */
  MEMPLAN_BANK_NEGATIVE,      /* of a memory, or of the problem (a rule of problems, like the next two) */
  MEMPLAN_BANK_WRONG,         /* a pair of banks of one buffer, or of one that does not exist */
  MEMPLAN_BANKS_BESIDE,       /* banks with joins, prices or same_offset */
  MEMPLAN_IN_ONE_BANK,        /* `buffer` and `other` touch a common bank (a rule of offsets) */
  MEMPLAN_HOME_WRONG,         /* a buffer or a memory that does not exist, a negative cost, or out of order */
  MEMPLAN_HOMES_TOO_LARGE,    /* the costs of homes add up to more than 2^58 */
  MEMPLAN_CHOICE_BESIDE,      /* a choice without memories, or with prices or same_offset */
  MEMPLAN_SHARE_WRONG,        /* a pair of shares of one buffer, of one that does not exist, or of one group of joins */
  MEMPLAN_SHARES_BESIDE,      /* shares with prices or same_offset */
  MEMPLAN_PLACE_WRONG,        /* a buffer or a memory that does not exist, an offset or a weight below 0, out of order */
  MEMPLAN_PLACES_BESIDE,      /* places with prices or same_offset */
  MEMPLAN_PLACES_TOO_LARGE    /* the weights of places add up to more than 2^58 */
} memplan_rule;

/* The proof of the bound. */
typedef enum memplan_proof {
  MEMPLAN_PROOF_NONE,
  MEMPLAN_PROOF_LIVE_SET,  /* the bytes alive at one time, with alignments; or the largest buffer */
  MEMPLAN_PROOF_SEARCH     /* a search that tried everything else */
} memplan_proof;

typedef struct memplan_options {
  int64_t work;                 /* nodes of the exact search; 0: only quick orders are tried. If none of them fits into
                                   the capacity, two searches take turns, one with the capacity and one without, and
                                   each has this many nodes */
  double seconds;               /* time limit; 0: none, and no clock is read */
  uint64_t seed;
  int (*cancel)(void *context); /* called from the calling thread; not 0 ends the search with its best plan */
  void *context;
  void *(*allocate)(void *arena, size_t bytes); /* aligned like malloc; both NULL: malloc and free */
  void (*release)(void *arena, void *block, size_t bytes);
  void *arena;
  double accept;                /* where `places` are given: the part, such as 0.02, by which the end of each memory, or the
                                   cost of memplan_choose, may exceed that of the best plan without places, so that more
                                   buffers stay. INFINITY: whatever fits. That plan has half of the seconds */
} memplan_options;

typedef struct memplan_result {
  memplan_status status;
  memplan_rule rule;
  memplan_proof proof;
  int32_t ran_out; /* not 0: the allocator returned NULL; with more memory the plan may differ */
  size_t buffer;
  size_t other;
  int64_t peak;    /* the largest end, summed over several memories; -1 without a plan */
  int64_t bound;   /* no plan has a lower peak */
  int64_t cost;    /* the sum of the prices that are paid; -1 without a plan */
  int64_t cost_bound; /* no plan has a lower cost */
  int64_t nodes;   /* of the exact search, and of the search for the least cost */
  int32_t orders;  /* the number of quick orders that were tried */
  int32_t order;   /* the quick order of the plan; -1 if the search found it or there is none */
  size_t memory;   /* the most bytes that were allocated at one time */
  int64_t moved;   /* the weights of the buffers that are not at their `places`; -1 without a plan */
  int64_t moved_bound; /* no plan within `accept` moves less */
  int64_t missed;  /* the hints that are not met */
  int64_t least;   /* the peak, or the cost of memplan_choose, of the best plan without places */
} memplan_result;

/* A time, and the bytes and the number of buffers that are alive then. */
typedef struct memplan_moment {
  int64_t time;
  int64_t bytes;
  size_t count;
} memplan_moment;

/* Plan a problem. `offsets` must have room for `count` numbers; if the status is OPTIMAL or FEASIBLE, a plan is written
 * that memplan_check accepts: each plan passes that check before it is returned, and one that does not is dropped. If
 * `options` is NULL, quick orders are tried, and then a search of 100,000 nodes. If no buffer has a `limit`, nor its memory
 * a capacity, there is a plan however soon `seconds` or `cancel` ends the call, unless rules contradict each other. */
MEMPLAN_API memplan_result memplan_plan(const memplan_problem *problem, const memplan_options *options,
                                        int64_t *offsets);

/* Check offsets from any source. Returns FEASIBLE with the peak, or INVALID with the first rule that the problem or the
 * offsets break. `moved` and `missed` are counted. Allocates nothing, and shares no code with the search. Takes O(n^2 +
 * rows), and O(rows of shares) for each pair that shares an offset; memplan_plan and memplan_choose check their plans by
 * the same rules in O(n log n) with memory of their allocator. */
MEMPLAN_API memplan_result memplan_check(const memplan_problem *problem, const int64_t *offsets);

/* Find the first time at which most bytes are alive in a memory (`memory` is ignored if none are listed), and write the
 * first `room` of the buffers that are alive then to `buffers`. If these bytes exceed the capacity, nothing can fit; if
 * not, no single time is the reason. `bytes` is -1 if the problem breaks a rule, has no such memory or `only_pairs`. Of
 * `shares`, both buffers count.
 * Allocates nothing. Takes O((n + gaps)^2). */
MEMPLAN_API memplan_moment memplan_fullest(const memplan_problem *problem, size_t memory, size_t *buffers, size_t room);

/* Choose a memory for each buffer, and plan it, such that everything fits and the costs of the homes add up to little.
 * `memory_of` and `offsets` have room for `count` numbers, which are written if the status is OPTIMAL or FEASIBLE; as by
 * memplan_plan, each plan passes memplan_check before it is returned. The problem lists `memories`, and its own
 * `memory_of` is ignored. `work` is that of each plan that is tried at first (100,000 nodes without options); later ones
 * may take sixteen times as much, and all of them about sixty times. OPTIMAL means that no choice costs less than `cost`; otherwise none costs less than
 * `cost_bound`. The peak is that of all memories together. INFEASIBLE is proved. If it has a `buffer`,
 * either that is larger than each free piece of its memories, or `bound` bytes are alive at one time of buffers which may
 * be only in these memories, and they hold less; or `other` is joined with it, and no memory with room for them may have
 * all that are joined. Joined buffers go into one memory at the sum of their costs. If a home breaks a rule, `buffer` is
 * its row. Where each buffer may be in a memory that is MEMPLAN_UNLIMITED, there is a plan however short the time is.
 * `bound` counts the bytes that `shares` let two buffers share once; memplan_crowded counts those of both. */
MEMPLAN_API memplan_result memplan_choose(const memplan_problem *problem, const memplan_home *homes, size_t home_count,
                                          const memplan_options *options, size_t *memory_of, int64_t *offsets);

/* Like memplan_fullest, but of the buffers that may be only in memories in which `buffer` may be. `bytes` is -1 also if a
 * home breaks a rule, or if there is no such buffer. */
MEMPLAN_API memplan_moment memplan_crowded(const memplan_problem *problem, const memplan_home *homes, size_t home_count,
                                           size_t buffer, size_t *buffers, size_t room);

/* Write a certificate that no plan has a lower peak than `peak`, or, for a peak of -1, that nothing fits. Its format is
 * `memplan-lemmas/1`, which programs without memplan check against the problem. The status is OPTIMAL or INFEASIBLE
 * with a certificate of `length` characters, of which at most `room` - 1 and a '\0' are written. It is UNKNOWN if a
 * search of `work` nodes finds no proof, or if the proof would need `lowest` or `limit`, several memories (certify each
 * by itself), `same_offset` or `shares`. `banks` are ignored. Joined buffers count as if they could overlap, unless `pairs` forbid
 * it. */
MEMPLAN_API memplan_result memplan_certify(const memplan_problem *problem, const memplan_options *options, int64_t peak,
                                           char *text, size_t room, size_t *length);

/* Return the version, such as "1.0.0". */
MEMPLAN_API const char *memplan_version(void);

/* Return the text of a status or a rule in English. */
MEMPLAN_API const char *memplan_status_text(memplan_status status);
MEMPLAN_API const char *memplan_rule_text(memplan_rule rule);

#ifdef __cplusplus
}
#endif
#endif
