/* A libcuda on host pages: what is unmapped or freed is poisoned and then not accessible. Streams and events are vector
   clocks: stream n is the pointer n * 16, and `fake_before` says whether a point of one stream is before the next work of
   another. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define STREAMS 64
typedef unsigned long long address;
struct event { uint64_t clock[STREAMS]; };
static uint64_t clocks[STREAMS][STREAMS];
static uint64_t bytes, most, capacity = UINT64_MAX, next_handle = 1, sizes[1 << 16];
static int broken_events, contexts, calls;
static struct { address at; size_t size; } blocks[1 << 16];
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

#define LOCKED(...) pthread_mutex_lock(&gate); __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED); int failed = 0; __VA_ARGS__ \
  pthread_mutex_unlock(&gate); return failed

static int taken(size_t size) {
  if (bytes + size > capacity) return 0;
  bytes += size;
  if (bytes > most) most = bytes;
  return 1;
}

static void gone(address at, size_t size) {
  memset((void *)(uintptr_t)at, 0xDD, size);
  munmap((void *)(uintptr_t)at, size);
}

static size_t whole(size_t size) { return (size + 4095) / 4096 * 4096; }

int cuInit(unsigned flags) { return flags != 0; }
int cuDeviceGet(int *to, int device) { return *to = device, device > 1; }
int cuDevicePrimaryCtxRetain(void **to, int device) { return *to = (void *)(uintptr_t)(device + 1), 0; }
int cuCtxPushCurrent_v2(void *context) { return __atomic_add_fetch(&contexts, 1, __ATOMIC_RELAXED), context == NULL; }
int cuCtxPopCurrent_v2(void **context) { return *context = 0, __atomic_sub_fetch(&contexts, 1, __ATOMIC_RELAXED) < 0; }

int cuCtxSynchronize(void) {
  LOCKED({
    for (int s = 0; s < STREAMS; s++)
      for (int other = 0; other < STREAMS; other++) clocks[s][other] = clocks[other][other];
  });
}

int cuStreamSynchronize(void *stream) { return cuCtxSynchronize() || stream == (void *)1; }

int cuMemAlloc_v2(address *to, size_t size) {
  LOCKED({
    failed = !taken(size);
    for (int k = 0; !failed && k < 1 << 16; k++)
      if (!blocks[k].at) {
        *to = blocks[k].at = (uintptr_t)mmap(NULL, whole(size), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        blocks[k].size = size;
        break;
      }
  });
}

int cuMemFree_v2(address at) {
  LOCKED({
    int k = 0;
    while (k < 1 << 16 && blocks[k].at != at) k++;
    failed = k == 1 << 16;
    if (!failed) bytes -= blocks[k].size, gone(at, whole(blocks[k].size)), blocks[k].at = 0;
  });
}

int cuMemAddressReserve(address *to, size_t size, size_t alignment, address wanted, address flags) {
  void *at = mmap((void *)(uintptr_t)(wanted + alignment), size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return *to = (uintptr_t)at, at == MAP_FAILED || flags;
}

int cuMemCreate(address *to, size_t size, const int *properties, address flags) {
  LOCKED({
    failed = flags || properties[0] != 1 || properties[2] != 1 || size % (2 << 20) || !taken(size);
    if (!failed) sizes[*to = next_handle++] = size;
  });
}

int cuMemMap(address at, size_t size, size_t offset, address handle, address flags) {
  return offset || flags || sizes[handle] != size || at == 0;
}

int cuMemSetAccess(address at, size_t size, const int *access, size_t count) {
  return count != 1 || access[2] != 3 || mprotect((void *)(uintptr_t)at, size, PROT_READ | PROT_WRITE);
}

int cuMemUnmap(address at, size_t size) {
  memset((void *)(uintptr_t)at, 0xDD, size);
  return mprotect((void *)(uintptr_t)at, size, PROT_NONE);
}

int cuMemRelease(address handle) {
  LOCKED({
    bytes -= sizes[handle];
    sizes[handle] = 0;
  });
}

int cuMemAddressFree(address at, size_t size) { return munmap((void *)(uintptr_t)at, size); }
int cuEventCreate(void **to, unsigned flags) { return *to = calloc(1, sizeof(struct event)), broken_events || flags != 2; }

static uint64_t *clock_of(void *stream) { return clocks[(uintptr_t)stream / 16 % STREAMS]; }

int cuEventRecord(void *event, void *stream) {
  LOCKED({
    failed = broken_events;
    memcpy(((struct event *)event)->clock, clock_of(stream), sizeof(struct event));
  });
}

int cuStreamWaitEvent(void *stream, void *event, unsigned flags) {
  LOCKED({
    failed = flags != 0;
    uint64_t *to = clock_of(stream);
    for (int k = 0; k < STREAMS; k++)
      if (((struct event *)event)->clock[k] > to[k]) to[k] = ((struct event *)event)->clock[k];
  });
}

/* What tests ask: work on a stream, whether it is before the next work of another one, bytes, and limits. */
uint64_t fake_work(void *stream) {
  pthread_mutex_lock(&gate);
  uint64_t now = ++clock_of(stream)[(uintptr_t)stream / 16 % STREAMS];
  pthread_mutex_unlock(&gate);
  return now;
}

int fake_before(void *earlier, uint64_t point, void *later) {
  pthread_mutex_lock(&gate);
  int is_before = clock_of(later)[(uintptr_t)earlier / 16 % STREAMS] >= point;
  pthread_mutex_unlock(&gate);
  return is_before;
}

uint64_t fake_bytes(void) { return bytes; }
uint64_t fake_most(void) { return most; }
int fake_contexts(void) { return contexts; }
int fake_calls(void) { return calls; }
void fake_limit(uint64_t limit) { capacity = limit; }
void fake_break(int is_broken) { broken_events = is_broken; }
