/* The claims that a certificate must prove, in their order, and the sentence that says them: as in check.py. */
static char sentence[1 << 14];
static void say(const char *text) {
  if (strlen(sentence) + strlen(text) >= sizeof sentence) stop(2, "too many pools to name");
  strcat(sentence, text);
}
static void claim_at(const W *ends) { memcpy(end, ends, sizeof end), check_claim(); }
static void say_peaks(char **used) {
  for (int q = 0; q < pools; q++) say(q ? ", " : "uses less than "), say(used[q]);
  say(pools > 1 ? " bytes of its pools, the last one first" : " bytes of its pools");
}
static void check_claims(char *kind, char *rest) {
  char *cost[2] = {NULL, NULL}, *used[POOLS]; W sizes[POOLS], ends[POOLS], last[POOLS];
  int count = 0, unsaid = 0, is_used = !strcmp(kind, "used"), is_balanced = !strcmp(kind, "balanced");
  int is_profile = is_balanced || !strcmp(kind, "speed"), is_cost = is_profile || !strcmp(kind, "cost");
  int top = is_balanced ? pools - 1 : pools, most = is_used ? 0 : top;
  memcpy(sizes, end, sizeof sizes), memcpy(ends, end, sizeof ends);
  if (!strcmp(kind, "infeasible") && !rest) { say("nothing fits"), claim_at(sizes); return; }
  if (!is_used && !is_cost) stop(2, "a claim that is none");
  for (int k = 0; k < 2 && is_cost; k++) if (!(cost[k] = word(&rest))) stop(2, "a cost is two numbers");
  for (char *w; (w = word(&rest)); count++) {
    if (count == pools) stop(2, "a claim about other pools");
    used[count] = w, last[count] = unsaid == count && !strcmp(w, "-") ? unsaid++, 0 : number(w, 19);
  }
  int is_bare = !count && !is_used && !is_balanced;
  if ((!is_bare && count != pools) || unsaid > most) stop(2, "a claim about other pools");
  if (is_cost) least = large(cost[0]), parts = large(cost[1]), read_costs(is_profile);
  say("no plan ");
  if (is_balanced) {
    if (last[pools - 1]) ends[pools - 1] = last[pools - 1] - 1, claim_at(ends);
    ends[pools - 1] = last[pools - 1];
    say("uses less than "), say(used[pools - 1]), say(" bytes of the last pool, and none that uses no more ");
  }
  if ((is_about_costs = is_cost)) claim_at(ends), least = plus(least, 1);
  for (int q = top; !is_bare && q-- > unsaid;) if (last[q]) {
    for (int k = 0; k < pools; k++) ends[k] = k < q ? sizes[k] : last[k] - (k == q);
    claim_at(ends);
  }
  if (is_used) { say_peaks(used); return; }
  say("costs less than "), say(cost[0]), say("/"), say(cost[1]);
  if (is_profile) say(" (profile "), say(kind), say(")");
  if (!is_bare && unsaid < top) say(", nor is there one at that cost that "), say_peaks(used);
}
#include "prices.h"
static void read_pool(char *text, Pool *p) { /* SIZE[@ADDRESS] */
  char *base = strchr(text, '@');
  if (base) *base++ = 0, p->base = number(base, 19);
  p->has_size = strcmp(text, "-") != 0, p->size = p->has_size ? number(text, 19) : 0;
}
int main(int count, char **given) {
  int interval = count > 1 && !strcmp(given[1], "--inclusive") ? 1 : count > 1 && !strcmp(given[1], "--half-open") ? 0 : -1;
  if (interval >= 0) count--, given++;
  if (count < 3) stop(2, "check [--inclusive|--half-open] PROBLEM CERTIFICATE [SIZE[@ADDRESS]|- ...]");
  static char *problem, *said; /* kept to the end, where the system takes them */
  char *text = problem = read_file(given[1]), *head, *sizes, *claim, *w, hex[65]; int k = 0;
  sha256(problem, hex), at_line = read_file(given[2]), head = line(), sizes = line(), claim = line();
  text += strncmp(text, "\xef\xbb\xbf", 3) ? 0 : 3;
  int is_json = text[strspn(text, " \t\r\n")] == '{';
  if (is_json) read_json(text, interval);
  if (!(w = word(&head)) || strcmp(w, "memplan-lemmas/1") || head) stop(3, "of another format");
  if (!(w = word(&sizes)) || strcmp(w, "sizes")) stop(3, "of another format");
  said = room(POOLS * 42, 1);
  for (; (w = word(&sizes)); k++) {
    Pool p = {0, 1, 0, 0, 0, NULL, NULL, NULL}, mine = p;
    if (k == POOLS || (count > 3 && k >= count - 3)) stop(3, "about pools of other sizes");
    if (strchr(w, '@') || strlen(w) > 19 || (count > 3 && strlen(given[k + 3]) > 39)) stop(2, "a wrong size");
    strcat(strcat(said, k ? ", " : ""), count > 3 ? given[k + 3] : w), read_pool(w, &mine);
    if (!is_json) P[k] = p, pools = k + 1;
    if (k >= pools) stop(3, "about pools of other sizes");
    if (count > 3 || !is_json) {
      Pool asked = P[k];
      if (count > 3) read_pool(given[k + 3], &asked);
      else asked.has_size = mine.has_size, asked.size = mine.size;
      P[k] = asked;
    }
    if (P[k].has_size != mine.has_size || P[k].size != mine.size) stop(3, "about pools of other sizes");
  }
  if (k != pools || !pools || (count > 3 && k != count - 3)) stop(3, "about pools of other sizes");
  if (!is_json) read_csv(text, interval);
  size_t cells = (size_t)n * (size_t)pools;
  place = room(cells, sizeof *place), here = room((size_t)n, 1), is_named = room((size_t)n, 1), cur = room(cells, sizeof *cur);
  for (int q = 0; q < pools; q++) end[q] = P[q].has_size ? P[q].size : INT64_MAX;
  for (int i = 0; i < n; i++) {
    is_tied |= B[i].group != B[i].root || pair_count[1] > 0;
    if (is_solid(i) && B[i].pin != FAR) pinned = grown(pinned, pins, sizeof(int)), pinned[pins++] = i;
  }
  if (!(w = word(&claim))) stop(2, "a claim was expected");
  if (!strcmp(w, "price")) check_price(claim);
  else check_claims(w, claim);
  if (*at_line) stop(3, "lines after the last claim");
  printf("proved: %s, in pools of %s bytes, problem sha256 %s with %s lifetimes\n", sentence, said, hex,
         is_closed ? "closed" : "half-open");
  return 0;
}
