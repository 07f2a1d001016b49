/* Check a certificate without memplan, in C99: cc -O2 -o check check.c, then
   ./check [--inclusive|--half-open] PROBLEM CERTIFICATE [SIZE[@ADDRESS]|- ...]
   Exit status: 0 proved, 3 refused, 2 wrong input. The sizes are those of the pools, where the problem has others or
   none. It does the same as check.py; docs/certificates.md says what is read, and why the rules are sound. */
#include "problem.h"
static State *lemma;
static Set *set;
static int lemmas, sets, first_lemma, first_set; /* those of the claim begin there */
static W *cur;
static char *here, *is_named; /* the buffers in the state at hand, and in that which is read */
static int is_about_costs;
#define LOW(i, q) cur[(size_t)(i) * (size_t)pools + (size_t)(q)] /* and their lows */
#include "costs.h"

static int is_gone(int i) {
  for (int q = 0; q < pools; q++) if (LOW(i, q) < FAR) return 0;
  return 1;
}
static int is_inside(int i, uint64_t bits) { /* is it in the state at hand, in these pools only? */
  for (int q = 0; q < pools && here[i]; q++) if (LOW(i, q) < FAR && !(bits >> q & 1)) return 0;
  return here[i];
}
static int rank_pool;
static int by_height(const void *x, const void *y) { /* the highest low first, then the largest */
  int i = *(const int *)x, j = *(const int *)y; W a = LOW(i, rank_pool), b = LOW(j, rank_pool);
  return a != b ? (a < b) - (a > b) : B[i].size != B[j].size ? (B[i].size < B[j].size) - (B[i].size > B[j].size) : j - i;
}
static int is_too_long(char *ref) { /* set[:granule:remainder:pools] */
  char *part[4] = {ref + 1, "1", "0", "1"}; int count = 0, fails = 0, q = 0, words = 1;
  char text[96];
  if (strlen(ref) >= sizeof text) stop(2, "a wrong reference");
  strcpy(text, ref + 1), part[0] = text;
  for (char *c = text; (c = strchr(c, ':')); words++) {
    if (words == 4) stop(2, "a wrong reference");
    *c++ = 0, part[words] = c;
  }
  if (words != 1 && words != 4) stop(2, "a wrong reference");
  const Set *s = &set[first_set + index_of(part[0], sets - first_set)];
  W grain = number(part[1], 19), rest = number(part[2], 19), bits_of = number(part[3], 19); uint64_t bits = (uint64_t)bits_of;
  if (grain < 1 || !bits || bits > ALL_POOLS) stop(2, "a granule below 1, or pools that are none");
  W amount = 0, waste = 0, room_there = 0;
  if (bits & (bits - 1)) {
    for (int a = 0; a < s->count; a++)
      if (is_inside(s->who[a], bits) && B[s->who[a]].size % grain == 0) amount += B[s->who[a]].size;
    for (q = 0; q < pools; q++) for (int b = 0; bits >> q & 1 && b <= s->blocks[q]; b++) {
      W low = b ? s->block[q][b - 1].to : 0, high = b < s->blocks[q] ? s->block[q][b].from : end[q];
      high = high < end[q] ? high : end[q], room_there += high > low ? (high - low) / grain * grain : 0;
    }
    return amount > room_there;
  }
  while (!(bits >> q & 1)) q++;
  int *row = room((size_t)s->count, sizeof *row);
  for (int a = 0; a < s->count; a++) if (is_inside(s->who[a], bits)) row[count++] = s->who[a];
  rank_pool = q, qsort(row, (size_t)count, sizeof *row, by_height);
  for (int a = 0; a < count && !fails; a++) {
    const Place *p = place_of(row[a], q);
    if ((p->step ? p->step : 1) % grain || mod(p->rest - rest, grain)) continue;
    W more = mod(-B[row[a]].size, grain);
    amount += B[row[a]].size + more, waste = more > waste ? more : waste;
    fails = reach(s, q, grain, rest, LOW(row[a], q), amount) - waste > end[q];
  }
  return free(row), fails;
}
static int refuted(char *ref, const int *changed, int count) { /* is the state at hand? */
  for (int k = 0; k < count; k++) if (is_gone(changed[k])) return 1;
  if (!strcmp(ref, "-")) return 0;
  if (*ref == '@' || *ref == '$') return *ref == '@' ? is_too_long(ref) : is_too_dear(ref + 1);
  const State *x = &lemma[first_lemma + index_of(ref, lemmas - first_lemma)];
  for (int a = 0; a < x->count; a++) for (int q = 0; q < pools; q++)
    if (!here[x->who[a]] || LOW(x->who[a], q) < x->low[a * pools + q]) return 0;
  return 1;
}
static void load(const State *x) { /* make it the state at hand */
  for (int a = 0; a < x->count; a++) {
    here[x->who[a]] = 1, memcpy(&LOW(x->who[a], 0), x->low + a * pools, (size_t)pools * sizeof(W));
  }
}
static void add_lemma(int is_about_pools, int b, char **ref, State x) {
  int *near = room((size_t)x.count, sizeof *near), count = 0, q = -1; W least_end = FAR;
  if (load(&x), !here[b]) stop(2, "it is about a buffer that it does not name");
  W *mine = &LOW(b, 0), keep[POOLS];
  memcpy(keep, mine, (size_t)pools * sizeof(W));
  if (is_about_pools) for (int p = 0; p < pools; p++) {
    if (keep[p] >= FAR) continue;
    for (int k = 0; k < pools; k++) mine[k] = k == p ? keep[p] : FAR;
    if (!refuted(ref[p], &b, 1)) stop(3, "a buffer that may be in a pool");
  } else {
    for (int p = 0; p < pools; p++) if (keep[p] < FAR) q = q < 0 ? p : pools;
    if (q < 0 || q == pools) stop(2, "a buffer that is in one pool was expected");
    here[b] = 0;
    for (int a = 0; a < x.count; a++) {
      int j = x.who[a]; W top = LOW(j, q) + B[j].size, above;
      if (!here[j] || LOW(j, q) >= FAR || !meets(b, j)) continue;
      near[count++] = j, least_end = top < least_end ? top : least_end;
      if ((above = legal(j, q, keep[q] + B[b].size)) > LOW(j, q)) LOW(j, q) = above;
    }
    if (!refuted(ref[0], near, count)) stop(3, "a buffer that may lie below all that it meets");
    load(&x), mine[q] = legal(b, q, least_end > keep[q] ? least_end : keep[q]);
    if (!refuted(ref[1], &b, 1)) stop(3, "a buffer that may lie on another one");
  }
  for (int a = 0; a < x.count; a++) here[x.who[a]] = 0;
  free(near), lemma = grown(lemma, lemmas, sizeof x), lemma[lemmas++] = x;
}
static void add_set(char *line) {
  char *kind = word(&line), *w = word(&line); const char *after;
  int is_time = kind && !strcmp(kind, "time"); W t = is_time && w ? integer(w, &after) : 0;
  if (!kind || (!is_time && strcmp(kind, "of")) || (is_time && (!w || *after || line))) stop(2, "a wrong set");
  Set s = {0, NULL, room((size_t)pools, sizeof(Range *)), room((size_t)pools, sizeof(int))};
  char *in = room((size_t)n, 1);
  for (; w && !is_time; w = word(&line)) in[index_of(w, n)] = 1;
  for (int i = 0; i < n; i++) {
    for (int k = 0; is_time && k < B[i].lives; k++) in[i] |= B[i].life[k].from <= t && t < B[i].life[k].to;
    if (in[i] && is_solid(i)) s.who = grown(s.who, s.count, sizeof(int)), s.who[s.count++] = i;
  }
  for (int a = 0; a < s.count && (!is_time || is_tied); a++)
    for (int b = 0; b < a; b++) if (!meets(s.who[a], s.who[b])) stop(3, "a set of buffers that do not all meet");
  State all = {s.count, s.who, NULL};
  for (int q = 0; q < pools; q++) s.block[q] = fixed(0, &all, q, &s.blocks[q]);
  int free_ones = 0;
  for (int a = 0; a < s.count; a++) if (B[s.who[a]].pin == FAR) s.who[free_ones++] = s.who[a];
  s.count = free_ones, free(in), set = grown(set, sets, sizeof s), set[sets++] = s;
}
static State read_state(char *line) { /* "1:8,- 3:0,0" */
  State x = {0, NULL, NULL}; int entries = 0;
  for (char *w; (w = word(&line)); x.count++) {
    char *low = strchr(w, ':'), *next = low ? low + 1 : NULL;
    if (!low) stop(2, "a wrong state");
    *low = 0, x.who = grown(x.who, x.count, sizeof(int)), x.who[x.count] = index_of(w, n);
    if (!is_solid(x.who[x.count]) || is_named[x.who[x.count]]) stop(2, "a state that names what it cannot, or twice");
    is_named[x.who[x.count]] = 1;
    for (int q = 0; q < pools; q++) {
      char *mine = next;
      if (!mine) stop(2, "a state with fewer lows than pools");
      if ((next = strchr(mine, ','))) *next++ = 0;
      x.low = grown(x.low, entries, sizeof(W)), x.low[entries++] = strcmp(mine, "-") ? number(mine, 19) : FAR;
    }
    if (next) stop(2, "a state with more lows than pools");
  }
  for (int a = 0; a < x.count; a++) is_named[x.who[a]] = 0;
  return x;
}
static char *at_line;
static char *line(void) {
  char *found = at_line, *end_of_it = strchr(found, '\n');
  if (!end_of_it) stop(2, "it ends early, or not with a line");
  return *end_of_it = 0, at_line = end_of_it + 1, found;
}
static void check_claim(void) {
  char *l = line(), *w = word(&l), *ref[POOLS];
  if (strcmp(w, "claim")) stop(3, "a claim was expected");
  for (int q = 0; q < pools; q++) if (!(w = word(&l)) || number(w, 19) != end[q]) stop(3, "another claim");
  if (l) stop(2, "a claim about other pools");
  first_lemma = lemmas, first_set = sets;
  if (is_about_costs) begin_costs();
  for (;;) {
    w = (l = line(), word(&l));
    if (!strcmp(w, "end")) break;
    if (!strcmp(w, "set")) { add_set(l); continue; }
    if (!strcmp(w, "worth") && is_about_costs) { add_worth(l); continue; }
    int is_about_pools = !strcmp(w, "s"), refs = is_about_pools ? pools : 2;
    if (!is_about_pools && strcmp(w, "l")) stop(2, "a line that is none of a certificate");
    char *b = word(&l);
    for (int q = 0; q < refs; q++) if (!(ref[q] = word(&l))) stop(2, "a lemma without references");
    add_lemma(is_about_pools, index_of(b ? b : "", n), ref, read_state(l));
  }
  if (!(w = word(&l)) || l) stop(2, "an end with one reference was expected");
  int i = *w == '!' ? index_of(w + 1, n) : -1; char none[] = "-";
  for (int k = 0; k < n; k++)
    if ((here[k] = (char)is_solid(k))) for (int q = 0; q < pools; q++) LOW(k, q) = legal(k, q, 0);
  if (i >= 0 && !here[i]) stop(2, "a buffer that is not there");
  if (!refuted(i < 0 ? w : none, &i, i >= 0)) stop(3, "the last line does not refute that the buffers fit");
  memset(here, 0, (size_t)n);
}
#include "claims.h"
