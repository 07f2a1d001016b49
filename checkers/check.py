"""Check a certificate without memplan: check.py PROBLEM CERTIFICATE; exit status 0 proved, 3 refused, 2 wrong input."""
# PROBLEM is JSON or CSV. docs/proofs.md proves the rules sound.

import csv, io, json, sys
from functools import cache
from importlib import import_module as load
from math import gcd, lcm

INF, NAMES, Refused = 2**80, {"lower": "start", "upper": "end"}, type("Refused", (Exception,), {})
SAID = {"used": "no plan uses less than {} bytes of its pools", "cost": "no plan costs less than {}"}


class Problem:
    """The rules that certificates use, of the buffers that are no aliases; to leave out others proves no less."""

    def __init__(self, text, sizes):
        text = text.lstrip("\ufeff \t\r\n")
        if (data := json.loads(text) if text[:1] == "{" else None) is None:
            head, *table = [[*map(str.strip, row)] for row in csv.reader(io.StringIO(text)) if any(map(str.strip, row))]
            rows = [{NAMES.get(k, k): v if k == "id" else int(v) for k, v in zip(head, row) if v} for row in table]
            data = {"buffers": rows, "pools": [{"size": size} for size in sizes]}
        rows, self.pools, self.is_cost = data["buffers"], data.get("pools") or [{}], data.get("objective") == "cost"
        if [pool.get("size") for pool in self.pools] != sizes:
            raise Refused("it is about pools of other sizes")
        number, n = {pool.get("name", "default"): q for q, pool in enumerate(self.pools)}, range(len(rows))
        self.ends, index = [2**63 - 1 if size is None else size for size in sizes], {rows[i]["id"]: i for i in n}
        self.size, self.page = [row["size"] for row in rows], [row.get("no_cross") or INF for row in rows]
        self.root, self.group, self.rules, self.lives = list(n), list(n), [[] for _ in n], [[] for _ in n]
        self.rows, self.pin, self.open = rows, [None] * len(rows), [{*number.values()} for _ in n]
        for i, row in enumerate(rows):
            r, above = i, 0
            while rows[r].get("alias_of") is not None:
                r, above = index[rows[r]["alias_of"]], above + (rows[r].get("alias_offset") or 0)
            self.root[i] = r
            self.lives[r] += row.get("lifetimes") or [[row.get("start"), row.get("end")]] * (row.get("end") is not None)
            self.rules[r].append((row.get("alignment", 1), above, row.get("offset_mod")))
            pin = self.pin[r] if row.get("offset") is None else row["offset"] - above
            self.pin[r] = pin if self.pin[r] in (None, pin) else -1  # -1: pinned to two places
            self.open[r] &= {number[k] for k in row.get("pools") or number if k not in (row.get("forbid_pools") or ())}
        pairs = [data.get("conflicts") or (), data.get("may_share") or ()]
        self.named, self.sharing = [{frozenset(self.root[index[x]] for x in pair) for pair in some} for some in pairs]
        for i in [i for i in n if rows[i].get("relative")]:
            tied = {self.group[i], self.group[self.root[index[rows[i]["relative"]["to"]]]]}
            self.group = [min(tied) if mine in tied else mine for mine in self.group]
        self.has_ties = self.sharing or len({*self.group}) < len(rows)
        self.solid = {i for i in n if i == self.root[i] and self.size[i]}
        self.pinned = {i for i in self.solid if self.pin[i] is not None}

    @cache
    def meets(self, i, j):
        """Say whether two buffers may never share bytes."""
        pair, apart = frozenset((i, j)), not any(a < d and c < b for a, b in self.lives[i] for c, d in self.lives[j])
        return i != j and (pair in self.named or not (apart or pair in self.sharing or self.group[i] == self.group[j]))

    def fixed(self, buffers, q):
        """Return the ranges of a pool that are reserved, or taken by those of the buffers that are pinned there."""
        rows, top = [(at, at + size) for at, size in self.pools[q].get("reserved") or () if size], 0
        rows += [(self.pin[i], self.pin[i] + self.size[i]) for i in buffers & self.pinned if self.open[i] == {q}]
        for k, (low, high) in enumerate(sorted(rows)):
            rows[k] = (max(low, top), top := max(high, top))
        return rows  # ascending and disjoint

    @cache
    def place(self, i, q):
        """Return (step, rest, ranges in the way) of a buffer in a pool; (1, 0, everything) where it may not be."""
        base, common, page = self.pools[q].get("base_address", 0), self.pools[q].get("alignment", 1), self.page[i]
        rules = [(m["modulus"], m["remainder"] - above) for _, above, m in self.rules[i] if m]
        step, rest, is_open = 1, 0, q in self.open[i]
        for m, r in rules + [(m, -base - above) for a, above, _ in self.rules[i] for m in (a, common)]:
            shared = gcd(step, m)
            is_open = is_open and (r - rest) % shared == 0
            rest += step * ((r - rest) // shared * pow(step // shared, -1, m // shared) % (m // shared))
            step = lcm(step, m)
        is_open = is_open and (base + rest) % gcd(step, page) + self.size[i] <= page
        ways = self.fixed({j for j in self.pinned if self.meets(i, j)}, q) if is_open else [(0, INF)]
        return step, rest % step, ways

    @cache
    def legal(self, i, q, at, end):
        """Return the first offset of a buffer in a pool, not below `at`, from which it ends by `end`; else INF."""
        (step, rest, ways), before, turns = self.place(i, q), -1, 0
        size, page, base, pin = self.size[i], self.page[i], self.pools[q].get("base_address", 0), self.pin[i]
        while before < at <= end - size and turns < 1000:
            before, turns, at = at, turns + 1, at if pin is None else pin if at <= pin else INF
            at = max([at + (rest - at) % step, *(high for low, high in ways if low < at + size and at < high)])
            at += -(base + at) % page if (base + at) % page + size > page else 0
        return at if at <= end - size else INF


def reach(blocks, grain, rest, at, amount):
    """Return the least end with so much free between `at` and it, in whole cells of the grain, outside of blocks."""
    for low, high in ((low + (rest - low) % grain, high + (rest - high) % grain) for low, high in blocks):
        if amount <= low - at:
            break
        amount, at = amount - max(0, low - at), max(at, high)
    return at + amount


class Claim:
    """That the buffers do not fit where the pools end at some capacities: sets that meet pairwise, and lemmas."""

    def __init__(self, problem, ends):
        self.problem, self.ends, self.sets, self.lemmas, self.worths = problem, ends, [], [], []

    @cache
    def first(self, i):
        """Return the least offsets of a buffer, one a pool, where nothing is placed; None where it has no bytes."""
        p = self.problem
        return tuple(p.legal(i, q, 0, end) for q, end in enumerate(self.ends)) if i in p.solid else None

    def add_set(self, kind, numbers):
        """Take what is alive at a time, or buffers that meet pairwise."""
        p, found = self.problem, self.problem.solid.intersection(numbers)
        if kind == "time":
            found = {i for i in p.solid if any(a <= numbers[0] < b for a, b in p.lives[i])}
        if (kind != "time" or p.has_ties) and not all(p.meets(i, j) for i in found for j in found if i < j):
            raise Refused("a set of buffers that do not all meet")
        self.sets.append(([i for i in found if p.pin[i] is None], [p.fixed(found, q) for q in range(len(self.ends))]))

    def is_refuted(self, low, ref, changed):
        """Say whether a state cannot be: what has changed has no place, a lemma says so, or a set is too long."""
        if any(min(low(i)) >= INF for i in changed) or (ref[0] == "$" and self.worths[int(ref[1:])](low)):
            return True
        if ref[0] != "@":
            lemma = self.lemmas[int(ref)] if ref.isdecimal() and int(ref) < len(self.lemmas) else {-1: ()}
            return all(i >= 0 and low(i) and all(map(int.__ge__, low(i), lows)) for i, lows in lemma.items())
        number, grain, rest, bits = map(int, (ref[1:] + ":1:0:1" * (":" not in ref)).split(":"))
        (members, blocks), pools = self.sets[number], [q for q in range(len(self.ends)) if bits >> q & 1]
        inside = [i for i in members if low(i) and all(q in pools for q, at in enumerate(low(i)) if at < INF)]
        if len(pools) > 1:
            edges = [[0, *(at for block in blocks[q] for at in block), self.ends[q]] for q in pools]
            gaps = [max(0, min(high, row[-1]) - low) for row in edges for low, high in zip(row[::2], row[1::2])]
            sizes = [self.problem.size[i] for i in inside if self.problem.size[i] % grain == 0]
            return sum(sizes) > sum(gap // grain * grain for gap in gaps)
        q, amount, waste = pools[0], 0, 0
        for at, size, i in sorted([(low(i)[q], self.problem.size[i], i) for i in inside], reverse=True):
            step, r, _ = self.problem.place(i, q)
            if grain > 0 and step % grain == 0 and (r - rest) % grain == 0:
                amount, waste = amount + size + -size % grain, max(waste, -size % grain)
                if reach(blocks[q], grain, rest, at, amount) - waste > self.ends[q]:
                    return True
        return False

    def add_lemma(self, kind, b, refs, low):
        """Check a lemma: neither can b lie at its low, nor on another one; or it can be in none of its pools."""
        p, pools = self.problem, [q for q, at in enumerate(low[b]) if at < INF]
        only = lambda q, at: {**low, b: tuple(at if k == q else INF for k in range(len(self.ends)))}
        if kind == "s" and not all(self.is_refuted(only(q, low[b][q]).get, refs[q], [b]) for q in pools):
            raise Refused("a buffer that may be in a pool")
        if kind == "l":
            (q,), rests = pools, {i: lows for i, lows in low.items() if i != b}
            at, end = low[b][q], self.ends[q]
            near = [j for j in rests if low[j][q] < INF and p.meets(b, j)]
            for j in near:
                if low[j][q] + p.size[j] > at:
                    above = max(low[j][q], p.legal(j, q, at + p.size[b], end))
                    rests[j] = (*low[j][:q], above, *low[j][q + 1 :])
            can_rest = p.legal(b, q, at, end) != at or not self.is_refuted(rests.get, refs[0], near)
            above = p.legal(b, q, max(at, min([low[j][q] + p.size[j] for j in near], default=INF)), end)
            if can_rest or not self.is_refuted(only(q, above).get, refs[1], [b]):
                raise Refused("a buffer that may lie at its low, or on another one")
        self.lemmas.append(low)


def check(text, lines):
    """Return what a certificate proves of a problem, as a sentence; raises Refused."""
    *lines, used, sizes, head = [line.split() for line in reversed(lines) if line.strip()]
    problem = Problem(text, [None if size == "-" else int(size) for size in sizes[1:]])
    kind, ends, used = used[0], problem.ends, [*map(int, used[1:])]
    if head != ["memplan-lemmas/1"] or (kind == "used" and (problem.is_cost or len(used) != len(ends))):
        raise Refused("it is of another format, about other pools, or about peaks where costs are asked for")
    claims = [[*ends[:q], x - 1, *used[q + 1 :]] for q, x in enumerate(used) if x] if kind == "used" else [ends]
    for expected in reversed(claims):
        if lines.pop() != ["claim", *map(str, expected)]:
            raise Refused(f"there must be a claim of {expected}")
        claim, count = Claim(problem, expected), len(expected)
        while (line := lines.pop())[0] != "end":
            if line[0] == "set":
                claim.add_set(line[1], [*map(int, line[2:])])
            elif line[0] == "worth" and kind == "cost":
                claim.worths.append(load(f"{__package__ or ''}.costs".lstrip(".")).worth(claim, *used, line[1:]))
            else:
                rows = [word.split(":") for word in line[4 if line[0] == "l" else 2 + count :]]
                low = {int(i): tuple(INF if at == "-" else int(at) for at in lows.split(",")) for i, lows in rows}
                if line[0] not in "ls" or any(i < 0 or not claim.first(i) or len(low[i]) != count for i in low):
                    raise Refused("not a lemma")
                claim.add_lemma(line[0], int(line[1]), line[2:], low)
        if not claim.is_refuted(claim.first, line[1], [int(line[1][1:])] if line[1][0] == "!" else []):
            raise Refused("the last line does not refute that the buffers fit")
    return "proved: " + SAID.get(kind, "nothing fits").format(used)


if __name__ == "__main__":
    try:
        with open(sys.argv[1], encoding="utf-8") as problem, open(sys.argv[2], encoding="utf-8") as certificate:
            print(check(problem.read(), certificate.read().splitlines()))
    except Refused as why:
        sys.exit(print(f"refused: {why}") or 3)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        sys.exit(print(f"wrong input: {error!r}") or 2)
