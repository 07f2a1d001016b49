/* The part of check.c for least costs: prices as whole numbers, and what multipliers prove of them. It does the same as
   costs.py; docs/proofs.md says why they do. */
typedef struct { W scale, capacity, *charge; } Worth; /* charge: of each buffer in each pool */
static Worth *worth;
static int worths;
static W *price, *first, least, parts, step, base; /* costs are base and a multiple of step, in parts */

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
static W decimal(const char *c, W factor) { /* a number that is whole once it is multiplied */
  W digits = 0; long exponent = 0; int is_behind = 0;
  if (!isdigit((unsigned char)*c)) stop(2, "a number was expected that is not negative");
  for (; isdigit((unsigned char)*c) || *c == '.'; c++) {
    if (*c == '.') is_behind = 1;
    else digits = plus(times(digits, 10), *c - '0'), exponent -= is_behind;
  }
  if (*c == 'e' || *c == 'E') exponent += strtol(c + 1, NULL, 10);
  else if (*c && !strchr(",:]} \t\r\n", *c)) stop(2, "a number was expected");
  digits = times(digits, factor);
  for (; digits && exponent > 0; exponent--) digits = times(digits, 10);
  for (; digits && exponent < 0; exponent++, digits /= 10) if (digits % 10) stop(2, "a cost that is not whole");
  return digits;
}
static void read_costs(const char *text, char *claimed) { /* of the problem; "12 5" claims a cost of 12/5 */
  char *a = word(&claimed), *b = word(&claimed); size_t cells = (size_t)n * (size_t)pools + 1;
  if (!a || !b) stop(2, "a cost is two numbers");
  W *traffic = calloc((size_t)n + 1, sizeof *traffic), cost[POOLS] = {0};
  price = calloc(cells, sizeof *price), first = calloc(cells, sizeof *first);
  if (!traffic || !price || !first) stop(2, "no memory");
  if (least = decimal(a, 1), (parts = decimal(b, 1)) < 1) stop(2, "parts below 1");
  int is_json = *text == '{';
  Node data = is_json ? (at = text, parse(0)) : (Node){NULL, 0, 0, NULL};
  const Node *rows = is_json ? get(&data, "buffers") : NULL, *pool_rows = is_json ? get(&data, "pools") : NULL, *x;
  for (int q = 0; pool_rows && q < pool_rows->count; q++)
    if ((x = get(&pool_rows->item[q], "cost"))) cost[q] = decimal(x->text, parts);
  for (int i = 0; i < n; i++) {
    W moved = rows ? value(&rows->item[i], "traffic", B[i].size) : B[i].size;
    traffic[B[i].root] += B[i].size ? moved : 0;
  }
  for (int i = 0; i < n; i++) if (is_solid(i)) {
    int home = -1; W *mine = &price[(size_t)i * (size_t)pools];
    for (int q = 0; q < pools; q++) {
      mine[q] = times(traffic[i], cost[q]), first[i * pools + q] = legal(i, q, 0);
      if (first[i * pools + q] >= FAR) continue;
      if (home < 0) home = q, base = plus(base, mine[q]);
      step = gcd(step, mine[q] > mine[home] ? mine[q] - mine[home] : mine[home] - mine[q]);
    }
  }
  free(traffic);
}
static void add_worth(char *line) { /* a scale, and set:pool:weight for what a byte of that set is worth in that pool */
  Worth found = {0, 0, calloc((size_t)n * (size_t)pools + 1, sizeof(W))};
  char *w = word(&line);
  if (!w || !found.charge || (found.scale = decimal(w, 1)) < 1) stop(2, "a scale of at least 1 was expected");
  for (int k = 0; k < n * pools; k++) found.charge[k] = times(found.scale, price[k]);
  while ((w = word(&line))) {
    char *pool = strchr(w, ':'), *weight = pool ? strchr(pool + 1, ':') : NULL;
    if (!weight) stop(2, "set:pool:weight was expected");
    W k = decimal(w, 1), q = decimal(pool + 1, 1), each = decimal(weight + 1, 1), free_bytes = 0;
    if (k >= sets - first_set || q >= pools) stop(2, "a set or a pool that is not there");
    const Set *s = &set[first_set + k];
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
  W k = decimal(ref, 1);
  if (k >= worths) stop(2, "a worth that is not there");
  const Worth *x = &worth[k];
  W total = -x->capacity;
  for (int i = 0; i < n; i++) if (is_solid(i)) {
    int home = -1;
    for (int q = 0; q < pools; q++)
      if ((here[i] ? LOW(i, q) : first[i * pools + q]) < FAR)
        home = home < 0 || x->charge[i * pools + q] < x->charge[i * pools + home] ? q : home;
    if (home < 0) return 1;
    total = plus(total, x->charge[i * pools + home]);
  }
  W bound = total / x->scale + (total % x->scale > 0);
  return (step ? bound + mod(base - bound, step) : base) >= least;
}
