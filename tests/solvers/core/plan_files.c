/* Plans files of rows (id,lower,upper,size) by memplan.h alone: `plan_files WORK SEED TIMES FILE ...`.
 *
 * Prints for each: file, buffers, status, peak, bound, nodes, microseconds of CPU for a plan and for a check, bytes of
 * memory, and a hash of the offsets. Ends with 1 where a plan does not pass memplan_check. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "memplan.h"

static size_t read_rows(const char *name, memplan_buffer **rows) {
  char line[512];
  size_t count = 0, room = 0;
  FILE *file = fopen(name, "r");
  int columns[4] = {-1, -1, -1, -1}; /* lower, upper, size, alignment */
  static const char *const names[4] = {"lower", "upper", "size", "alignment"};
  *rows = NULL;
  if (file == NULL || fgets(line, sizeof line, file) == NULL) return 0;
  int at = 0;
  for (char *word = strtok(line, ",\r\n"); word != NULL; word = strtok(NULL, ",\r\n"), ++at)
    for (int k = 0; k < 4; ++k)
      if (strcmp(word, names[k]) == 0) columns[k] = at;
  while (fgets(line, sizeof line, file) != NULL) {
    int64_t values[4] = {0, 0, 0, 0};
    at = 0;
    for (char *word = strtok(line, ",\r\n"); word != NULL; word = strtok(NULL, ",\r\n"), ++at)
      for (int k = 0; k < 4; ++k)
        if (columns[k] == at) values[k] = strtoll(word, NULL, 10);
    if (count == room) *rows = realloc(*rows, (room = 2 * room + 64) * sizeof **rows);
    memset(*rows + count, 0, sizeof **rows);
    (*rows)[count].begin = values[0], (*rows)[count].end = values[1], (*rows)[count].size = values[2];
    (*rows)[count].alignment = values[3], (*rows)[count].pin = MEMPLAN_FREE;
    ++count;
  }
  fclose(file);
  return count;
}

static double cpu(void) {
  struct timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return 1e6 * (double)time.tv_sec + 1e-3 * (double)time.tv_nsec;
}

int main(int count, char **words) {
  int is_wrong = 0;
  for (int k = 4; k < count; ++k) {
    memplan_buffer *rows;
    const size_t n = read_rows(words[k], &rows);
    int64_t *offsets = calloc(n + 1, sizeof *offsets);
    memplan_problem problem = {0};
    memplan_options options = {0};
    memplan_result result = {0}, check = {0};
    double least = 1e18, least_check = 1e18;
    problem.buffers = rows, problem.count = n, problem.capacity = MEMPLAN_UNLIMITED;
    options.work = strtoll(words[1], NULL, 10), options.seed = strtoull(words[2], NULL, 10);
    for (int times = atoi(words[3]); times > 0; --times) {
      double begun = cpu(), done;
      result = memplan_plan(&problem, &options, offsets);
      done = cpu();
      check = memplan_check(&problem, offsets);
      if (done - begun < least) least = done - begun;
      if (cpu() - done < least_check) least_check = cpu() - done;
    }
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < n; ++i) hash = (hash ^ (uint64_t)offsets[i]) * 1099511628211u;
    is_wrong |= check.status != MEMPLAN_FEASIBLE || check.peak != result.peak || result.bound > result.peak;
    printf("%s,%zu,%s,%" PRId64 ",%" PRId64 ",%" PRId64 ",%.1f,%.1f,%zu,%016" PRIx64 "\n", words[k], n,
           memplan_status_text(result.status), result.peak, result.bound, result.nodes, least, least_check,
           result.memory, hash);
    free(offsets);
    free(rows);
  }
  return is_wrong;
}
