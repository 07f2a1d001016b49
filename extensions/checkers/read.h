/* Read a problem for check.c: memplan's JSON, or its CSV without quotes; it does the same as read.py. What
   docs/certificates.md does not list ends with status 2. Kept are the rules that certificates use. */
#include "json.h"
#define FAR ((W)1 << 80) /* above all offsets */
#define POOLS 62
#define MOST ((W)1 << 62)
#define ALL_POOLS (~(uint64_t)0 >> (64 - pools))
typedef struct { W from, to; } Range;
typedef struct { W alignment, above, modulus, remainder; } Rule; /* of a buffer, or of an alias so far above it */
typedef struct {
  W size, page, pin; /* pin: -1 pinned to two places, FAR not pinned */
  int root, group, lives, rules; uint64_t open; /* the pools that it may be in, as bits */
  Range *life; Rule *rule;
} Buffer;
typedef struct { W size, alignment, base; int has_size, ranges; Range *range; const Node *name, *cost; } Pool;
static Buffer *B;
static Pool P[POOLS];
static W *traffic; /* of each row */
static int n, pools, is_closed, pair_count[2];
static struct { int first, second; W cost; } *priced; /* pairs of `reuse`, as roots */
static int prices_read;
static uint64_t *pair[2]; /* buffers that conflict by name, and those that may share: sorted */
/* A letter a kind of value, ? where it may be null. */
static const char ROW[] = " id=i size=b start=t? end=t? lifetimes=T? alignment=a pools=N? offset=b? traffic=b? hint=b? "
  "alias_of=i? alias_offset=b? relative=o? no_cross=a? offset_mod=o? forbid_pools=n ";
static const char POOL[] = " name=s size=z? alignment=a base_address=b cost=c reserved=R bank_size=a? device=i? ";
static const char PROBLEM[] = " format=w? name=S? interval=w buffers=l conflicts=P may_share=P bank=l reuse=l together=l "
  "pools=l? objective=w ";

static int is_decimal(const Node *x) { /* a number that is not negative, of at most 40 characters */
  const char *c = x->text, *end = c + x->length, *after;
  if (x->length > 40 || !isdigit((unsigned char)*c) || (*c == '0' && isdigit((unsigned char)c[1]))) return 0;
  while (c < end && isdigit((unsigned char)*c)) c++;
  if (c < end && *c == '.') {
    if (!isdigit((unsigned char)*++c)) return 0;
    while (c < end && isdigit((unsigned char)*c)) c++;
  }
  if (c < end && (*c == 'e' || *c == 'E')) {
    c += c[1] == '+' || c[1] == '-' ? 2 : 1, after = c;
    while (isdigit((unsigned char)*c)) c++;
    if (c == after || c > after + 3) return 0;
  }
  after = c;
  double value = strtod(x->text, NULL); int first = 0, sum = 0;
  for (c = x->text; c < end && *c != 'e' && *c != 'E'; c++) if (*c != '.') sum += *c - '0', first = first ? first : *c - '0';
  /* All that lies near 1e30 is read as that: 9.9... is below it, and 1.0...1 above. */
  return after == end && (value < 1e30 || (value == 1e30 && (first == 9 || sum == 1)));
}
static int is_whole(const Node *x, W low, W high) {
  const char *after, *digit = x->text + (*x->text == '-'); if (!isdigit((unsigned char)*digit)) return 0;
  W found = integer(x->text, &after); return after == x->text + x->length && low <= found && found <= high;
}
static int is_right(char kind, const char *name, const Node *x) {
  const char *each = strchr("NnIPRT", kind); int pairs = kind == 'P' || kind == 'R' || kind == 'T';
  if (each) {
    if (*x->text != '[' || (!x->count && strchr("NIT", kind))) return 0;
    for (int k = 0; k < x->count; k++) {
      const Node *row = &x->item[k]; char of = kind == 'n' || kind == 'N' ? 's' : kind == 'R' ? 'b' : kind == 'T' ? 't' : 'i';
      if (pairs && (*row->text != '[' || row->count != 2)) return 0;
      for (int m = 0; m < (pairs ? 2 : 1); m++) if (!is_right(of, name, pairs ? &row->item[m] : row)) return 0;
    }
    return 1;
  }
  switch (kind) {
    case 'a': return is_whole(x, 1, MOST);
    case 'b': return is_whole(x, 0, MOST);
    case 'd': return is_whole(x, -MOST, MOST);
    case 'z': return is_whole(x, 0, INT64_MAX);
    case 't': return is_whole(x, INT64_MIN, INT64_MAX);
    case 's': return *x->text == '"' && x->length > 1;
    case 'i': return *x->text == '"' ? x->length > 1 : is_whole(x, INT64_MIN, INT64_MAX);
    case 'c': return is_decimal(x);
    case 'l': return *x->text == '[';
    case 'o': return *x->text == '{';
    case 'S': return *x->text == '"';
  }
  return *name == 'f' ? is_text(x, "\"memplan/1") : *name == 'i' ? is_text(x, "\"half-open") || is_text(x, "\"closed")
    : *x->text == '[' ? x->count == 2 && is_text(&x->item[0], "\"peak") && is_text(&x->item[1], "\"cost")
    : is_text(x, "\"peak") || is_text(x, "\"fit") || is_text(x, "\"cost");
}
static const Node *fields(const Node *x, const char *spec, const char *needed, const char *needed_too) {
  uint32_t seen = 0;
  if (*x->text != '{') stop(2, "an object was expected");
  for (int k = 0; k < x->count; k += 2) {
    const Node *name = &x->item[k], *entry = name + 1; int field = 0; const char *c = spec;
    for (; *c; c += strcspn(c, " "), c += *c != 0, field++)
      if (!strncmp(c, name->text + 1, (size_t)name->length - 1) && c[name->length - 1] == '=' && name->length > 1) break;
    if (!*c || seen >> field & 1) stop(2, "a field that is not known, or is there twice");
    const char *kind = c + name->length;
    if (!(kind[1] == '?' && is_text(entry, "null")) && !is_right(*kind, c, entry)) stop(2, "a wrong value");
    seen |= (uint32_t)1 << field;
  }
  if ((needed && !get(x, needed)) || (needed_too && !get(x, needed_too))) stop(2, "a field is missing");
  return x;
}

typedef struct { const Node *id; int row; } Name;
static Name *name;
static int by_id(const void *a, const void *b) { return differ(((const Name *)a)->id, ((const Name *)b)->id); }
static int row_of(const Node *id) {
  Name wanted = {id, 0}, *found = bsearch(&wanted, name, (size_t)n, sizeof wanted, by_id);
  if (!found) stop(2, "an id that no buffer has");
  return found->row;
}
static void check_ids(void) {
  qsort(name, (size_t)n, sizeof *name, by_id);
  for (int i = 1; i < n; i++) if (!by_id(&name[i - 1], &name[i])) stop(2, "an id twice");
}
static int by_number(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b; return x < y ? -1 : x > y;
}
static uint64_t key_of(int i, int j) { return (uint64_t)(i < j ? i : j) << 32 | (uint64_t)(i < j ? j : i); }
static uint64_t pools_of(const Node *names) { /* as bits */
  uint64_t found = 0;
  for (int k = 0; k < names->count; k++) {
    int q = 0;
    while (q < pools && differ(P[q].name, &names->item[k])) q++;
    if (q == pools) stop(2, "a name of no pool");
    found |= (uint64_t)1 << q;
  }
  return found;
}
static void read_pools(const Node *rows) {
  static const Node nothing = {"{", 1, 0, NULL}, unnamed = {"\"default", 8, 0, NULL};
  if ((pools = rows && rows->count ? rows->count : 1) > POOLS) stop(2, "too many pools");
  for (int q = 0; q < pools; q++) {
    const Node *row = rows && rows->count ? fields(&rows->item[q], POOL, NULL, NULL) : &nothing, *x = get(row, "reserved");
    Pool p = {value(row, "size", 0), value(row, "alignment", 1), value(row, "base_address", 0), get(row, "size") != NULL,
              0, NULL, get(row, "name") ? get(row, "name") : &unnamed, get(row, "cost")};
    for (int k = 0; x && k < x->count; k++) {
      const char *after; W low = integer(x->item[k].item[0].text, &after), size = integer(x->item[k].item[1].text, &after);
      if (size) p.range = grown(p.range, p.ranges, sizeof(Range)), p.range[p.ranges++] = (Range){low, low + size};
    }
    for (int k = 0; k < q; k++) if (!differ(P[k].name, p.name)) stop(2, "a name twice");
    P[q] = p;
  }
}
static void live(int i, W from, W to) {
  if ((to += is_closed) <= from || to > INT64_MAX) stop(2, "a lifetime that ends before it starts");
  B[i].life = grown(B[i].life, B[i].lives, sizeof(Range)), B[i].life[B[i].lives++] = (Range){from, to};
}
static void follow(const int *after, const W *step, int *end, W *above) { /* each chain to its end, and how far that is */
  int *path = room((size_t)n, sizeof *path); char *is_known = room((size_t)n, 1);
  for (int i = 0; i < n; i++) {
    int j = i, count = 0;
    for (; !is_known[j] && after[j] >= 0; j = after[j]) {
      if (count == n) stop(2, "a circle");
      path[count++] = j;
    }
    if (!is_known[j]) end[j] = j, above[j] = 0, is_known[j] = 1;
    for (; count--; j = path[count]) {
      int k = path[count]; end[k] = end[j], above[k] = above[j] + step[k], is_known[k] = 1;
    }
  }
  free(path), free(is_known);
}
static void read_row(int i, const Node *row, W above) {
  const Node *x; Buffer *b = &B[B[i].root]; const char *after; uint64_t mine = ALL_POOLS;
  if (!get(row, "start") != !get(row, "end")) stop(2, "half a lifetime");
  if (get(row, "start") && get(row, "lifetimes")) stop(2, "lifetimes beside start and end");
  if ((x = get(row, "lifetimes"))) for (int k = 0; k < x->count; k++)
    live(B[i].root, integer(x->item[k].item[0].text, &after), integer(x->item[k].item[1].text, &after));
  else if (get(row, "end")) live(B[i].root, value(row, "start", 0), value(row, "end", 0));
  Rule rule = {value(row, "alignment", 1), above, 0, 0};
  if ((x = get(row, "offset_mod"))) {
    fields(x, " modulus=a remainder=b ", "modulus", "remainder");
    rule.modulus = value(x, "modulus", 0), rule.remainder = value(x, "remainder", 0);
    if (rule.remainder >= rule.modulus) stop(2, "a remainder that is none");
  }
  b->rule = grown(b->rule, b->rules, sizeof rule), b->rule[b->rules++] = rule;
  if (get(row, "alias_of") && (get(row, "relative") || get(row, "no_cross"))) stop(2, "a wrong alias");
  if (!get(row, "alias_of") && get(row, "alias_offset")) stop(2, "alias_offset without alias_of");
  if ((x = get(row, "pools"))) mine = pools_of(x);
  if ((x = get(row, "forbid_pools"))) mine &= ~pools_of(x);
  if (!mine || (get(row, "offset") && mine & (mine - 1))) stop(2, "no pool left, or a pin without the one pool it is for");
  b->open &= mine;
  if (get(row, "offset")) {
    W pin = value(row, "offset", 0) - above; b->pin = b->pin == FAR || b->pin == pin ? pin : -1;
  }
}
#include "forms.h"
