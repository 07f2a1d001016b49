/* Plans a CSV file of MiniMalloc's columns: plan_csv FILE [CAPACITY]; prints lower, upper, size and offset of each row.
 * Columns have any order. Of `lower` and `upper` (or `start`), the upper one is the first time that is free; `end` is
 * the last one that is not. An `offset` is a pin. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memplan.h"

static const char *const names[] = {"lower", "start", "upper", "end", "size", "alignment", "offset", "id", "buffer"};
enum { LOWER, START, UPPER, END, SIZE, ALIGNMENT, OFFSET, ID, BUFFER, NAMES };

int main(int count, char **words) {
  char line[1024], *rest;
  int columns[16], used = 0, has_size = 0;
  memplan_problem problem = MEMPLAN_PROBLEM_INIT;
  memplan_buffer *rows = NULL;
  FILE *file = count > 1 ? fopen(words[1], "r") : NULL;
  if (file == NULL || fgets(line, sizeof line, file) == NULL) return puts("plan_csv FILE [CAPACITY]"), 2;
  for (char *word = strtok(line, ",\r\n"); word != NULL && used < 16; word = strtok(NULL, ",\r\n"), ++used) {
    for (columns[used] = 0; columns[used] < NAMES && strcmp(word, names[columns[used]]) != 0;) ++columns[used];
    if (columns[used] == NAMES) return printf("%s: the column \"%s\" is not known\n", words[1], word), 2;
    has_size |= columns[used] == SIZE;
  }
  if (!has_size) return printf("%s: must have a column \"size\"\n", words[1]), 2;
  while (fgets(line, sizeof line, file) != NULL && strlen(line) > 1) {
    memplan_buffer row = MEMPLAN_BUFFER_INIT;
    int64_t *const fields[] = {&row.begin, &row.begin, &row.end, &row.end, &row.size, &row.alignment, &row.pin};
    rest = line;
    for (int k = 0; k < used; ++k, rest += strcspn(rest, ","), rest += *rest == ',') {
      char *stop = rest;
      const int64_t value = columns[k] < ID ? strtoll(rest, &stop, 10) : 0;
      const int length = (int)strcspn(rest, ",\r\n");
      if (columns[k] < ID && stop != rest + length)
        return printf("%s: row %zu: %s must be an integer, got \"%.*s\"\n", words[1], problem.count,
                      names[columns[k]], length, rest), 2;
      if (stop != rest) *fields[columns[k]] = value + (columns[k] == END); /* an empty field says nothing */
    }
    rows = realloc(rows, (problem.count + 1) * sizeof *rows);
    if (rows == NULL) return puts("out of memory"), 1;
    rows[problem.count++] = row;
  }
  fclose(file);
  problem.buffers = rows;
  if (count > 2) problem.capacity = strtoll(words[2], &rest, 10);
  if (count > 2 && *rest != '\0') return printf("CAPACITY: must be bytes, got \"%s\"\n", words[2]), 2;
  int64_t *offsets = calloc(problem.count + 1, sizeof *offsets);
  memplan_result result = memplan_plan(&problem, NULL, offsets);
  printf("%s: %" PRId64 " bytes, at least %" PRId64 "\n", memplan_status_text(result.status), result.peak, result.bound);
  if (result.buffer != MEMPLAN_NONE) printf("row %zu: %s\n", result.buffer, memplan_rule_text(result.rule));
  for (size_t i = 0; i < problem.count && result.status <= MEMPLAN_FEASIBLE; ++i)
    printf("%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 "\n", rows[i].begin, rows[i].end, rows[i].size, offsets[i]);
  free(offsets), free(rows);
  return result.status > MEMPLAN_FEASIBLE;
}
