/* SPDX-License-Identifier: Apache-2.0
 *
 * memplan_check TABLE...: names every two buffers that share bytes while both are alive. One file of C99 and nothing else,
 * for the tests of runtimes and compilers.
 *
 * A TABLE is CSV with a header: `id`, `lower` (first time), `upper` (first time after), `size` and `offset`, in any order;
 * `pool` where there are several, and `capacity` of it. `start`, and `end` as the last time, are taken, too; other columns
 * are not read. The exit status is 0 where all is sound, 3 where it is not, 2 where a table cannot be read. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ID, LOWER, UPPER, SIZE, OFFSET, POOL, CAPACITY, COLUMNS, LAST = COLUMNS };

static const char *const kNames[COLUMNS] = {"id", "lower", "upper", "size", "offset", "pool", "capacity"};

typedef struct {
  char *id, *pool;
  int64_t number[COLUMNS]; /* CAPACITY: -1 where there is none */
} Row;

static int wrong(const char *path, long line, const char *sentence, const char *value) {
  fprintf(stderr, "%s:%ld: %s, got '%s'\n", path, line, sentence, value);
  return 2;
}

static char *copy(const char *text) {
  char *made = malloc(strlen(text) + 1);
  if (made == NULL) abort();
  return strcpy(made, text);
}

/* Cut a line at its commas, without the quotes and blanks around a field; returns how many there are. */
static int split(char *line, char **fields, int most) {
  int count = 0;
  for (char *next = line; next != NULL && count < most;) {
    char *field = next, *end;
    while (*field == ' ') field++;
    if (*field == '"') {
      end = strchr(++field, '"');
      if (end == NULL) return -1;
      next = strchr(end, ',');
    } else {
      next = strchr(field, ',');
      end = next ? next : field + strlen(field);
      while (end > field && strchr(" \r\n", end[-1])) end--;
    }
    if (next != NULL) next++;
    *end = '\0';
    fields[count++] = field;
  }
  return count;
}

static int read_number(const char *text, int64_t *number) {
  char *end;
  errno = 0;
  const long long value = strtoll(text, &end, 10);
  *number = value;
  return *text != '\0' && *end == '\0' && errno == 0 && value > -((long long)1 << 60) && value < (long long)1 << 60;
}

static int read_header(const char *path, char *line, int *column) {
  char *fields[64];
  const int count = split(line, fields, 64);
  for (int k = 0; k <= LAST; k++) column[k] = -1;
  for (int f = 0; f < count; f++) {
    for (int k = 0; k < COLUMNS; k++)
      if (strcmp(fields[f], kNames[k]) == 0) column[k] = f;
    if (strcmp(fields[f], "start") == 0) column[LOWER] = f;
    if (strcmp(fields[f], "end") == 0) column[LAST] = f;
  }
  if (column[UPPER] < 0) column[UPPER] = column[LAST]; /* the last time; the first after it is one more */
  else column[LAST] = -1;
  for (int k = 0; k <= OFFSET; k++)
    if (column[k] < 0) return wrong(path, 1, "must have the columns id, lower, upper, size and offset", kNames[k]);
  return 0;
}

/* Read a row; `line` is cut into pieces. */
static int read_row(const char *path, long at, char *line, const int *column, Row *row) {
  char *fields[64];
  const int count = split(line, fields, 64);
  for (int k = 0; k < COLUMNS; k++) {
    const char *text = column[k] >= 0 && column[k] < count ? fields[column[k]] : "";
    if (k == ID && *text == '\0') return wrong(path, at, "must have an id", text);
    if (k == CAPACITY && *text == '\0') row->number[k] = -1;
    else if (k != ID && k != POOL && !read_number(text, &row->number[k]))
      return wrong(path, at, "must have a whole number in each of its columns", text);
  }
  row->id = copy(fields[column[ID]]);
  row->pool = copy(column[POOL] >= 0 && column[POOL] < count ? fields[column[POOL]] : "");
  if (column[LAST] >= 0) row->number[UPPER]++;
  if (row->number[UPPER] <= row->number[LOWER]) return wrong(path, at, "must end after it starts", row->id);
  if (row->number[SIZE] < 0 || row->number[OFFSET] < 0) return wrong(path, at, "must have no negative bytes", row->id);
  return 0;
}

static int by_start(const void *a, const void *b) {
  const int64_t x = ((const Row *)a)->number[LOWER], y = ((const Row *)b)->number[LOWER];
  return (x > y) - (x < y);
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

/* Print what is wrong with a row, and with it and those that start before and end after its start. */
static long check_row(const char *path, const Row *rows, const size_t *alive, size_t count, const Row *row) {
  const int64_t low = row->number[OFFSET], high = low + row->number[SIZE];
  long broken = 0;
  if (row->number[CAPACITY] >= 0 && high > row->number[CAPACITY]) {
    printf("%s: '%s' ends at %lld, above the capacity %lld\n", path, row->id, (long long)high,
           (long long)row->number[CAPACITY]);
    broken++;
  }
  for (size_t k = 0; k < count; k++) {
    const Row *other = &rows[alive[k]];
    const int64_t from = most(low, other->number[OFFSET]);
    const int64_t to = least(high, other->number[OFFSET] + other->number[SIZE]);
    if (from >= to || strcmp(row->pool, other->pool) != 0) continue;
    printf("%s: '%s' and '%s' share bytes [%lld, %lld)%s%s, but both are alive in [%lld, %lld)\n", path, other->id,
           row->id, (long long)from, (long long)to, *row->pool ? " of " : "", row->pool,
           (long long)row->number[LOWER], (long long)least(row->number[UPPER], other->number[UPPER]));
    broken++;
  }
  return broken;
}

/* Print all that is wrong with the rows, and return how much; -1 without memory. */
static long check(const char *path, Row *rows, size_t count) {
  size_t *alive = malloc((count + 1) * sizeof *alive), held = 0;
  long broken = 0;
  if (alive == NULL) return -1;
  qsort(rows, count, sizeof *rows, by_start);
  for (size_t k = 0; k < count; k++) {
    size_t kept = 0;
    for (size_t j = 0; j < held; j++)
      if (rows[alive[j]].number[UPPER] > rows[k].number[LOWER]) alive[kept++] = alive[j];
    broken += check_row(path, rows, alive, kept, &rows[k]);
    alive[kept] = k, held = kept + 1;
  }
  free(alive);
  return broken;
}

static int check_file(const char *path) {
  FILE *file = fopen(path, "r");
  static char line[1 << 16];
  int column[COLUMNS + 1], status = 0;
  size_t count = 0, room = 0;
  Row *rows = NULL;
  if (file == NULL || fgets(line, sizeof line, file) == NULL) {
    if (file != NULL) fclose(file);
    return wrong(path, 1, "must be a table that can be read", file ? "nothing" : strerror(errno));
  }
  status = read_header(path, line, column);
  for (long at = 2; status == 0 && fgets(line, sizeof line, file) != NULL; at++) {
    if (strchr(line, '\n') == NULL && !feof(file)) status = wrong(path, at, "must have lines below 64 KiB", "more");
    if (status != 0 || line[strspn(line, " \r\n")] == '\0') continue;
    if (count == room) {
      rows = realloc(rows, (room = 2 * room + 64) * sizeof *rows);
      if (rows == NULL) abort();
    }
    status = read_row(path, at, line, column, &rows[count]);
    if (status == 0) count++;
  }
  fclose(file);
  if (status == 0) {
    const long broken = check(path, rows, count);
    if (broken < 0) status = wrong(path, 1, "needs memory", "none");
    else if (broken > 0) status = 3;
  }
  for (size_t k = 0; k < count; k++) free(rows[k].id), free(rows[k].pool);
  free(rows);
  return status;
}

int main(int count, char **arguments) {
  int status = count < 2 ? wrong("memplan_check", 1, "must be given tables", "none") : 0;
  for (int k = 1; k < count; k++) {
    const int each = check_file(arguments[k]);
    if (each == 2 || status == 0) status = each;
  }
  return status;
}
