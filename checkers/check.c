/* Check a certificate without memplan, in C99: cc -O2 -o check check.c && ./check PROBLEM CERTIFICATE
   Exit status: 0 proved, 3 refused, 2 wrong input. PROBLEM is JSON, or CSV without quotes (read.h reads it).
   It does the same as check.py; docs/proofs.md proves the rules sound. */
#include "problem.h"
static State *lemma;
static Set *set;
static int lemmas, sets, first_lemma, first_set; /* those of the claim begin there */
static W *cur;
static char *here; /* the buffers in the state at hand */
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
static int is_higher(int i, int j, int q) {
  W a = LOW(i, q), b = LOW(j, q); return a != b ? a > b : B[i].size != B[j].size ? B[i].size > B[j].size : i > j;
}
static int is_too_long(const char *ref) {
  int k, count = 0, fails = 0, q = 0; long long grain = 1, rest = 0; unsigned long long bits = 1;
  int words = sscanf(ref, "@%d:%lld:%lld:%llu", &k, &grain, &rest, &bits);
  if ((words != 1 && words != 4) || k < 0 || k >= sets - first_set) stop(2, "a set that is not there");
  const Set *s = &set[first_set + k];
  bits &= ~(uint64_t)0 >> (64 - pools);
  if (!bits) stop(2, "no pool");
  W amount = 0, waste = 0, room = 0;
  if (bits & (bits - 1)) {
    if (grain < 1) stop(2, "a granule below 1");
    for (int a = 0; a < s->count; a++)
      if (is_inside(s->who[a], bits) && B[s->who[a]].size % grain == 0) amount += B[s->who[a]].size;
    for (q = 0; q < pools; q++) for (int b = 0; bits >> q & 1 && b <= s->blocks[q]; b++) {
      W low = b ? s->block[q][b - 1].to : 0, high = b < s->blocks[q] ? s->block[q][b].from : end[q];
      high = high < end[q] ? high : end[q], room += high > low ? (high - low) / grain * grain : 0;
    }
    return amount > room;
  }
  while (!(bits >> q & 1)) q++;
  int *row = grown(NULL, 0, (size_t)s->count * sizeof *row);
  for (int a = 0; a < s->count; a++) if (is_inside(s->who[a], bits)) {
    int b = count++;
    for (; b > 0 && is_higher(s->who[a], row[b - 1], q); b--) row[b] = row[b - 1];
    row[b] = s->who[a];
  }
  for (int a = 0; a < count && grain > 0 && !fails; a++) {
    const Place *p = place_of(row[a], q);
    if ((p->step ? p->step : 1) % grain || mod(p->rest - rest, grain)) continue;
    W more = mod(-B[row[a]].size, grain);
    amount += B[row[a]].size + more, waste = more > waste ? more : waste;
    fails = reach(s, q, grain, rest, LOW(row[a], q), amount) - waste > end[q];
  }
  return free(row), fails;
}
static int refuted(const char *ref, const int *changed, int count) { /* is the state at hand? */
  for (int k = 0; k < count; k++) if (is_gone(changed[k])) return 1;
  if (*ref == '@' || *ref == '$') return *ref == '@' ? is_too_long(ref) : is_too_dear(ref + 1);
  for (const char *c = ref; *c; c++) if (!isdigit((unsigned char)*c)) return 0;
  if (strlen(ref) > 9 || atol(ref) >= lemmas - first_lemma) return 0;
  const State *x = &lemma[first_lemma + atol(ref)];
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
  int *near = grown(NULL, 0, ((size_t)x.count + 1) * sizeof *near), count = 0, q = -1; W least = FAR;
  if (load(&x), b < 0 || b >= n || !here[b]) stop(2, "it is about a buffer that it does not name");
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
      near[count++] = j, least = top < least ? top : least;
      if (top > keep[q] && (above = legal(j, q, keep[q] + B[b].size)) > LOW(j, q)) LOW(j, q) = above;
    }
    if (legal(b, q, keep[q]) != keep[q] || !refuted(ref[0], near, count)) stop(3, "a buffer that may lie at its low");
    load(&x), mine[q] = legal(b, q, least > keep[q] ? least : keep[q]);
    if (!refuted(ref[1], &b, 1)) stop(3, "a buffer that may lie on another one");
  }
  for (int a = 0; a < x.count; a++) here[x.who[a]] = 0;
  free(near), lemma = grown(lemma, lemmas, sizeof x), lemma[lemmas++] = x;
}
static void add_set(char *line) {
  char *kind = word(&line), *w = word(&line); int is_time = kind && !strcmp(kind, "time");
  if (!kind || (is_time && !w)) stop(2, "a set of what?");
  Set s = {0, NULL, malloc((size_t)pools * sizeof(Range *)), malloc((size_t)pools * sizeof(int))};
  char *in = calloc((size_t)n + 1, 1);
  if (!s.block || !s.blocks || !in) stop(2, "no memory");
  for (; w && !is_time; w = word(&line)) {
    if (number(w) >= n) stop(2, "a set that names what it cannot");
    if (number(w) >= 0) in[number(w)] = 1;
  }
  for (int i = 0; i < n; i++) {
    for (int k = 0; is_time && k < B[i].lives; k++)
      in[i] |= B[i].life[k].from <= number(w) && number(w) < B[i].life[k].to;
    if (in[i] && is_solid(i)) s.who = grown(s.who, s.count, sizeof(int)), s.who[s.count++] = i;
  }
  for (int a = 0; a < s.count && (!is_time || is_tied()); a++)
    for (int b = 0; b < a; b++) if (!meets(s.who[a], s.who[b])) stop(3, "a set of buffers that do not all meet");
  State all = {s.count, s.who, NULL};
  for (int q = 0; q < pools; q++) s.block[q] = fixed(0, &all, q, &s.blocks[q]);
  int free_ones = 0;
  for (int a = 0; a < s.count; a++) if (B[s.who[a]].pin == FAR) s.who[free_ones++] = s.who[a];
  s.count = free_ones, free(in), set = grown(set, sets, sizeof s), set[sets++] = s;
}
static State read_state(char *line) { /* "1:8,- 3:0,0" */
  State x = {0, grown(NULL, 0, sizeof(int)), NULL};
  for (char *w; (w = word(&line));) {
    char *low = strchr(w, ':'), *next = low ? low + 1 : NULL; int i = (int)number(w), a = 0, count = 0;
    if (!low || i < 0 || i >= n || !is_solid(i)) stop(3, "a state that names what it cannot");
    while (a < x.count && x.who[a] != i) a++;
    x.who = grown(x.who, x.count, sizeof(int)), x.who[a] = i;
    if (a == x.count) x.low = realloc(x.low, ((size_t)++x.count) * (size_t)pools * sizeof(W));
    for (; next && count < pools && x.low; count++) {
      x.low[a * pools + count] = *next == '-' && (next[1] == ',' || !next[1]) ? FAR : number(next);
      next = strchr(next, ','), next = next ? next + 1 : NULL;
    }
    if (count != pools || next) stop(3, "a state with as many lows as pools was expected");
  }
  return x;
}
static char *at_line;
static char *line(void) { /* the next line that is not empty */
  for (char *found = at_line; found; found = at_line) {
    if ((at_line = strchr(found, '\n'))) *at_line++ = 0;
    if (found[strspn(found, " \t\r")]) return found;
  }
  return stop(2, "it ends early"), NULL;
}
static void check_claim(void) {
  char *l = line(), *w = word(&l), *ref[POOLS];
  if (strcmp(w, "claim")) stop(3, "a claim was expected");
  for (int q = 0; q < pools; q++) if (!(w = word(&l)) || number(w) != end[q]) stop(3, "another claim");
  for (first_lemma = lemmas, first_set = sets;;) {
    w = (l = line(), word(&l));
    if (!strcmp(w, "end")) break;
    if (!strcmp(w, "set")) { add_set(l); continue; }
    if (!strcmp(w, "worth") && price) { add_worth(l); continue; }
    int is_about_pools = !strcmp(w, "s"), refs = is_about_pools ? pools : 2;
    if (!is_about_pools && strcmp(w, "l")) stop(3, "a line that is none of a certificate");
    char *b = word(&l);
    for (int q = 0; q < refs; q++) if (!(ref[q < POOLS ? q : 0] = word(&l))) stop(2, "a lemma without references");
    add_lemma(is_about_pools, (int)number(b ? b : ""), ref, read_state(l));
  }
  if (!(w = word(&l))) stop(2, "an end without a reference");
  int i = *w == '!' ? (int)number(w + 1) : -1;
  for (int k = 0; k < n; k++)
    if ((here[k] = (char)is_solid(k))) for (int q = 0; q < pools; q++) LOW(k, q) = legal(k, q, 0);
  if (*w == '!' && (i < 0 || i >= n || !here[i])) stop(2, "a buffer that is not there");
  if (!refuted(w, &i, *w == '!')) stop(3, "the last line does not refute that the buffers fit");
  memset(here, 0, (size_t)n);
}
int main(int count, char **name_of) {
  if (count != 3) stop(2, "check PROBLEM CERTIFICATE: two files");
  char *problem = read_file(name_of[1]), *head, *sizes, *used, *w; W last[POOLS], asked[POOLS] = {0}; int k = 0;
  at_line = read_file(name_of[2]), head = line(), sizes = line(), used = line();
  problem += strncmp(problem, "\xef\xbb\xbf", 3) ? 0 : 3, problem += strspn(problem, " \t\r\n");
  if (*problem == '{') read_json(problem);
  if (!(w = word(&head)) || strcmp(w, "memplan-lemmas/1") || word(&head)) stop(3, "of another format");
  for (word(&sizes); (w = word(&sizes)); k++) {
    if (k == POOLS) stop(2, "too many pools");
    Pool p = {strcmp(w, "-") ? number(w) : 0, 1, 0, strcmp(w, "-") != 0, 0, NULL};
    if (*problem != '{') P[k] = p, pools = k + 1;
    if (k >= pools || P[k].has_size != p.has_size || P[k].size != p.size) stop(3, "about pools of other sizes");
  }
  if (k != pools || !pools) stop(3, "about pools of other sizes");
  if (*problem != '{') read_csv(problem);
  place = calloc((size_t)n * (size_t)pools + 1, sizeof *place), here = calloc((size_t)n + 1, 1);
  if (!place || !here || !(cur = calloc((size_t)n * (size_t)pools + 1, sizeof *cur))) stop(2, "no memory");
  for (int q = 0; q < pools; q++) end[q] = last[q] = P[q].has_size ? P[q].size : INT64_MAX;
  if (!strcmp(w = word(&used), "cost")) read_costs(problem, used), check_claim(), stop(0, "no plan costs less");
  if (strcmp(w, "used")) check_claim(), stop(0, "nothing fits");
  for (k = 0; (w = word(&used)); k++) if (k < pools) asked[k] = number(w);
  if (is_cost || k != pools) stop(3, "about other pools, or about peaks where costs are asked for");
  for (int q = pools; q-- > 0;) if (asked[q]) {
    for (k = 0; k < pools; k++) end[k] = k < q ? last[k] : asked[k] - (k == q);
    check_claim();
  }
  stop(0, "no plan uses fewer bytes than the certificate says");
}
