/* Check a plan without memplan, in C99: cc -O2 -o plan plan.c, then ./plan [--inclusive|--half-open] PROBLEM PLAN [SIZE|- ...]
   Exit status: 0 valid, 3 a rule is broken, 2 wrong input. PLAN is a table with the columns id and offset, maybe pool, or
   JSON: memplan's answer, or [[id, pool, offset], ...]. Problems with relative, may_share, bank, together or reuse, aliases
   that the plan names, and buffers of no bytes are left to plan.py. */
#include "problem.h"
static int *pool_of;
static W *offset_of;

static void lay(const Node *id, const Node *pool, W low) {
  int i = row_of(id), q = 0;
  if (B[i].root != i) stop(2, "aliases are left to plan.py");
  if (pool) while (q < pools && differ(P[q].name, pool)) q++;
  if (q == pools) stop(2, "a name of no pool");
  if (pool_of[i] >= 0) stop(2, "a buffer twice");
  pool_of[i] = q, offset_of[i] = low;
}
static void read_plan(char *text) {
  if (*text == '[' || *text == '{') {
    static Node data; const char *after; const Node *rows = &data, *low;
    data = (at = text, parse(0));
    if (*text == '{') rows = NULL;
    for (int k = 0; *text == '{' && k < data.count; k += 2) {
      if (!is_text(&data.item[k], "\"placements")) continue;
      if (rows) stop(2, "placements twice");
      rows = &data.item[k + 1];
    }
    if (!rows || *rows->text != '[') stop(2, "placements were expected");
    for (int k = 0; k < rows->count; k++) {
      const Node *row = &rows->item[k], *id = row->item, *pool = id + 1;
      if (*text == '{') fields(row, "id=i pool=s? offset=b", "id", "offset"), id = get(row, "id"), pool = get(row, "pool"), low = get(row, "offset");
      else if (row->count != 3) stop(2, "[id, pool, offset] was expected");
      else low = id + 2;
      lay(id, pool, integer(low->text, &after));
    }
    return;
  }
  int column[16], columns = 0;
  for (char *line = text, *rest; line && *line; line = rest) {
    Node id = {NULL, 0, 0, NULL}, pool = id; W low = -1; char *cell = line, *next; const char *after; int k = 0;
    if ((rest = strchr(line, '\n'))) *rest++ = 0;
    if (line[strcspn(line, "\r")] = 0, !*line) continue;
    int is_head = !columns;
    for (; cell && k < 16; k++, cell = next) {
      if ((next = strchr(cell, ','))) *next++ = 0;
      if (is_head) { column[columns++] = !strcmp(cell, "id") ? 1 : !strcmp(cell, "pool") ? 2 : strcmp(cell, "offset") ? 0 : 3; continue; }
      if (k >= columns) stop(2, "a row of another length");
      if (column[k] == 1) id = (Node){cell, (int)strlen(cell), 0, NULL};
      if (column[k] == 2) pool = (Node){cell, (int)strlen(cell), 0, NULL};
      if (column[k] == 3) low = integer(cell, &after);
    }
    if (is_head) continue;
    if (k != columns || !id.length || low < 0) stop(2, "an id and an offset were expected");
    lay(&id, pools > 1 ? &pool : NULL, low);
  }
}
static int share(int i, int j) {
  return i != j && pool_of[i] == pool_of[j] && offset_of[i] < offset_of[j] + B[j].size && offset_of[j] < offset_of[i] + B[i].size;
}
int main(int count, char **given) {
  int interval = count > 1 && !strcmp(given[1], "--inclusive") ? 1 : count > 1 && !strcmp(given[1], "--half-open") ? 0 : -1;
  if (interval >= 0) count--, given++;
  if (count < 3) stop(2, "plan [--inclusive|--half-open] PROBLEM PLAN [SIZE|- ...]");
  static char *problem; char *text = problem = read_file(given[1]), *plan = read_file(given[2]);
  text += strncmp(text, "\xef\xbb\xbf", 3) ? 0 : 3;
  if (strstr(text, "\"bank\"") || strstr(text, "\"together\"") || is_tied) stop(2, "rules that are left to plan.py");
  if (text[strspn(text, " \t\r\n")] == '{') read_json(text, interval);
  else P[0] = (Pool){0, 1, 0, 0, 0, NULL, NULL, NULL}, pools = 1, read_csv(text, interval);
  if (count > 3 && count - 3 != pools) stop(2, "a size for each pool was expected");
  for (int q = 0; q < pools; q++) {
    if (count > 3) P[q].has_size = strcmp(given[q + 3], "-") != 0, P[q].size = P[q].has_size ? number(given[q + 3], 19) : 0;
    end[q] = P[q].has_size ? P[q].size : INT64_MAX;
  }
  place = room((size_t)n * (size_t)pools, sizeof *place);
  pool_of = room((size_t)n, sizeof *pool_of), offset_of = room((size_t)n, sizeof *offset_of);
  for (int i = 0; i < n; i++) {
    pool_of[i] = -1;
    if (B[i].group != B[i].root || pair_count[1]) stop(2, "rules that are left to plan.py");
    if (is_solid(i) && B[i].pin != FAR) pinned = grown(pinned, pins, sizeof(int)), pinned[pins++] = i;
  }
  read_plan(plan);
  W used[POOLS] = {0}, all = 0;
  for (int i = 0; i < n; i++) {
    if (B[i].root == i && pool_of[i] < 0) stop(3, "a buffer without a place");
    if (!is_solid(i) && B[i].root == i) stop(2, "buffers of no bytes are left to plan.py");
    if (!is_solid(i)) continue;
    if (legal(i, pool_of[i], offset_of[i]) != offset_of[i]) stop(3, "a buffer where it may not be");
    if (offset_of[i] + B[i].size > used[pool_of[i]]) used[pool_of[i]] = offset_of[i] + B[i].size;
    for (int j = 0; j < i; j++) if (is_solid(j) && share(i, j) && meets(i, j)) stop(3, "two buffers that share bytes");
  }
  printf("valid: uses");
  for (int q = 0; q < pools; all += used[q++]) printf(" %lld", (long long)used[q]);
  return printf(" bytes of its pools, %lld in all\n", (long long)all), 0;
}
