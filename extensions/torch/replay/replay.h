/* Planned addresses for torch on CUDA: an allocator that replays a plan, and gives all else from the driver.

   No header of CUDA is needed: libcuda.so.1, or the library that MEMPLAN_LIBCUDA names, is opened at the first call that
   needs it. All functions may be called from any thread. A stream is a cudaStream_t, NULL for the default one. */

#ifndef MEMPLAN_REPLAY_H
#define MEMPLAN_REPLAY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MEMPLAN_REPLAY_ABI 1

#ifdef __cplusplus
extern "C" {
#endif

/* Counts since the library was loaded; bytes are those of now unless said otherwise. The caller sets `bytes` to the size
   of its structure, so that later versions can add fields behind. */
struct memplan_stats {
  uint64_t bytes;
  uint64_t calls;       /* allocations of more than 0 bytes */
  uint64_t planned;     /* allocations at their planned offset */
  uint64_t kept;        /* planned to be outside of the arena, since they outlive the scope */
  uint64_t unmatched;   /* within a scope: size, device or stream are not those of the plan */
  uint64_t busy;        /* the planned bytes were still in use */
  uint64_t outside;     /* outside of all scopes */
  uint64_t waits;       /* events for which a stream was told to wait */
  uint64_t unknown;     /* frees of addresses that were not allocated here */
  uint64_t failures;    /* allocations that returned NULL */
  uint64_t runs;        /* scopes that were begun */
  uint64_t live;        /* bytes allocated */
  uint64_t arena;       /* bytes mapped for planned addresses */
  uint64_t reserved;    /* bytes from the driver, those of the arena among them */
  uint64_t most;        /* the most that was reserved */
  char message[256];    /* the first thing that went another way than planned, or the last error of a call; or empty */
};

/* One recorded allocation (size > 0) or its free (size 0); `number` is that of the allocation, from 0. */
struct memplan_event {
  uint64_t number, size;
  int64_t device;
  void *stream;
};

int memplan_abi(void);

/* The two functions of torch's CUDAPluggableAllocator, and that of its set_record_stream_fn. NULL: out of memory, which
   torch does not check; `failures` counts it. */
void *memplan_alloc(ssize_t size, int device, void *stream);
void memplan_free(void *address, size_t size, int device, void *stream);
void memplan_record_stream(void *address, void *stream);

/* All return 0, or -1 with a sentence in the statistics. */
int memplan_load(const char *file);  /* a plan in the place of another one; refused while planned bytes are in use */
int memplan_begin(const char *scope);
int memplan_record(void);  /* begins a scope without a plan, whose events are kept */
int memplan_end(void);
int memplan_release(void); /* gives free blocks, and an arena without blocks, back to the driver */
int memplan_stats(struct memplan_stats *stats);

/* Copies at most `most` events of the last recording, and returns how many there are. */
uint64_t memplan_recorded(struct memplan_event *events, uint64_t most);

#ifdef __cplusplus
}
#endif
#endif
