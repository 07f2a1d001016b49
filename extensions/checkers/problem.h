/* What may share bytes in the problem of check.c, and where each buffer may lie: the rules of docs/certificates.md. */
#include "read.h"
typedef struct { int count, *who; W *low; } State; /* buffers, and their least offsets, one a pool; FAR: not there */
typedef struct { int count, *who; Range **block; int *blocks; } Set; /* free buffers; what is in their way */
typedef struct { W step, rest; int ranges, is_known; Range *range; } Place; /* of a buffer in a pool; step 0: nowhere */
static Place *place;
static int *pinned, pins; /* of some bytes */
static W end[POOLS]; /* the claim: nothing ends at or below all of these */

static char *read_file(const char *path) {
  FILE *f = fopen(path, "rb"); size_t size = 0, room = 1 << 16; char *found = f ? malloc(room) : NULL;
  for (size_t got; found && (got = fread(found + size, 1, room - size - 1, f)) > 0;)
    if ((size += got) + 1 == room) found = realloc(found, room *= 2);
  if (!found) stop(2, "a file that cannot be read");
  fclose(f), found[size] = 0;
  if (strlen(found) != size) stop(2, "a file with zero bytes");
  return check_utf8((unsigned char *)found), found;
}
static int is_pair(int which, int i, int j) {
  uint64_t key = key_of(i, j);
  return pair_count[which] && bsearch(&key, pair[which], (size_t)pair_count[which], sizeof key, by_number) != NULL;
}
static int meets(int i, int j) { /* may these never share bytes? */
  if (i == j) return 0;
  if (is_pair(0, i, j)) return 1;
  if (B[i].group == B[j].group || is_pair(1, i, j)) return 0;
  for (int a = 0; a < B[i].lives; a++) for (int b = 0; b < B[j].lives; b++)
    if (B[i].life[a].from < B[j].life[b].to && B[j].life[b].from < B[i].life[a].to) return 1;
  return 0;
}
static int is_solid(int i) { return B[i].root == i && B[i].size > 0; }
static int is_tied; /* may some that are alive together share bytes? */
static int by_start(const void *a, const void *b) {
  W x = ((const Range *)a)->from, y = ((const Range *)b)->from; return x < y ? -1 : x > y;
}
/* The ranges of a pool that are reserved, or of pinned buffers that i meets, or that are in a set: sorted, disjoint. */
static Range *fixed(int i, const State *in, int q, int *count) {
  Range *found = grown(NULL, 0, sizeof *found); W top = 0;
  *count = 0;
  for (int k = 0; k < P[q].ranges; k++) found = grown(found, *count, sizeof *found), found[(*count)++] = P[q].range[k];
  for (int k = 0; k < (in ? in->count : pins); k++) {
    int j = in ? in->who[k] : pinned[k];
    if (B[j].pin == FAR || !is_solid(j) || B[j].open != (uint64_t)1 << q || (!in && !meets(i, j))) continue;
    found = grown(found, *count, sizeof *found), found[(*count)++] = (Range){B[j].pin, B[j].pin + B[j].size};
  }
  qsort(found, (size_t)*count, sizeof *found, by_start);
  for (int k = 0; k < *count; k++) {
    Range r = found[k]; found[k].from = r.from > top ? r.from : top, top = found[k].to = r.to > top ? r.to : top;
  }
  return found;
}
static W mod(W x, W m) { return (x % m + m) % m; }
static W gcd(W a, W b) { return b ? gcd(b, a % b) : a; }
static W inverse(W a, W m) { /* of coprime numbers */
  W x = 0, y = 1, r = m, s = mod(a, m), q, t;
  while (r) q = s / r, t = s - q * r, s = r, r = t, t = y - q * x, y = x, x = t;
  return mod(y, m);
}
static void narrow(Place *p, W m, W r) { /* offsets are r modulo m as well */
  if (!p->step || m == 1) return;
  if (p->step >= FAR) { if (mod(r - p->rest, m)) p->step = 0; return; } /* of such a step one offset counts, its rest */
  W g = gcd(p->step, m), more = m / g;
  if (mod(r - p->rest, g)) { p->step = 0; return; }
  W turns = mod(mod((r - p->rest) / g, more) * inverse(p->step / g, more), more);
  if (turns > FAR / p->step || (p->rest += p->step * turns) >= FAR) { p->step = 0; return; } /* beyond all ends */
  p->step = more > FAR / p->step ? FAR : p->step * more;
}
static const Place *place_of(int i, int q) {
  Place *p = &place[(size_t)i * (size_t)pools + (size_t)q];
  if (p->is_known) return p;
  p->is_known = 1, p->step = B[i].open >> q & 1;
  for (int k = 0; k < B[i].rules && p->step; k++) {
    const Rule *r = &B[i].rule[k];
    if (r->modulus) narrow(p, r->modulus, r->remainder - r->above);
    narrow(p, r->alignment, -P[q].base - r->above), narrow(p, P[q].alignment, -P[q].base - r->above);
  }
  W page = B[i].page, first = p->step && p->step < FAR && page > 0 ? mod(P[q].base + p->rest, gcd(p->step, page)) : 0;
  if (page > 0 && first + B[i].size > page) p->step = 0; /* as near to the start of a page as it may, it crosses */
  p->rest = p->step ? mod(p->rest, p->step) : 0;
  return p->range = fixed(i, NULL, q, &p->ranges), p;
}
static W legal(int i, int q, W x) { /* the first offset of i in q, not below x, from which it ends by the claim's end */
  const Place *p = place_of(i, q); W size = B[i].size, before = -1, last = end[q] - size;
  for (int turns = 0; p->step && before < x && x <= last && turns < 1000; turns++) {
    W found = before = x;
    if (B[i].pin != FAR) found = x = x <= B[i].pin ? B[i].pin : FAR;
    found += mod(p->rest - x, p->step);
    for (int k = 0; k < p->ranges; k++)
      if (p->range[k].from < x + size && x < p->range[k].to && p->range[k].to > found) found = p->range[k].to;
    x = found;
    if (B[i].page > 0 && mod(P[q].base + x, B[i].page) + size > B[i].page)
      x += size <= B[i].page ? mod(-P[q].base - x, B[i].page) : FAR;
  }
  return p->step && x <= last ? x : FAR;
}
static W reach(const Set *s, int q, W grain, W rest, W x, W amount) { /* the least end with so much free from x on */
  for (int k = 0; k < s->blocks[q]; k++) {
    W low = s->block[q][k].from + mod(rest - s->block[q][k].from, grain);
    W high = s->block[q][k].to + mod(rest - s->block[q][k].to, grain);
    if (amount <= low - x) break;
    amount -= low > x ? low - x : 0, x = high > x ? high : x;
  }
  return x + amount;
}
static char *word(char **line) { /* the next word, or NULL at the end of the line; words have one space between them */
  char *found = *line, *after;
  if (!found) return NULL;
  if ((after = found + strcspn(found, " ")) == found) stop(2, "a word was expected");
  return *line = *after ? after + 1 : NULL, *after = 0, found;
}
static W number(const char *text, int most) { /* a whole word; of 19 digits, below 2^63 */
  const char *after; W x = digits(text, most, &after);
  if (*after || (most == 19 && x > INT64_MAX)) stop(2, "a wrong number");
  return x;
}
static int index_of(const char *text, int count) {
  W x = number(text, 19);
  if (x >= count) stop(2, "a number of what is not there");
  return (int)x;
}
