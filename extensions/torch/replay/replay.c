/* See replay.h. One lock guards all state; what is planned is never believed: an address is given only if no live block
   has its bytes, and to another stream than that of the bytes' last owner only behind an event. */

#define _GNU_SOURCE
#include "replay.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVICES 16
#define STREAMS 32
#define USES 6
#define ALIGNMENT 512
#define AHEAD 64     /* entries that are looked at before and behind the next one, where that does not agree */
#define BUCKETS (1u << 15)
#define BINS (1u << 10)
#define MOST_BYTES ((uint64_t)1 << 46)
#define MOST_ENTRIES ((uint64_t)1 << 24)
#define PAGE ((size_t)2 << 20)

/* A range of bytes, allocated or cached. */
struct block {
  struct block *chain;           /* of the bucket of its address, or of the bin of its size */
  struct block *next, *previous; /* live planned blocks */
  struct entry *entry;           /* NULL for blocks of the driver */
  char *address;
  size_t size;
  int device, uses;
  void *stream, *used[USES];
  uint64_t number, recording; /* of the recording that it belongs to, 0 for none */
};
/* The n-th allocation of a scope; `run` is the last one that it was claimed in. */
struct entry {
  struct block block;
  size_t size;
  int64_t offset; /* -1: outlives the scope */
  int device, stream, is_live; uint64_t run;
  uint32_t first, count; /* of its bytes' last owners, in `before` of the scope */
};
struct scope {
  char name[64]; struct entry *entries; uint32_t *before;
  size_t count, next, befores;
  int is_strict; /* every entry before the next one was claimed in order and placed */
  void *streams[STREAMS];
  char is_bound[STREAMS];
};
struct arena {
  char *base;
  size_t size, needed;
  unsigned long long handle;
  void *event, *context;
  void *streams[STREAMS]; /* those that ever had bytes of the arena */
  int count;
};
struct range {
  uint64_t low, high; uint32_t owner;
};
static atomic_flag gate = ATOMIC_FLAG_INIT;
static struct memplan_stats counts;
static struct block *buckets[BUCKETS], *bins[BINS], *live_planned;
static struct arena arenas[DEVICES];
static struct scope *scopes, *running;
static size_t scope_count;
static uint64_t run, recording, recorded_numbers;
static struct memplan_event *events;
static uint64_t event_count, event_space;
static int is_recording, is_told;

/* Of CUDA's driver: types as in cuda.h. */
struct location { int type, id; };
struct properties {
  int type, handles; struct location location;
  void *metadata;
  unsigned char flags[8];
};
struct access { struct location location; int flags; };

/* The functions of the driver: field, name, and arguments. */
#define DRIVER(X) \
  X(init, cuInit, unsigned) X(device, cuDeviceGet, int *, int) X(retain, cuDevicePrimaryCtxRetain, void **, int) \
  X(push, cuCtxPushCurrent_v2, void *) X(pop, cuCtxPopCurrent_v2, void **) X(synchronize, cuCtxSynchronize, void) \
  X(alloc, cuMemAlloc_v2, address *, size_t) X(free, cuMemFree_v2, address) \
  X(reserve, cuMemAddressReserve, address *, size_t, size_t, address, address) \
  X(create, cuMemCreate, address *, size_t, const struct properties *, address) \
  X(map, cuMemMap, address, size_t, size_t, address, address) X(unmap, cuMemUnmap, address, size_t) \
  X(permit, cuMemSetAccess, address, size_t, const struct access *, size_t) X(drop, cuMemRelease, address) \
  X(unreserve, cuMemAddressFree, address, size_t) X(event, cuEventCreate, void **, unsigned) \
  X(mark, cuEventRecord, void *, void *) X(wait, cuStreamWaitEvent, void *, void *, unsigned) \
  X(finish, cuStreamSynchronize, void *)
#define FIELD(field, name, ...) int (*field)(__VA_ARGS__);
#define FIND(field, name, ...) \
  if (!(cuda.field = (int (*)(__VA_ARGS__))dlsym(library, #name))) return fail("driver: must have " #name);
typedef unsigned long long address;
static struct { void *library; DRIVER(FIELD) } cuda;

static void lock(void) { while (atomic_flag_test_and_set_explicit(&gate, memory_order_acquire)) sched_yield(); }
static void unlock(void) { atomic_flag_clear_explicit(&gate, memory_order_release); }

static int fail(const char *format, ...) {
  va_list values; va_start(values, format); vsnprintf(counts.message, sizeof counts.message, format, values);
  va_end(values); is_told = 1; return -1;
}
/* Count a departure from the plan, and describe the first one. */
static void depart(uint64_t *count, const char *what, size_t n, size_t size) {
  *count += 1; if (!is_told) fail("scope %s: allocation %zu of %zu bytes %s", running->name, n, size, what);
}
static int open_driver(void) {
  if (cuda.library) return 0;
  const char *path = getenv("MEMPLAN_LIBCUDA");
  void *library = dlopen(path && *path ? path : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return fail("driver: %.200s", dlerror());
  DRIVER(FIND)
  if (cuda.init(0)) return fail("driver: cuInit failed: is there a device?");
  cuda.library = library; return 0;
}
/* Make the primary context of a device the current one until `leave`. */
static int enter(int device) {
  int handle;
  if (device < 0 || device >= DEVICES) return fail("device: must be 0 to %d, got %d", DEVICES - 1, device);
  if (open_driver()) return -1;
  struct arena *arena = &arenas[device];
  if (!arena->context && (cuda.device(&handle, device) || cuda.retain(&arena->context, handle))) {
    arena->context = NULL; return fail("device %d: has no context", device);
  }
  return cuda.push(arena->context) ? fail("device %d: its context cannot be entered", device) : 0;
}
static void leave(void) { void *context; cuda.pop(&context); }

/* Let a stream wait for what others were given so far; where no event can be had, the host waits. */
static int follow(int device, void *stream, void *other) {
  struct arena *arena = &arenas[device]; if (stream == other) return 0; if (enter(device)) return -1;
  int failed = !arena->event && cuda.event(&arena->event, 2 /* without timing */);
  failed = failed || cuda.mark(arena->event, other) || cuda.wait(stream, arena->event, 0);
  if (failed) failed = cuda.finish(other);
  leave(); counts.waits += 1;
  return failed ? fail("device %d: a stream cannot wait for another one", device) : 0;
}
static void reserve(int64_t change) {
  counts.reserved += change; if (counts.reserved > counts.most) counts.most = counts.reserved;
}

static void release_arena(int device) {
  struct arena *arena = &arenas[device]; if (!arena->base || enter(device)) return;
  address base = (uintptr_t)arena->base; cuda.synchronize(); cuda.unmap(base, arena->size); cuda.drop(arena->handle);
  cuda.unreserve(base, arena->size); leave(); counts.arena -= arena->size; reserve(-(int64_t)arena->size);
  arena->base = NULL; arena->size = 0; arena->count = 0;
}

/* Give the cached blocks of a device (all devices: -1) back to the driver; returns the bytes. */
static size_t release_cached(int device) {
  size_t bytes = 0;
  char is_idle[DEVICES] = {0};
  for (unsigned k = 0; k < BINS; k++)
    for (struct block **place = &bins[k], *block; (block = *place);) {
      int at = block->device;
      if ((device >= 0 && at != device) || enter(at)) { place = &block->chain; continue; }
      if (!is_idle[at]) is_idle[at] = !cuda.synchronize();
      int failed = !is_idle[at] || cuda.free((uintptr_t)block->address); leave();
      if (failed) { place = &block->chain; continue; }
      *place = block->chain; bytes += block->size; reserve(-(int64_t)block->size); free(block);
    }
  return bytes;
}

/* Map an arena of the needed bytes; live blocks stay where they are, and so does an arena that is large enough. */
static int map_arena(int device) {
  struct arena *arena = &arenas[device];
  size_t size = (arena->needed + PAGE - 1) / PAGE * PAGE; if (arena->size >= size) return 0;
  if (arena->base) {
    if (live_planned) return fail("device %d: the arena is in use and cannot grow", device);
    release_arena(device);
  }
  for (int k = 0; k < 2; k++) {
    address base = 0, handle = 0;
    struct properties properties = {.type = 1, .location = {1, device}};
    struct access access = {{1, device}, 3};
    if (enter(device)) return -1;
    int has_base = !cuda.reserve(&base, size, 0, 0, 0);
    int has_bytes = has_base && !cuda.create(&handle, size, &properties, 0);
    int is_mapped = has_bytes && !cuda.map(base, size, 0, handle, 0);
    int is_ready = is_mapped && !cuda.permit(base, size, &access, 1);
    if (!is_ready) {
      if (is_mapped) cuda.unmap(base, size);
      if (has_bytes) cuda.drop(handle);
      if (has_base) cuda.unreserve(base, size);
    }
    leave();
    if (is_ready) {
      *arena = (struct arena){(char *)(uintptr_t)base, size, arena->needed, handle, arena->event, arena->context, {0}, 0};
      counts.arena += size; reserve((int64_t)size); return 0;
    }
    if (!release_cached(device)) break;
  }
  return fail("device %d: the driver has no %zu bytes for the plan", device, size);
}

static struct block **bucket(const void *address) {
  return &buckets[(((uintptr_t)address >> 9) * 0x9E3779B97F4A7C15u) >> 49];
}

static struct block **bin(size_t size, void *stream) {
  return &bins[((size >> 9) * 0x9E3779B97F4A7C15u + ((uintptr_t)stream >> 4) * 0xC2B2AE3D27D4EB4Fu) >> 54];
}

/* Return True if the stream of an allocation is that of an entry; a stream gets its number where it is first met. */
static int agrees(struct scope *scope, const struct entry *entry, void *stream) {
  int number = entry->stream; if (!number || !stream) return !number && !stream;
  if (scope->is_bound[number]) return scope->streams[number] == stream;
  for (int k = 1; k < STREAMS; k++) if (scope->is_bound[k] && scope->streams[k] == stream) return 0;
  return 1;
}

/* Count a stream among those of an arena; a new one waits for the others. Returns False where it cannot. */
static int has_stream(int device, void *stream) {
  struct arena *arena = &arenas[device];
  for (int k = 0; k < arena->count; k++) if (arena->streams[k] == stream) return 1;
  if (arena->count == STREAMS) return 0;
  for (int k = 0; k < arena->count; k++) if (follow(device, stream, arena->streams[k])) return 0;
  arena->streams[arena->count++] = stream; return 1;
}

/* Return True if no live block has the bytes of an entry, once the stream waits for those that had them. */
static int is_free(struct scope *scope, struct entry *entry, void *stream) {
  struct arena *arena = &arenas[entry->device];
  if (scope->is_strict) {
    for (uint32_t k = 0; k < entry->count; k++) if (scope->entries[scope->before[entry->first + k]].is_live) return 0;
    for (uint32_t k = 0; k < entry->count; k++)
      if (follow(entry->device, stream, scope->entries[scope->before[entry->first + k]].block.stream)) return 0;
    return 1;
  }
  char *low = arena->base + entry->offset;
  for (struct block *block = live_planned; block; block = block->next)
    if (block->device == entry->device && block->address < low + entry->size && low < block->address + block->size)
      return 0;
  for (int k = 0; k < arena->count; k++) if (follow(entry->device, stream, arena->streams[k])) return 0;
  return 1;
}

static struct block *planned(size_t size, int device, void *stream) {
  struct scope *scope = running;
  size_t count = scope->count, next = scope->next, n = next;
  for (size_t k = 0; k < 2 * AHEAD; k++) {
    n = k < AHEAD ? next + k : next - (k - AHEAD) - 1; /* wraps to a number above the count */
    if (n >= count) continue;
    struct entry *entry = &scope->entries[n];
    if (entry->size == size && entry->device == device && entry->run != run && agrees(scope, entry, stream)) break;
    n = count;
  }
  if (n >= count) { depart(&counts.unmatched, "is not in the plan", next, size); return NULL; }
  struct entry *entry = &scope->entries[n]; scope->is_strict = scope->is_strict && n == next;
  if (n >= next) scope->next = n + 1;
  entry->run = run;
  if (entry->stream) { scope->streams[entry->stream] = stream; scope->is_bound[entry->stream] = 1; }
  if (entry->offset < 0) { counts.kept += 1; return NULL; }
  struct arena *arena = &arenas[device];
  int has_place = arena->base && !entry->is_live && has_stream(device, stream);
  if (!has_place || !is_free(scope, entry, stream)) {
    scope->is_strict = 0;
    depart(&counts.busy, arena->base ? "has planned bytes that are in use" : "has no arena", n, size); return NULL;
  }
  struct block *block = &entry->block;
  block->next = live_planned, block->previous = NULL, block->entry = entry, block->uses = 0;
  block->address = arena->base + entry->offset, block->size = size, block->device = device, block->stream = stream;
  if (live_planned) live_planned->previous = block;
  live_planned = block; entry->is_live = 1; counts.planned += 1;
  return block;
}

/* Return a block of the driver: a cached one of this size and stream, or a new one. */
static struct block *driven(size_t size, int device, void *stream) {
  size_t whole = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  for (struct block **place = bin(whole, stream), *block; (block = *place); place = &block->chain)
    if (block->size == whole && block->device == device && block->stream == stream) {
      *place = block->chain; return block;
    }
  struct block *block = calloc(1, sizeof *block);
  for (int k = 0; block && k < 2; k++) {
    address given = 0; if (enter(device)) break;
    int failed = cuda.alloc(&given, whole); leave();
    if (!failed) {
      *block = (struct block){.address = (char *)(uintptr_t)given, .size = whole, .device = device, .stream = stream};
      reserve((int64_t)whole); return block;
    }
    if (!release_cached(device)) {
      fail("device %d: the driver has no %zu bytes beside %llu", device, whole, (unsigned long long)counts.reserved);
      break;
    }
  }
  free(block); counts.failures += 1; return NULL;
}

static void log_event(struct block *block, uint64_t size) {
  if (event_count == event_space) {
    uint64_t space = event_space ? 2 * event_space : 1024;
    struct memplan_event *grown = realloc(events, space * sizeof *grown);
    if (!grown) {
      is_recording = 0; fail("recording: the host has no memory for %llu events", (unsigned long long)space); return;
    }
    events = grown; event_space = space;
  }
  events[event_count++] = (struct memplan_event){block->number, size, block->device, block->stream};
}

int memplan_abi(void) { return MEMPLAN_REPLAY_ABI; }

void *memplan_alloc(ssize_t size, int device, void *stream) {
  if (size <= 0) return NULL;
  lock(); counts.calls += 1;
  struct block *block = running ? planned((size_t)size, device, stream) : NULL; if (!running) counts.outside += 1;
  if (!block && (uint64_t)size > MOST_BYTES) {
    counts.failures += 1; fail("size: must be at most 2^46 bytes, got %zd", size);
  } else if (!block)
    block = driven((size_t)size, device, stream);
  void *address = NULL;
  if (block) {
    struct block **place = bucket(block->address);
    block->chain = *place; *place = block; counts.live += block->size; address = block->address;
    block->recording = is_recording ? recording : 0;
    if (is_recording) { block->number = recorded_numbers++; log_event(block, (uint64_t)size); }
  }
  unlock(); return address;
}

static struct block **found(void *address) {
  struct block **place = bucket(address); while (*place && (*place)->address != address) place = &(*place)->chain;
  return place;
}

static void use(struct block *block, void *stream) {
  for (int k = 0; k < block->uses; k++) if (block->used[k] == stream) return;
  if (stream == block->stream) return;
  if (block->uses < USES) block->used[block->uses++] = stream;
  else {
    /* The last place stands for this stream, and the former one is waited for at once. */
    follow(block->device, stream, block->used[USES - 1]); block->used[USES - 1] = stream;
  }
}

void memplan_record_stream(void *address, void *stream) {
  lock(); struct block *block = *found(address); if (block) use(block, stream); unlock();
}

void memplan_free(void *address, size_t size, int device, void *stream) {
  (void)size, (void)device; if (!address) return; lock(); struct block **place = found(address), *block = *place;
  if (!block) { counts.unknown += 1; unlock(); return; }
  *place = block->chain; use(block, stream);
  int failed = 0;
  for (int k = 0; k < block->uses; k++) failed |= follow(block->device, block->stream, block->used[k]);
  block->uses = 0; counts.live -= block->size; if (is_recording && block->recording == recording) log_event(block, 0);
  if (failed) {
    /* The bytes stay taken, as a stream that cannot be waited for may still write them. */
  } else if (block->entry) {
    if (block->next) block->next->previous = block->previous;
    if (block->previous) block->previous->next = block->next;
    else live_planned = block->next;
    block->entry->is_live = 0;
  } else { place = bin(block->size, block->stream); block->chain = *place; *place = block; }
  unlock();
}

static void discard(struct scope *all, size_t count) {
  for (size_t k = 0; k < count; k++) { free(all[k].entries); free(all[k].before); }
  free(all);
}

/* Find the last owners of the bytes of each entry, in the order of the plan; returns 0 if the host has the memory. */
static int link_entries(struct scope *scope, int device) {
  struct range *ranges = malloc((2 * scope->count + 2) * sizeof *ranges);
  size_t count = 0; if (!ranges) return -1;
  for (size_t n = 0; n < scope->count; n++) {
    struct entry *entry = &scope->entries[n]; if (entry->device != device || entry->offset < 0) continue;
    uint64_t low = (uint64_t)entry->offset, high = low + entry->size;
    size_t from = 0, to = count;
    while (from < to) {
      size_t middle = (from + to) / 2; if (ranges[middle].high <= low) from = middle + 1; else to = middle;
    }
    for (to = from; to < count && ranges[to].low < high; to++) {}
    uint32_t *before = realloc(scope->before, (scope->befores + (to - from) + 1) * sizeof *before);
    if (!before) { free(ranges); return -1; }
    scope->before = before; entry->first = (uint32_t)scope->befores;
    for (size_t k = from; k < to; k++) before[scope->befores++] = ranges[k].owner;
    entry->count = (uint32_t)(to - from); struct range parts[3];
    size_t made = 0;
    if (from < to && ranges[from].low < low) parts[made++] = (struct range){ranges[from].low, low, ranges[from].owner};
    parts[made++] = (struct range){low, high, (uint32_t)n};
    if (from < to && ranges[to - 1].high > high) parts[made++] = (struct range){high, ranges[to - 1].high, ranges[to - 1].owner};
    memmove(ranges + from + made, ranges + to, (count - to) * sizeof *ranges);
    memcpy(ranges + from, parts, made * sizeof *ranges); count = count - (to - from) + made;
  }
  free(ranges); return 0;
}

static int read_scope(FILE *file, struct scope *scope, size_t *needed) {
  unsigned long long count;
  if (fscanf(file, "%63[A-Za-z0-9_.-] %llu", scope->name, &count) != 2 || count > MOST_ENTRIES) return -1;
  scope->entries = calloc(count + 1, sizeof *scope->entries); if (!scope->entries) return -1;
  for (scope->count = 0; scope->count < count; scope->count++) {
    unsigned long long size;
    long long device, stream, offset;
    if (fscanf(file, "%llu %lld %lld %lld", &size, &device, &stream, &offset) != 4) return -1;
    if (!size || size > MOST_BYTES || device < 0 || device >= DEVICES || stream < 0 || stream >= STREAMS) return -1;
    if (offset < -1 || offset > (long long)MOST_BYTES || (offset > 0 && offset % ALIGNMENT)) return -1;
    struct entry *entry = &scope->entries[scope->count];
    *entry = (struct entry){.size = size, .offset = offset, .device = (int)device, .stream = (int)stream};
    if (offset >= 0 && (size_t)offset + size > needed[device]) needed[device] = (size_t)offset + size;
  }
  for (int device = 0; device < DEVICES; device++) if (link_entries(scope, device)) return -1;
  return 0;
}

int memplan_load(const char *path) {
  struct scope *made = NULL;
  size_t count = 0, needed[DEVICES] = {0};
  int version = 0, status = -1;
  char word[8]; FILE *file = fopen(path, "r");
  if (file && fscanf(file, "memplan-replay %d", &version) == 1 && version == MEMPLAN_REPLAY_ABI)
    while (fscanf(file, " %7s ", word) == 1) {
      if (!strcmp(word, "end")) { status = 0; break; }
      struct scope *grown = strcmp(word, "scope") ? NULL : realloc(made, (count + 1) * sizeof *made);
      if (!grown) break;
      made = grown; memset(&made[count], 0, sizeof *made);
      if (read_scope(file, &made[count++], needed)) break;
    }
  lock();
  if (status)
    fail(file ? "%.120s: must be a plan of version %d, and is none in scope %zu" : "%.120s: cannot be read", path,
         MEMPLAN_REPLAY_ABI, count);
  else if (running || is_recording || live_planned)
    status = fail("%.120s: must be loaded where no scope runs, and no block of the plan before is alive", path);
  else {
    struct scope *old = scopes;
    size_t old_count = scope_count; scopes = made, scope_count = count; made = old, count = old_count;
    for (int k = 0; k < DEVICES; k++) arenas[k].needed = needed[k];
    is_told = 0; counts.message[0] = 0;
  }
  discard(made, count); unlock(); if (file) fclose(file); return status;
}

/* Let all streams that had bytes of an arena wait for each other. */
static int join_streams(int device) {
  struct arena *arena = &arenas[device];
  int failed = 0;
  for (int k = 1; k < arena->count; k++) failed |= follow(device, arena->streams[0], arena->streams[k]);
  for (int k = 1; k < arena->count; k++) failed |= follow(device, arena->streams[k], arena->streams[0]);
  return failed;
}

int memplan_begin(const char *name) {
  int status = -1; lock(); struct scope *scope = NULL;
  for (size_t k = 0; k < scope_count && !scope; k++) if (!strcmp(scopes[k].name, name)) scope = &scopes[k];
  if (running || is_recording) fail("scope %.64s: must begin where the one before has ended", name);
  else if (!scope) fail("scope %.64s: is not in the plan", name);
  else {
    status = 0;
    for (int k = 0; k < DEVICES && !status; k++) if (arenas[k].needed) status = map_arena(k) || join_streams(k) ? -1 : 0;
  }
  if (!status) {
    running = scope; run += 1; counts.runs += 1; scope->next = 0; scope->is_strict = !live_planned;
    memset(scope->is_bound, 0, sizeof scope->is_bound);
  }
  unlock(); return status;
}

int memplan_record(void) {
  lock();
  int status = running || is_recording ? fail("recording: must begin where the scope before has ended") : 0;
  if (!status) { is_recording = 1; recording += 1; event_count = recorded_numbers = 0; }
  unlock(); return status;
}

int memplan_end(void) {
  lock();
  int status = running || is_recording ? 0 : fail("end: must follow a begin"); running = NULL; is_recording = 0;
  unlock(); return status;
}

uint64_t memplan_recorded(struct memplan_event *to, uint64_t most) {
  lock(); uint64_t count = event_count; memcpy(to, events, (most < count ? most : count) * sizeof *to); unlock();
  return count;
}

int memplan_release(void) {
  lock(); release_cached(-1); for (int k = 0; k < DEVICES && !live_planned && !running; k++) release_arena(k);
  unlock(); return 0;
}

int memplan_stats(struct memplan_stats *stats) {
  lock();
  size_t bytes = stats->bytes < sizeof *stats ? stats->bytes : sizeof *stats;
  int status = bytes < sizeof stats->bytes ? fail("stats: must have its size in the field bytes") : 0;
  if (!status) { memcpy(stats, &counts, bytes); stats->bytes = bytes; }
  unlock(); return status;
}
