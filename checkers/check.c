/* Check a certificate without memplan, in C99: cc -O2 -o check check.c && ./check PROBLEM CERTIFICATE
   Exit status: 0 proved, 3 refused, 2 wrong input, or not in scope. PROBLEM is CSV as memplan reads it, without quotes:
   one pool, lifetimes, alignments, pins; all else is for check.py. docs/certificates.md proves the rules sound.
   Sums that pass 2^64 are cut there, which is above all capacities. */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
typedef uint64_t U;
typedef struct { U size, step, pin; long long from, to; } Buffer;
typedef struct { int n, *who; U *low; } State; /* buffers, and the least offset of each; FAR: none is left */
static const U FAR = UINT64_MAX;
static Buffer *B;
static State *lemma, *set; /* of a set only who is in it counts */
static int n, lemmas, sets;
static U end; /* the claim: nothing ends at or below it */

static void stop(int status, const char *why) {
  printf("%s: %s\n", status == 3 ? "refused" : status ? "wrong input" : "proved", why); exit(status);
}
static void *grown(void *old, int count, size_t bytes) {
  void *p = realloc(old, ((size_t)count + 1) * bytes); return p ? p : (stop(2, "no memory"), p);
}
static U add(U a, U b) { return a > FAR - b ? FAR : a + b; }
static U up(U x, U step) { return add(x, (step - x % step) % step); }
static void read_problem(FILE *f) { /* a head with the names of columns, then a row a buffer; no quotes */
  static const char *known[] = {"id", "size", "lower", "start", "upper", "end", "alignment", "offset"};
  static char line[1 << 16];
  int column[64], columns = 0, is_head = 1;
  while (fgets(line, sizeof line, f)) {
    Buffer b = {0, 1, FAR, 1, 0};
    char *cell = line, *next;
    line[strcspn(line, "\r\n")] = 0;
    if (!line[strspn(line, " ,")]) continue;
    for (int k = 0; cell; k++, cell = next) {
      if ((next = strchr(cell, ','))) *next++ = 0;
      while (*cell == ' ') cell++;
      if (k >= 64 || strchr(cell, '"')) stop(2, "quotes, or too many columns");
      if (is_head) {
        for (column[k] = 0; column[k] < 8 && strcmp(cell, known[column[k]]); column[k]++) {}
        if (column[columns = k] == 8) stop(2, "a column that it does not know");
        continue;
      }
      if (k > columns || column[k] == 0 || !*cell) continue;
      char *after;
      long long x = strtoll(cell, &after, 10);
      if (after[strspn(after, " ")] || after == cell) stop(2, "a number was expected");
      if (x < 0 && (column[k] == 1 || column[k] > 5)) stop(2, "a number is below 0");
      if (column[k] == 1) b.size = (U)x;
      else if (column[k] < 4) b.from = x;
      else if (column[k] < 6) b.to = x;
      else *(column[k] == 6 ? &b.step : &b.pin) = (U)x;
    }
    if (!is_head && (b.from >= b.to || !b.step)) stop(2, "a buffer that ends before it starts, or an alignment of 0");
    if (!is_head) B = grown(B, n, sizeof *B), B[n++] = b;
    is_head = 0;
  }
}

static int meets(int i, int j) { return i != j && B[i].from < B[j].to && B[j].from < B[i].to; }
static U pinned_end(int i) { return B[i].pin == FAR ? 0 : add(B[i].pin, B[i].size); }
static U legal(int i, U at) { /* the first offset of i, not below at, from which it ends by the claim's end */
  for (U before = FAR; at != before && add(at, B[i].size) <= end;) {
    before = at;
    if (B[i].pin != FAR) at = at <= B[i].pin ? B[i].pin : FAR;
    at = up(at, B[i].step);
    for (int j = 0; j < n; j++)
      if (B[j].size && B[j].pin < add(at, B[i].size) && at < pinned_end(j) && meets(i, j)) at = pinned_end(j);
  }
  return add(at, B[i].size) <= end ? at : FAR;
}
static U reach(const State *t, U grain, U at, U amount) { /* past what is pinned in the set */
  for (U low, high;; at = high) {
    low = high = FAR;
    for (int k = 0; k < t->n; k++) {
      U from = up(B[t->who[k]].pin, grain), to = up(pinned_end(t->who[k]), grain);
      if (B[t->who[k]].pin != FAR && to > at && from < low) low = from, high = to;
    }
    if (low == FAR || (low > at && amount <= low - at)) return add(at, amount);
    amount -= low > at ? low - at : 0;
  }
}
static int find(const State *x, int i) {
  for (int k = 0; k < x->n; k++) if (x->who[k] == i) return k;
  return -1;
}
static int too_long(const State *x, const char *ref) {
  unsigned k, pools = 1, count = 0; unsigned long long grain = 1, rest = 0;
  int words = sscanf(ref, "@%u:%llu:%llu:%u", &k, &grain, &rest, &pools), fails = 0;
  if ((words != 1 && words != 4) || k >= (unsigned)sets || grain < 1 || rest || pools != 1) return 0;
  int *at = grown(NULL, set[k].n, sizeof *at);
  for (int a = 0; a < set[k].n; a++) { /* those of the set that the state holds, the highest low first */
    int i = set[k].who[a], here = find(x, i);
    if (here < 0 || B[i].pin != FAR || B[i].step % grain) continue;
    unsigned b = count++;
    for (; b > 0 && x->low[at[b - 1]] < x->low[here]; b--) at[b] = at[b - 1];
    at[b] = here;
  }
  U amount = 0, waste = 0;
  for (unsigned a = 0; a < count && !fails; a++) {
    U size = B[x->who[at[a]]].size, cells = up(size, grain), top;
    amount = add(amount, cells), waste = cells - size > waste ? cells - size : waste;
    top = reach(&set[k], grain, x->low[at[a]], amount); fails = top == FAR || top - waste > end;
  }
  return free(at), fails;
}
static int refuted(const State *x, const char *ref) {
  for (int k = 0; k < x->n; k++) if (x->low[k] == FAR) return 1;
  if (*ref == '@') return too_long(x, ref);
  if (!isdigit((unsigned char)*ref) || atol(ref) >= lemmas) return 0;
  const State *l = &lemma[atol(ref)];
  for (int a = 0, at; a < l->n; a++) if ((at = find(x, l->who[a])) < 0 || x->low[at] < l->low[a]) return 0;
  return 1;
}
static State read_state(char *words, int is_set) { /* "1:8 3:0" or "1 3" */
  State x = {0, NULL, NULL};
  for (char *w = strtok(words, " \n"); w; w = strtok(NULL, " \n")) {
    char *low = strchr(w, ':'); x.who = grown(x.who, x.n, sizeof(int)), x.low = grown(x.low, x.n, sizeof(U));
    x.who[x.n] = atoi(w), x.low[x.n] = low && low[1] != '-' ? strtoull(low + 1, NULL, 10) : FAR;
    if (x.who[x.n] < 0 || x.who[x.n] >= n || find(&x, x.who[x.n]) >= 0 || !B[x.who[x.n]].size || (!low && !is_set))
      stop(3, "a state or a set that names what it cannot");
    x.n++;
  }
  return x;
}
static void add_lemma(int b, const char *rest, const char *lifted, State x) {
  int at = find(&x, b); U least = FAR, low = at < 0 ? FAR : x.low[at];
  if (low == FAR || legal(b, low) != low) stop(3, "a buffer that cannot lie at its low");
  State y = {x.n, grown(NULL, x.n, sizeof(int)), grown(NULL, x.n, sizeof(U))};
  memcpy(y.who, x.who, (size_t)x.n * sizeof(int)), memcpy(y.low, x.low, (size_t)x.n * sizeof(U));
  for (int k = 0; k < x.n; k++) {
    U top = add(x.low[k], B[x.who[k]].size), above = legal(x.who[k], add(low, B[b].size));
    if (x.low[k] == FAR || !meets(b, x.who[k])) continue;
    least = top < least ? top : least;
    if (top > low && above > y.low[k]) y.low[k] = above;
  }
  y.n--, y.who[at] = y.who[y.n], y.low[at] = y.low[y.n];
  if (!refuted(&y, rest)) stop(3, "a buffer that may lie at its low");
  y.n++, memcpy(y.who, x.who, (size_t)x.n * sizeof(int)), memcpy(y.low, x.low, (size_t)x.n * sizeof(U));
  y.low[at] = least == FAR ? FAR : legal(b, least > low ? least : low);
  if (!refuted(&y, lifted)) stop(3, "a buffer that may lie on another one");
  free(y.who), free(y.low); lemma = grown(lemma, lemmas, sizeof x), lemma[lemmas++] = x;
}
static void check(FILE *f) {
  static char line[1 << 22], kind[16], refs[3][64]; unsigned long long used = 0, claimed, size = INT64_MAX;
  int is_used, b, at;
  if (!fgets(line, sizeof line, f) || strcmp(line, "memplan-lemmas/1\n")) stop(3, "of another format");
  if (!fgets(line, sizeof line, f) || (strcmp(line, "sizes -\n") && sscanf(line, "sizes %llu %15s", &size, kind) != 1))
    stop(2, "several pools are for check.py");
  is_used = fgets(line, sizeof line, f) && sscanf(line, "used %llu %15s", &used, kind) == 1;
  if ((!is_used && strcmp(line, "infeasible\n")) || size > INT64_MAX) stop(3, "it says neither used nor infeasible");
  if (is_used && !used) stop(0, "no plan uses less than 0 bytes");
  end = is_used ? used - 1 : size;
  if (!fgets(line, sizeof line, f) || sscanf(line, "claim %llu %15s", &claimed, kind) != 1 || claimed != end)
    stop(3, "another claim");
  while (fgets(line, sizeof line, f)) {
    if (!strchr(line, '\n')) stop(2, "a line is too long");
    if (sscanf(line, "set %15s %n", kind, &at) == 1) {
      long long now = strtoll(line + at, NULL, 10); State x = {0, NULL, NULL};
      if (!strcmp(kind, "of")) x = read_state(line + at, 1);
      else for (int i = 0; i < n; i++)
        if (B[i].size && B[i].from <= now && now < B[i].to)
          x.who = grown(x.who, x.n, sizeof(int)), x.who[x.n++] = i;
      for (int i = 0; i < x.n; i++) for (int j = 0; j < i; j++) if (!meets(x.who[i], x.who[j])) stop(3, "a set");
      set = grown(set, sets, sizeof x), set[sets++] = x;
    } else if (sscanf(line, "l %d %63s %63s %n", &b, refs[0], refs[1], &at) == 3) {
      add_lemma(b, refs[0], refs[1], read_state(line + at, 0));
    } else if (sscanf(line, "end %63s", refs[0]) == 1) {
      State x = {0, grown(NULL, n, sizeof(int)), grown(NULL, n, sizeof(U))};
      for (int i = 0; i < n; i++) if (B[i].size) x.who[x.n] = i, x.low[x.n++] = legal(i, 0);
      if (!refuted(&x, refs[0])) stop(3, "the last line does not refute that the buffers fit");
      stop(0, is_used ? "no plan uses fewer bytes than the certificate says" : "nothing fits");
    } else stop(3, "a line that is none of a certificate");
  }
  stop(3, "it ends early");
}
int main(int count, char **name) {
  FILE *problem = count == 3 ? fopen(name[1], "rb") : NULL, *certificate = count == 3 ? fopen(name[2], "rb") : NULL;
  if (!problem || !certificate) stop(2, "check PROBLEM CERTIFICATE: two files");
  read_problem(problem);
  check(certificate);
}
