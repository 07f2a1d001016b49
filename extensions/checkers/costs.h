/* The part of check.c for least costs: prices as whole numbers, and what multipliers prove of them. It does the same as
   costs.py; docs/certificates.md says why they do. */
typedef struct { W scale, capacity, *charge; } Worth; /* charge: of each buffer in each pool */
typedef struct { W digits; long exponent; } Decimal;
static Worth *worth;
static int worths, first_worth; /* those of the claim begin there */
static W *price, *least_offset, least, parts, step, base; /* costs are base and a multiple of step, in parts */

static W times(W a, W b) {
  W c = 0;
  if (__builtin_mul_overflow(a, b, &c)) stop(2, "numbers that are too large");
  return c;
}
static W plus(W a, W b) {
  W c = 0;
  if (__builtin_add_overflow(a, b, &c)) stop(2, "numbers that are too large");
  return c;
}
static W large(const char *text) { /* a number of a certificate, of 38 digits at most */
  const char *after; W x = digits(text, 38, &after);
  if (*after) stop(2, "a wrong number");
  return x;
}
static Decimal decimal(const Node *cost) { /* as it is written, without zeros at the end; 0 where there is none */
  Decimal x = {0, 0}; int is_behind = 0; const char *c = cost ? cost->text : "", *last = cost ? c + cost->length : c;
  for (; c < last && *c != 'e' && *c != 'E'; c++) {
    if (*c == '.') is_behind = 1;
    else x.digits = plus(times(x.digits, 10), *c - '0'), x.exponent -= is_behind;
  }
  if (c < last) x.exponent += strtol(c + 1, NULL, 10);
  while (x.digits && x.digits % 10 == 0) x.digits /= 10, x.exponent++;
  return x.exponent = x.digits ? x.exponent : 0, x;
}
static W in_parts(Decimal x) {
  W found = times(x.digits, parts);
  for (; found && x.exponent > 0; x.exponent--) found = times(found, 10);
  for (; found && x.exponent < 0; x.exponent++, found /= 10) if (found % 10) stop(2, "a cost that is not whole");
  return found;
}
static void read_costs(int is_profile) { /* what buffers cost in pools; where all cost the same, profiles count 0, 1, ... */
  Decimal cost[POOLS]; int differ_some = !is_profile; W *moved = room((size_t)n, sizeof *moved);
  if (parts < 1) stop(2, "parts below 1");
  for (int q = 0; q < pools; q++) {
    cost[q] = decimal(P[q].cost);
    differ_some |= cost[q].digits != cost[0].digits || cost[q].exponent != cost[0].exponent;
  }
  for (int i = 0; i < n; i++) moved[B[i].root] += B[i].size ? traffic[i] : 0;
  price = room((size_t)n * (size_t)pools, sizeof *price), least_offset = room((size_t)n * (size_t)pools, sizeof *price);
  for (int q = 0; q < pools; q++) {
    W each = differ_some ? in_parts(cost[q]) : times(q, parts);
    for (int i = 0; i < n; i++) if (is_solid(i)) price[(size_t)i * (size_t)pools + (size_t)q] = times(moved[i], each);
  }
  free(moved);
}
static void begin_costs(void) { /* of a claim */
  base = step = 0, first_worth = worths;
  for (int i = 0; i < n; i++) if (is_solid(i)) {
    int home = -1; W *mine = &price[(size_t)i * (size_t)pools];
    for (int q = 0; q < pools; q++) {
      least_offset[i * pools + q] = legal(i, q, 0);
      if (least_offset[i * pools + q] >= FAR) continue;
      if (home < 0) home = q, base = plus(base, mine[q]);
      step = gcd(step, mine[q] > mine[home] ? mine[q] - mine[home] : mine[home] - mine[q]);
    }
  }
}
static void add_worth(char *line) { /* a scale, and set:pool:weight for what a byte of that set is worth in that pool */
  char *w = word(&line);
  Worth found = {w ? large(w) : 0, 0, room((size_t)n * (size_t)pools, sizeof(W))};
  if (found.scale < 1) stop(2, "a scale of at least 1 was expected");
  for (int k = 0; k < n * pools; k++) found.charge[k] = times(found.scale, price[k]);
  while ((w = word(&line))) {
    char *pool = strchr(w, ':'), *weight = pool ? strchr(pool + 1, ':') : NULL;
    if (!weight) stop(2, "set:pool:weight was expected");
    *pool++ = *weight++ = 0;
    const Set *s = &set[first_set + index_of(w, sets - first_set)];
    int q = index_of(pool, pools); W each = large(weight), free_bytes = 0;
    for (int b = 0; b <= s->blocks[q]; b++) {
      W low = b ? s->block[q][b - 1].to : 0, high = b < s->blocks[q] ? s->block[q][b].from : end[q];
      high = high < end[q] ? high : end[q], free_bytes += high > low ? high - low : 0;
    }
    found.capacity = plus(found.capacity, times(each, free_bytes));
    for (int m = 0; m < s->count; m++) {
      W *mine = &found.charge[s->who[m] * pools + q];
      *mine = plus(*mine, times(each, B[s->who[m]].size));
    }
  }
  worth = grown(worth, worths, sizeof found), worth[worths++] = found;
}
static int is_too_dear(const char *ref) { /* does each plan of the state at hand cost `least` parts or more? */
  const Worth *x = &worth[first_worth + index_of(ref, worths - first_worth)];
  W total = -x->capacity;
  for (int i = 0; i < n; i++) if (is_solid(i)) {
    int home = -1;
    for (int q = 0; q < pools; q++)
      if ((here[i] ? LOW(i, q) : least_offset[i * pools + q]) < FAR)
        home = home < 0 || x->charge[i * pools + q] < x->charge[i * pools + home] ? q : home;
    if (home < 0) return 1;
    total = plus(total, x->charge[i * pools + home]);
  }
  W bound = total / x->scale + (total % x->scale > 0);
  return (step ? bound + mod(base - bound, step) : base) >= least;
}
