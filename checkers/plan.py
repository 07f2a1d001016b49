"""Check a plan without memplan: plan.py [--inclusive|--half-open] PROBLEM PLAN [SIZE[@ADDRESS]|- ...]

Exit status: 0 valid, 2 wrong input, 3 refused. With `--heaps SIZE` before the files, each pool that the plan names has
this SIZE. PLAN is JSON with `placements`, or a table with the columns id, offset and optionally pool.
"""
# docs/formats.md defines the rules that a plan must keep; certificates ignore some of these rules.

import json, sys
from bisect import bisect, insort
from fractions import Fraction
from importlib import import_module
from itertools import combinations
from pathlib import Path

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parent))
names = ("check", "problem", "read", "costs")
checker, problems, reading, costs = (import_module(f"{__package__ or ''}.{name}".lstrip(".")) for name in names)
Refused, require = reading.Refused, reading.require


def placements(text):
    """Return a list of (id, pool name or None, offset), one for each placement in the text of a plan."""
    if text.lstrip(" \t\r\n\ufeff")[:1] in ("{", "["):
        data = json.loads(text, object_pairs_hook=reading.unique_object, parse_int=reading.integer)
        rows = data["placements"] if isinstance(data, dict) else data
        rows = [row if isinstance(row, list) else [row["id"], row.get("pool"), row["offset"]] for row in rows]
    else:
        head, *lines = [line.rstrip("\r").split(",") for line in text.split("\n") if line.strip(" \r")]
        at = {name.strip(" "): k for k, name in enumerate(head)}
        require(
            "id" in at and "offset" in at and all(len(line) == len(head) for line in lines),
            "a table must have the columns id and offset",
        )
        rows = [
            [line[at["id"]], line[at["pool"]] if "pool" in at else None, parse_integer(line[at["offset"]])]
            for line in lines
        ]
    for name, pool, offset in rows:
        is_right = reading.KINDS["i"](name) and type(offset) is int and 0 <= offset < 2**63
        require(is_right and (pool is None or type(pool) is str), "a placement must be valid, got", name, pool, offset)
    return rows


def parse_integer(text):
    """Return the integer in a table's cell, without the spaces around it."""
    return checker.number(text.strip(" "))


class Plan:
    """The placements of a problem's buffers: `at` maps each root (a buffer that is not an alias) to (pool, offset)."""

    def __init__(self, text, plan, given, interval, heap):
        """Read a problem and a plan. Raises Refused for missing placements and for aliases at wrong distances."""
        self.data, rows = reading.read(text, interval), placements(plan)
        heaps = {pool: q for q, pool in enumerate(dict.fromkeys(pool for _, pool, _ in rows))}
        mine = self.data.get("pools") or [{}]
        sizes = [(heap, None)] * len(heaps) if heap else given or [(pool.get("size"), None) for pool in mine]
        self.problem = p = problems.Problem(text, sizes, interval, bool(given or heap))
        index = {row["id"]: i for i, row in enumerate(p.rows)}
        pools = heaps if heap else {pool.get("name", "default"): q for q, pool in enumerate(mine)}
        self.at, seen = {}, set()
        for name, pool, offset in rows:
            require(name in index and name not in seen, "placements must name different buffers of the problem", name)
            require(pool is None or pool in pools, "a placement must be in a pool of the problem", pool)
            seen.add(name)
            root, above = p.rows[index[name]]["root"]
            place = (pools[pool] if pool in pools else 0, offset - above)
            if self.at.setdefault(root, place) != place:
                raise Refused(f"buffer {name!r} must keep its distance from its aliases or the buffer that it aliases")
        if missing := [row["id"] for i, row in enumerate(p.rows) if p.root[i] not in self.at]:
            raise Refused(f"buffer {missing[0]!r} must have a placement")
        self.end = {i: offset + p.size[i] for i, (_, offset) in self.at.items()}

    def check(self):
        """Raise Refused if the plan violates a rule of the problem; the message names the buffers."""
        p = self.problem
        for i, (q, offset) in sorted(self.at.items()):
            step, rest, ways = p.place(i, q)
            is_right = p.legal_offset(i, q, offset, p.ends[q]) == offset
            if not p.size[i]:  # A buffer of size 0 overlaps nothing, so only the other rules apply to it.
                is_right = offset % step == rest and p.pin[i] in (None, offset) and (0, problems.INF) not in ways
                is_right = is_right and offset <= p.ends[q]
            if not is_right:
                raise Refused(f"buffer {p.rows[i]['id']!r} must be at a legal offset, got {offset} in pool {q}")
        for i, row in enumerate(p.rows):
            if tie := row.get("relative"):
                j = self.index[tie["to"]]
                if self.place_of(i) != (self.place_of(j)[0], self.place_of(j)[1] + tie["offset"]):
                    raise Refused(f"buffer {row['id']!r} must start {tie['offset']} bytes above {tie['to']!r}")
        for group in self.data.get("together") or ():
            if len({self.place_of(self.index[name])[0] for name in group}) > 1:
                raise Refused(f"buffer {group[0]!r} and the buffers together with it must be in one pool")
        for i, j in self.overlaps() if p.has_ties else self.collisions():
            is_shared = frozenset((i, j)) in p.sharing and self.at[i] == self.at[j]
            alive = any(a < d and c < b for a, b in p.lives[i] for c, d in p.lives[j])
            if p.meets(i, j) or (frozenset((i, j)) in p.sharing and alive and not is_shared):
                raise Refused(f"buffers {p.rows[i]['id']!r} and {p.rows[j]['id']!r} must not share bytes")
        for pair, weight in self.bank_clashes():
            if weight is None:
                raise Refused(f"buffers {p.rows[pair[0]]['id']!r} and {p.rows[pair[1]]['id']!r} must not share a bank")

    @property
    def index(self):
        """Maps the id of a buffer to its row number."""
        return {row["id"]: i for i, row in enumerate(self.problem.rows)}

    def place_of(self, i):
        """Return (pool, offset) of the buffer in row i, which may be an alias inside another buffer."""
        root, above = self.problem.rows[i]["root"]
        return self.at[root][0], self.at[root][1] + above

    def overlaps(self):
        """Yield every pair of buffers that share bytes in the plan."""
        rows = sorted((*self.at[i], i) for i in self.problem.solid)
        for k, (q, _, i) in enumerate(rows):
            for other, offset, j in rows[k + 1 :]:
                if other != q or offset >= self.end[i]:
                    break
                yield i, j

    def collisions(self):
        """Yield pairs of buffers that share bytes although they conflict.

        Every such pair of an explicit conflict is yielded, and at least one of the pairs that are alive together.
        """
        p = self.problem
        for i, j in map(sorted, (pair for pair in p.named if len(pair) == 2)):
            if p.solid >= {i, j} and self.touch(i, j):
                yield i, j
        moves = sorted(
            (time, is_start, i)
            for i in p.solid
            for life in p.lives[i]
            for is_start, time in ((1, life[0]), (0, life[1]))
        )
        there = []  # Live buffers are sorted by pool and offset, so only neighbours can touch.
        for _, is_start, i in moves:
            row = (*self.at[i], i)
            k = bisect(there, row)
            if not is_start:
                del there[k - 1]
                continue
            yield from ((other[2], i) for other in there[max(0, k - 1) : k + 1] if self.touch(other[2], i))
            insort(there, row)

    def touch(self, i, j):
        """Return True if two different buffers share bytes in the plan."""
        (q, low), (other, offset) = self.at[i], self.at[j]
        return i != j and q == other and low < self.end[j] and offset < self.end[i]

    def bank_clashes(self):
        """Yield (pair of buffers, weight) for each pair in a `bank` rule whose buffers use a common bank.

        The weight None means that the pair must not use a common bank.
        """
        p = self.problem
        for use in self.data.get("bank") or ():
            roots = [p.root[self.index[name]] for name in use["buffers"]]
            for i, j in combinations(dict.fromkeys(root for root in roots if root in p.solid), 2):
                size = p.pools[self.at[i][0]].get("bank_size")
                base = p.pools[self.at[i][0]].get("base_address", 0)
                if size and self.at[i][0] == self.at[j][0]:
                    (a, b), (c, d) = (
                        ((base + self.at[k][1]) // size, (base + self.end[k] - 1) // size) for k in (i, j)
                    )
                    if a <= d and c <= b:
                        yield (i, j), use.get("weight")

    def reuse_prices(self):
        """Yield the price (a part of the plan's cost) of each `reuse` pair, if its buffers share bytes.

        Pairs with overlapping lifetimes have no price.
        """
        p = self.problem
        for use in p.reuse:
            for i, j in ((p.root[self.index[a]], p.root[self.index[b]]) for a, b in use["pairs"]):
                if p.solid >= {i, j} and not p.overlap(i, j) and self.touch(i, j):
                    yield use["cost"]

    def used_ends(self):
        """Return a list with the largest end offset in each pool, in bytes."""
        return [
            max([self.end[i] for i in self.problem.solid if self.at[i][0] == q], default=0)
            for q in range(len(self.problem.pools))
        ]

    def cost(self):
        """Return the plan's cost: traffic times pool cost, plus weights of shared banks and prices of shared bytes."""
        p = self.problem
        parts = 10**60
        price = costs.cost_by_buffer_and_pool(p, "cost", parts)
        moved = sum(price[i][self.at[i][0]] for i in p.solid)
        weights = [Fraction(weight) for _, weight in self.bank_clashes()]
        return Fraction(moved, parts) + sum(weights) + sum(map(Fraction, self.reuse_prices()))


def live_bytes_bound(problem):
    """Return the peak of live bytes, a lower bound on the sum of all pools, or 0 if live buffers may share bytes."""
    if problem.has_ties:
        return 0
    moves = sorted(
        (at, sign * problem.size[i])
        for i in problem.solid
        for a, b in problem.lives[i]
        for sign, at in ((1, a), (-1, b))
    )
    now = most = 0
    for _, change in moves:
        now += change
        most = max(most, now)
    return most


def check(text, plan, given=None, interval=None, heap=None):
    """Return (largest end offset of each pool, cost, peak of live bytes) for a valid plan.

    Raises Refused for an invalid plan.
    """
    plan_read = Plan(text, plan, given, interval, heap)
    plan_read.check()
    return plan_read.used_ends(), plan_read.cost(), live_bytes_bound(plan_read.problem)


def check_command(words):
    """Check the plan that the command's arguments name, and return a sentence with the bytes it uses and its cost."""
    interval = heap = None
    while words and words[0].startswith("--"):
        if words[0] == "--heaps":
            heap, words = checker.number(words[1]), words[2:]
        else:
            interval, words = checker.INTERVALS[words[0]], words[1:]
    first, second, *sizes = words
    used, cost, _ = check(
        *(Path(name).read_bytes().decode() for name in (first, second)), checker.parse_pools(sizes), interval, heap
    )
    return f"valid: uses {' '.join(map(str, used))} bytes of its pools, {sum(used)} in all, costs {cost}"


if __name__ == "__main__":
    try:
        print(check_command(sys.argv[1:]))
    except Refused as why:
        sys.exit(print(f"refused: {why}") or 3)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        sys.exit(print(f"wrong input: {error!r}") or 2)
