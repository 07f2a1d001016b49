/* The part of check.c for the price of sharing bytes: cliques that are larger than their pool, times multipliers. It does
   the same as prices.py; docs/certificates.md says why they prove a price. */
typedef struct { uint64_t pair; W cost, used; int part; } Paid; /* what a pair costs, and what cliques ask of it */
static Paid *paid;
static int pairs_paid;

static int by_pair(const void *a, const void *b) {
  uint64_t x = ((const Paid *)a)->pair, y = ((const Paid *)b)->pair; return x < y ? -1 : x > y;
}
static void read_prices(void) { /* of pairs of some bytes both that are never to be kept apart: sorted, each once */
  int count = 0;
  for (int k = 0; k < prices_read; k++) {
    int i = priced[k].first, j = priced[k].second;
    if (i == j || !is_solid(i) || !is_solid(j) || meets(i, j)) continue;
    paid = grown(paid, count, sizeof *paid), paid[count++] = (Paid){key_of(i, j), priced[k].cost, 0, 0};
  }
  if (count) qsort(paid, (size_t)count, sizeof *paid, by_pair);
  for (int k = 0; k < count; k++) {
    if (pairs_paid && paid[pairs_paid - 1].pair == paid[k].pair) paid[pairs_paid - 1].cost += paid[k].cost;
    else paid[pairs_paid++] = paid[k];
  }
}
static W divided_up(W x, W by) { return x / by + (x % by > 0); }
static W add_clique(char *line, int part) { /* multiplier, divisor, buffers; returns what its row adds up to */
  char *w = word(&line), *in = room((size_t)n, 1); int *who = NULL, count = 0, q = 0;
  W weight = w ? number(w, 19) : 0, divisor = (w = word(&line)) ? number(w, 19) : 0, excess = 0;
  while ((w = word(&line))) {
    int i = index_of(w, n);
    if (!is_solid(i) || in[i]) stop(2, "a wrong clique");
    in[i] = 1, who = grown(who, count, sizeof(int)), who[count++] = i, excess += B[i].size;
    if (B[i].open != B[who[0]].open) stop(2, "a clique of several pools");
  }
  if (divisor < 1 || !count || !B[who[0]].open || B[who[0]].open & (B[who[0]].open - 1)) stop(2, "a wrong clique");
  while (!(B[who[0]].open >> q & 1)) q++;
  State none = {0, NULL, NULL}; int blocks = 0; Range *block = fixed(0, &none, q, &blocks);
  for (int b = 0; b <= blocks; b++) {
    W low = b ? block[b - 1].to : 0, high = b < blocks ? block[b].from : end[q];
    high = high < end[q] ? high : end[q], excess -= high > low ? high - low : 0;
  }
  if (excess <= 0) stop(2, "a clique that fits");
  for (int a = 0; a < count; a++) for (int b = 0; b < a; b++) {
    Paid key = {key_of(who[a], who[b]), 0, 0, 0}, *p;
    if (meets(who[a], who[b])) continue;
    p = pairs_paid ? bsearch(&key, paid, (size_t)pairs_paid, sizeof key, by_pair) : NULL;
    if (!p) stop(2, "a clique with a pair that is free");
    if (p->part && p->part != part) stop(2, "a pair in two parts");
    W saved = B[who[a]].size < B[who[b]].size ? B[who[a]].size : B[who[b]].size;
    saved = saved < excess ? saved : excess;
    p->part = part, p->used = plus(p->used, times(weight, divided_up(saved, divisor)));
  }
  return free(in), free(who), free(block), times(weight, divided_up(excess, divisor));
}
static W part_of(W amount, W scale, int part) { /* its price: a pair pays its own once, however often it is counted */
  W step_of = 0; /* the price of its pairs is a multiple of this */
  for (int k = 0; k < pairs_paid; k++) {
    W own = times(scale, paid[k].cost);
    if (paid[k].part == part) step_of = gcd(step_of, paid[k].cost), amount -= paid[k].used > own ? paid[k].used - own : 0;
  }
  return amount > 0 && step_of ? times(step_of, divided_up(amount, times(scale, step_of))) : 0;
}
static void check_price(char *claimed) {
  char *l = line(), *w = word(&l), *least = claimed ? word(&claimed) : NULL; int part = 0; W scale, total = 0, amount = 0;
  if (!least || claimed || strcmp(w, "scale") || !l) stop(2, "a price, and a scale, were expected");
  if (w = word(&l), (scale = number(w, 19)) < 1 || l) stop(2, "a scale of at least 1 was expected");
  for (read_prices(); *at_line;) {
    w = (l = line(), word(&l));
    if (!strcmp(w, "part") && !l) total += part ? part_of(amount, scale, part) : 0, part++, amount = 0;
    else if (!strcmp(w, "clique") && part) amount = plus(amount, add_clique(l, part));
    else stop(2, "a line that is none of a price");
  }
  if (!part) stop(2, "a price without a part");
  if (total + part_of(amount, scale, part) < number(least, 19)) stop(3, "the cliques do not add up to the price");
  say("no plan pays less than "), say(least), say(" for bytes that are shared");
}
