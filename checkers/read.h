/* Read a problem for check.c: memplan's JSON, or its CSV without quotes. What cannot be read ends with status 2.
   Kept are the rules that certificates use; docs/proofs.md says why it is sound to leave out the others. */
#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
__extension__ typedef __int128 W; /* sums of a million numbers below 2^63 */
#define FAR ((W)1 << 80) /* above all offsets */
#define POOLS 64
#define ALL_POOLS (~(uint64_t)0 >> (64 - pools))
typedef struct { W from, to; } Range;
typedef struct { W alignment, above, modulus, remainder; } Rule; /* of a buffer, or of an alias so far above it */
typedef struct {
  W size, page, pin; /* pin: -1 pinned to two places, FAR not pinned */
  int root, group, lives, rules; uint64_t open; /* the pools that it may be in, as bits */
  Range *life; Rule *rule;
} Buffer;
typedef struct { W size, alignment, base; int has_size, ranges; Range *range; } Pool;
typedef struct Node { char *text; int length, count; struct Node *item; } Node; /* of objects: key, value, key, ... */
static Buffer *B;
static Pool P[POOLS];
static int n, pools, is_cost, pair_count[2];
static uint64_t *pair[2]; /* buffers that conflict by name, and those that may share: sorted */
static const char *at;

static void stop(int status, const char *why) {
  printf("%s: %s\n", status == 3 ? "refused" : status ? "wrong input" : "proved", why); exit(status);
}
static void *grown(void *old, long long count, size_t bytes) {
  void *p = old; /* room for one more: twice as much at each power of two */
  if (!(count & (count - 1)) && !(p = realloc(old, ((size_t)count * 2 + 1) * bytes))) stop(2, "no memory");
  return p;
}
static W number(const char *text) {
  char *after; long long x = (errno = 0, strtoll(text, &after, 10));
  if (after == text || errno == ERANGE || !strchr(",:]} \t\r\n", *after)) stop(2, "a number was expected");
  return x;
}
static void skip(void) { while (*at && strchr(" \t\r\n", *at)) at++; }
static Node parse(int depth) {
  Node x = {(skip(), (char *)at), 0, 0, NULL};
  if (*at == '"') {
    for (at++; *at && *at != '"'; at++) if (*at == '\\' && at[1]) at++;
    if (!*at++) stop(2, "a string without an end");
  } else if (*at == '[' || *at == '{') {
    char open = *at++, close = open == '[' ? ']' : '}';
    if (depth > 60) stop(2, "too deep");
    for (skip(); *at != close; skip()) {
      if (x.count && *at++ != ',') stop(2, "a comma was expected");
      x.item = grown(x.item, x.count, sizeof x), x.item[x.count] = parse(depth + 1), x.count++;
      if (open == '[') continue;
      if (skip(), *at++ != ':') stop(2, "a colon was expected");
      x.item = grown(x.item, x.count, sizeof x), x.item[x.count] = parse(depth + 1), x.count++;
    }
    at++;
  } else while (*at && !strchr(",]} \t\r\n", *at)) at++;
  if ((x.length = (int)(at - x.text)) == 0) stop(2, "a value was expected");
  return x;
}
static const Node *get(const Node *object, const char *key) { /* NULL where it is absent, or null */
  const Node *found = NULL;
  if (object->text[0] != '{') stop(2, "an object was expected");
  for (int k = 0; k < object->count; k += 2)
    if (object->item[k].length == (int)strlen(key) + 2 && !strncmp(object->item[k].text + 1, key, strlen(key)))
      found = &object->item[k + 1];
  return found && *found->text != 'n' ? found : NULL;
}
static W value(const Node *object, const char *key, W otherwise) {
  const Node *found = get(object, key); return found ? number(found->text) : otherwise;
}
static int differ(const Node *x, const Node *y) {
  return x->length != y->length ? x->length - y->length : memcmp(x->text, y->text, (size_t)x->length);
}

typedef struct { const Node *id; int row; } Name;
static Name *name;
static int by_id(const void *a, const void *b) { return differ(((const Name *)a)->id, ((const Name *)b)->id); }
static int row_of(const Node *id) {
  Name wanted = {id, 0}, *found = id ? bsearch(&wanted, name, (size_t)n, sizeof wanted, by_id) : NULL;
  if (!found) stop(2, "an id that no buffer has");
  return found->row;
}
static int by_number(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b; return x < y ? -1 : x > y;
}
static uint64_t key_of(int i, int j) { return (uint64_t)(i < j ? i : j) << 32 | (uint64_t)(i < j ? j : i); }
static uint64_t pools_of(const Node *names, const Node *rows) { /* as bits */
  uint64_t found = 0;
  for (int q = 0; q < pools; q++) {
    const Node unnamed = {"\"default\"", 9, 0, NULL}, *mine = rows && rows->count ? get(&rows->item[q], "name") : NULL;
    for (int k = 0; k < names->count; k++)
      if (!differ(mine ? mine : &unnamed, &names->item[k])) found |= (uint64_t)1 << q;
  }
  return found;
}
static void read_pools(const Node *rows) {
  pools = rows && rows->count ? rows->count : 1;
  if (pools > POOLS) stop(2, "too many pools");
  for (int q = 0; q < pools; q++) {
    Pool p = {0, 1, 0, 0, 0, NULL};
    const Node *row = rows && rows->count ? &rows->item[q] : NULL, *ranges = row ? get(row, "reserved") : NULL;
    if (row) p.has_size = get(row, "size") != NULL, p.size = value(row, "size", 0);
    if (row) p.alignment = value(row, "alignment", 1), p.base = value(row, "base_address", 0);
    for (int k = 0; ranges && k < ranges->count; k++) {
      if (ranges->item[k].count != 2) stop(2, "a range is a start and a size");
      W low = number(ranges->item[k].item[0].text), size = number(ranges->item[k].item[1].text);
      if (size) p.range = grown(p.range, p.ranges, sizeof(Range)), p.range[p.ranges++] = (Range){low, low + size};
    }
    P[q] = p;
  }
}
static void read_row(int i, const Node *rows, const Node *pool_rows) {
  const Node *row = &rows->item[i], *x; int r = i, turns = 0; W above = 0;
  while ((x = get(&rows->item[r], "alias_of"))) {
    above += value(&rows->item[r], "alias_offset", 0), r = row_of(x);
    if (++turns > n) stop(2, "aliases in a circle");
  }
  Buffer *b = &B[r];
  B[i].root = r;
  if ((x = get(row, "lifetimes")) && x->count) for (int k = 0; k < x->count; k++) {
    if (x->item[k].count != 2) stop(2, "a lifetime is a start and an end");
    b->life = grown(b->life, b->lives, sizeof(Range));
    b->life[b->lives++] = (Range){number(x->item[k].item[0].text), number(x->item[k].item[1].text)};
  } else if (get(row, "end")) {
    b->life = grown(b->life, b->lives, sizeof(Range));
    b->life[b->lives++] = (Range){value(row, "start", 0), value(row, "end", 0)};
  }
  Rule rule = {value(row, "alignment", 1), above, 0, 0};
  if ((x = get(row, "offset_mod"))) rule.modulus = value(x, "modulus", 0), rule.remainder = value(x, "remainder", 0);
  if (rule.alignment < 1 || (x && rule.modulus < 1)) stop(2, "an alignment or a modulus below 1");
  b->rule = grown(b->rule, b->rules, sizeof rule), b->rule[b->rules++] = rule;
  if (get(row, "offset")) {
    W pin = value(row, "offset", 0) - above; b->pin = b->pin == FAR || b->pin == pin ? pin : -1;
  }
  if ((x = get(row, "pools")) && x->count) b->open &= pools_of(x, pool_rows);
  if ((x = get(row, "forbid_pools"))) b->open &= ~pools_of(x, pool_rows);
}
static void read_json(const char *text) {
  const char *word[2] = {"conflicts", "may_share"}; Node data = (at = text, parse(0));
  const Node *rows = get(&data, "buffers"), *pool_rows = get(&data, "pools"), *x = get(&data, "objective");
  if (!rows || rows->text[0] != '[') stop(2, "a problem has buffers");
  is_cost = x && x->length == 6 && !strncmp(x->text, "\"cost\"", 6), n = rows->count, read_pools(pool_rows);
  B = malloc(((size_t)n + 1) * sizeof *B), name = malloc(((size_t)n + 1) * sizeof *name);
  if (!B || !name) stop(2, "no memory");
  for (int i = 0; i < n; i++) {
    const Node *row = &rows->item[i];
    B[i] = (Buffer){value(row, "size", -1), value(row, "no_cross", 0), FAR, i, i, 0, 0, ALL_POOLS, NULL, NULL};
    name[i] = (Name){get(row, "id"), i};
    if (!name[i].id || B[i].size < 0) stop(2, "a buffer has an id, and a size of at least 0");
  }
  qsort(name, (size_t)n, sizeof *name, by_id);
  for (int i = 0; i < n; i++) read_row(i, rows, pool_rows);
  for (int w = 0; w < 2; w++) {
    x = get(&data, word[w]);
    for (int k = 0; x && k < x->count; k++) {
      if (x->item[k].count != 2) stop(2, "a pair is of two");
      pair[w] = grown(pair[w], pair_count[w], sizeof(uint64_t));
      pair[w][pair_count[w]++] = key_of(B[row_of(&x->item[k].item[0])].root, B[row_of(&x->item[k].item[1])].root);
    }
    if (pair_count[w]) qsort(pair[w], (size_t)pair_count[w], sizeof(uint64_t), by_number);
  }
  for (int i = 0; i < n; i++) if ((x = get(&rows->item[i], "relative"))) {
    int a = B[i].group, b = B[B[row_of(get(x, "to"))].root].group;
    for (int j = 0; j < n; j++) if (B[j].group == a || B[j].group == b) B[j].group = a < b ? a : b;
  }
}
static void read_csv(char *text) { /* a head with the names of columns, then a row a buffer */
  static const char *known[] = {"id", "size", "lower", "start", "upper", "end", "alignment", "offset"};
  int column[64], columns = 0, is_head = 1;
  for (char *line = text, *rest; line; line = rest) {
    if ((rest = strchr(line, '\n'))) *rest++ = 0;
    Rule rule = {1, 0, 0, 0}; Range life = {1, 0};
    Buffer b = {0, 0, FAR, n, n, 0, 0, ALL_POOLS, NULL, NULL};
    char *cell = line, *next;
    if (line[strcspn(line, "\r")] = 0, !line[strspn(line, " ,")]) continue;
    for (int k = 0; cell; k++, cell = next) {
      if ((next = strchr(cell, ','))) *next++ = 0;
      while (*cell == ' ') cell++;
      if (k >= 64 || strchr(cell, '"')) stop(2, "quotes, or too many columns");
      cell[strcspn(cell, " ")] = 0;
      if (is_head) {
        for (column[k] = 0; column[k] < 8 && strcmp(cell, known[column[k]]); column[k]++) {}
        if (column[columns = k] == 8) stop(2, "a column that it does not know");
        continue;
      }
      if (k > columns || column[k] == 0 || !*cell) continue;
      W x = number(cell);
      if (column[k] == 1) b.size = x;
      else if (column[k] < 6) *(column[k] < 4 ? &life.from : &life.to) = x;
      else *(column[k] == 6 ? &rule.alignment : &b.pin) = x;
    }
    if (is_head) { is_head = 0; continue; }
    if (life.from >= life.to || rule.alignment < 1 || b.size < 0) stop(2, "a wrong row");
    b.life = grown(NULL, 0, sizeof life), b.life[b.lives++] = life;
    b.rule = grown(NULL, 0, sizeof rule), b.rule[b.rules++] = rule;
    B = grown(B, n, sizeof b), B[n++] = b;
  }
}
