/* Drawn traces of the allocator against a mirror: drive SEED TRACES THREADS PLAN_FILE. Each live block is filled with its
   own byte, and looked at as it is freed; each granule of 512 bytes knows its last work on each stream, and whoever gets
   it next must be behind that. Of several threads, every second trace takes turns call by call, so that granules can be
   compared, and the others run freely. Prints one line of counts; the exit status is 1 if anything was lost. */
#define _GNU_SOURCE
#include "../../replay/replay.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

uint64_t fake_work(void *stream), fake_bytes(void);
int fake_before(void *earlier, uint64_t point, void *later), fake_contexts(void);

#define MOST 48
#define GRANULES (1 << 16)
struct row { size_t size; int stream; long offset, end; };
struct held { unsigned char *at; size_t size; unsigned char fill; void *stream, *used; };
struct granule { uintptr_t at; void *stream, *used; uint64_t point, used_point; };

static struct granule granules[GRANULES];
static struct memplan_stats stats = {.bytes = sizeof stats};
static unsigned long lost, hasty, granted;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static int threads, is_mirrored;

static void enter_turn(void) { if (threads > 1 && is_mirrored) pthread_mutex_lock(&gate); }
static void leave_turn(void) { if (threads > 1 && is_mirrored) pthread_mutex_unlock(&gate); }

static uint64_t drawn(uint64_t *seed) {
  *seed += 0x9E3779B97F4A7C15u;
  uint64_t z = *seed;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

static struct granule *granule(uintptr_t at) {
  size_t k = (at >> 9) * 0x9E3779B97F4A7C15u >> 48;
  while (granules[k].at && granules[k].at != at) k = (k + 1) % GRANULES;
  granules[k].at = at;
  return &granules[k];
}

static struct held take(size_t size, void *stream, unsigned char fill) {
  enter_turn();
  struct held held = {memplan_alloc((ssize_t)size, 0, stream), size, fill, stream, NULL};
  if (!held.at) {
    lost++;
    return leave_turn(), held;
  }
  if (is_mirrored)
    for (uintptr_t at = (uintptr_t)held.at / 512 * 512; at < (uintptr_t)held.at + size; at += 512) {
      struct granule *row = granule(at);
      if (row->point && !fake_before(row->stream, row->point, stream)) hasty++;
      if (row->used_point && !fake_before(row->used, row->used_point, stream)) hasty++;
      row->point = row->used_point = 0;
    }
  memset(held.at, fill, size);
  __atomic_add_fetch(&granted, 1, __ATOMIC_RELAXED);
  leave_turn();
  return held;
}

static void give(struct held held) {
  enter_turn();
  size_t wrong = 0;
  for (size_t k = 0; k < held.size; k++) wrong += held.at[k] != held.fill;
  memset(held.at, 0xDD, held.size);
  if (wrong) __atomic_add_fetch(&lost, wrong, __ATOMIC_RELAXED);
  if (is_mirrored) {
    uint64_t point = fake_work(held.stream), used = held.used ? fake_work(held.used) : 0;
    for (uintptr_t at = (uintptr_t)held.at / 512 * 512; at < (uintptr_t)held.at + held.size; at += 512) {
      struct granule *row = granule(at);
      row->stream = held.stream, row->point = point, row->used = held.used, row->used_point = used;
    }
  }
  if (held.used) memplan_record_stream(held.at, held.used);
  memplan_free(held.at, held.size, 0, held.stream);
  leave_turn();
}

static int draw_plan(uint64_t *seed, struct row *rows, const char *path) {
  int count = 4 + (int)(drawn(seed) % (MOST - 4)), is_bogus = drawn(seed) % 4 == 0;
  FILE *file = fopen(path, "w");
  fprintf(file, "memplan-replay 1\nscope step %d\n", count);
  for (int n = 0; n < count; n++) {
    struct row *row = &rows[n];
    row->size = 1 + drawn(seed) % (drawn(seed) % 4 ? 3000 : 20000);
    row->stream = drawn(seed) % 4 ? 0 : (int)(drawn(seed) % 3);
    row->end = n + 1 + (long)(drawn(seed) % (drawn(seed) % 3 ? 4 : 20));
    row->offset = 0;
    /* First fit among those whose lives overlap; a bogus plan has any offset. */
    for (int k = 0, is_moved = 1; is_moved; ) {
      is_moved = 0;
      for (k = 0; k < n; k++)
        if (rows[k].end > n && rows[k].offset >= 0 && rows[k].offset < row->offset + (long)row->size &&
            row->offset < rows[k].offset + (long)rows[k].size)
          row->offset = (rows[k].offset + (long)rows[k].size + 511) / 512 * 512, is_moved = 1;
    }
    if (is_bogus) row->offset = (long)(drawn(seed) % 20) * 512;
    if (drawn(seed) % 16 == 0) row->offset = -1;
    fprintf(file, "%zu 0 %d %ld\n", row->size, row->stream, row->offset);
  }
  fprintf(file, "end\n");
  fclose(file);
  return count;
}

struct job { uint64_t seed; struct row *rows; int count, part; };

/* One run of a scope: as planned, or with allocations that are missing, added or larger, and frees that are late. */
static void *play(void *given) {
  struct job *job = given;
  uint64_t seed = job->seed;
  struct held held[2 * MOST] = {0};
  int is_exact = drawn(&seed) % 3 == 0, stops = drawn(&seed) % 8 ? job->count : (int)(drawn(&seed) % job->count);
  for (int n = 0; n < stops; n++) {
    for (int k = 0; k < n; k++)
      if (held[k].at && job->rows[k].end <= n && (is_exact || drawn(&seed) % 4)) give(held[k]), held[k].at = NULL;
    if (threads > 1 && n % threads != job->part) continue;
    uint64_t odds = is_exact ? 99 : drawn(&seed) % 24;
    if (odds == 0) continue;
    void *stream = (void *)(uintptr_t)((job->rows[n].stream + (odds == 1)) * 16);
    held[n] = take(job->rows[n].size + (odds == 2 ? 512 : 0), stream, (unsigned char)(1 + drawn(&seed) % 200));
    if (held[n].at && odds < 6) held[n].used = (void *)(uintptr_t)(16 * (1 + drawn(&seed) % 7));
    if (odds == 3) held[MOST + n] = take(job->rows[n].size, stream, 7);
  }
  int keeps = drawn(&seed) % 4 == 0; /* some outlive the scope */
  struct held late[2 * MOST] = {0};
  for (int k = 0; k < 2 * MOST; k++)
    if (held[k].at) {
      if (keeps && drawn(&seed) % 2) late[k] = held[k];
      else give(held[k]);
    }
  if (job->part == 0 && threads == 1) memplan_end();
  for (int k = 0; k < 2 * MOST; k++)
    if (late[k].at) {
      if (threads == 1 && drawn(&seed) % 2) {
        memplan_begin("step"); /* the next run finds them in its way */
        struct held first = take(job->rows[0].size, (void *)(uintptr_t)(job->rows[0].stream * 16), 9);
        give(late[k]), give(first), memplan_end();
      } else give(late[k]);
    }
  return NULL;
}

static int compare(const void *a, const void *b) { return *(const double *)a < *(const double *)b ? -1 : 1; }

/* Prints the mean, and what nine of ten steps of 1,200 calls need at most, in nanoseconds a call. */
static void measure(const char *path, uint64_t calls) {
  enum { WIDE = 600 };
  double *steps = malloc((calls / WIDE + 2) * sizeof *steps), total = 0;
  size_t count = 0;
  static void *at[WIDE];
  FILE *file = fopen(path, "w");
  fprintf(file, "memplan-replay 1\nscope step %d\n", WIDE);
  for (int n = 0; n < WIDE; n++) fprintf(file, "%d 0 0 %d\n", 1024 * (1 + n % 7), n % 60 * 8192);
  fprintf(file, "end\n");
  fclose(file);
  struct timespec begin, end;
  uint64_t made = 0;
  memplan_load(path);
  while (made < calls) {
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    memplan_begin("step");
    for (int n = 0; n < WIDE; n++) {
      if (n >= 50) memplan_free(at[n - 50], 0, 0, NULL);
      at[n] = memplan_alloc(1024 * (1 + n % 7), 0, NULL);
    }
    for (int n = WIDE - 50; n < WIDE; n++) memplan_free(at[n], 0, 0, NULL);
    made += 2 * WIDE;
    memplan_end();
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    steps[count++] = (end.tv_sec - begin.tv_sec) * 1e9 + (end.tv_nsec - begin.tv_nsec);
    total += steps[count - 1];
  }
  qsort(steps, count, sizeof *steps, compare);
  printf("ns_a_call %.2f nine_of_ten %.2f\n", total / made, steps[count * 9 / 10] / (2 * WIDE));
  free(steps);
}

int main(int argc, char **argv) {
  if (argc < 5) return 2;
  uint64_t seed = strtoull(argv[1], NULL, 0);
  int traces = atoi(argv[2]);
  threads = atoi(argv[3]);
  if (argc > 5) return measure(argv[4], strtoull(argv[5], NULL, 0)), 0;
  for (int trace = 0; trace < traces; trace++) {
    struct row rows[MOST];
    is_mirrored = threads == 1 || trace % 2;
    memset(granules, 0, is_mirrored ? sizeof granules : 0);
    int count = draw_plan(&seed, rows, argv[4]);
    if (memplan_load(argv[4])) lost++;
    for (int run = 0; run < 4; run++) {
      int is_recorded = drawn(&seed) % 8 == 0;
      if (is_recorded ? memplan_record() : memplan_begin("step")) lost++;
      pthread_t workers[8];
      struct job jobs[8];
      for (int k = 0; k < threads; k++) jobs[k] = (struct job){drawn(&seed), rows, count, k};
      if (threads == 1) play(&jobs[0]);
      for (int k = 0; k < threads && threads > 1; k++) pthread_create(&workers[k], NULL, play, &jobs[k]);
      for (int k = 0; k < threads && threads > 1; k++) pthread_join(workers[k], NULL);
      if (threads > 1) memplan_end();
    }
    memplan_stats(&stats);
    if (stats.live) lost += stats.live;
    if (drawn(&seed) % 8 == 0) memplan_release();
  }
  memplan_release();
  memplan_stats(&stats);
  printf("granted %lu lost %lu hasty %lu planned %lu busy %lu unmatched %lu waits %lu unknown %lu left %lu contexts %d\n",
         granted, lost, hasty, (unsigned long)stats.planned, (unsigned long)stats.busy, (unsigned long)stats.unmatched,
         (unsigned long)stats.waits, (unsigned long)stats.unknown, (unsigned long)fake_bytes(), fake_contexts());
  return lost || hasty || stats.unknown || stats.failures || fake_bytes() || fake_contexts();
}
