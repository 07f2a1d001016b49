"""A problem as check.py reads it: the rules that certificates use, and the legal offsets of each buffer."""
# docs/certificates.md proves that a checker may ignore all rules that this file does not read.

from functools import cache
from importlib import import_module
from math import gcd, lcm

reading = import_module(f"{__package__ or ''}.read".lstrip("."))
INF, LIMIT = 2**80, 2**63  # INF marks a missing legal offset; a pool without a size ends at LIMIT - 1.


class Problem:
    """A problem reduced to the rules that certificates use; aliases are merged into the buffers that contain them.

    `pools` lists (size, base address or None), read from the certificate or, if `is_given`, from the command line.
    """

    def __init__(self, text, pools, interval=None, is_given=False, moves=False):
        """Read a problem and merge its aliases. Raises Refused if the number or the sizes of its pools differ."""
        data, sizes = reading.read(text, interval, moves), [size for size, _ in pools]
        mine, rows = data.get("pools") or [{} for _ in pools], data["buffers"]
        if not 0 < len(pools) == len(mine) < 63:
            raise reading.Refused("the problem must have as many pools as there are pool sizes, and fewer than 63")
        if "pools" in data and not is_given and [pool.get("size") for pool in mine] != sizes:
            raise reading.Refused("problem and certificate must have equal pool sizes, unless given as arguments")
        bases = [pool.get("base_address", 0) if base is None else base for pool, (_, base) in zip(mine, pools)]
        self.pools = [pool | {"base_address": base} for pool, base in zip(mine, bases)]
        names = [pool.get("name", "default") if "pools" in data else q for q, pool in enumerate(mine)]
        number, n = {name: q for q, name in enumerate(names)}, range(len(rows))
        self.index = index = {rows[i]["id"]: i for i in n}
        self.interval, self.reuse, self.together = data["interval"], data.get("reuse", ()), data.get("together", ())
        rules = data["moves"] if type(data.get("moves")) is dict else {}
        self.moves, self.lead, self.bytes_per_step = (
            data.get("moves"),
            rules.get("lead", 0),
            rules.get("bytes_per_step"),
        )
        self.ends, self.rows = [LIMIT - 1 if size is None else size for size in sizes], rows
        self.size, self.page = [row["size"] for row in rows], [row.get("no_cross") or INF for row in rows]
        self.root, self.group = [row["root"][0] for row in rows], [row["group"] for row in rows]
        self.rules, self.lives = [[] for _ in n], [[] for _ in n]
        self.pin, self.open = [None] * len(rows), [{*number.values()} for _ in n]
        for row in rows:
            r, above = row["root"]
            self.lives[r] += row["lives"]
            self.rules[r].append((row.get("alignment", 1), above, row.get("offset_mod")))
            pin = self.pin[r] if row.get("offset") is None else row["offset"] - above
            self.pin[r] = pin if self.pin[r] in (None, pin) else -1  # Two different pins leave no legal offset: -1.
            self.open[r] &= {number[k] for k in row.get("pools") or number if k not in (row.get("forbid_pools") or ())}
        pairs = [data.get("conflicts") or (), data.get("may_share") or ()]
        self.named, self.sharing = [{frozenset(self.root[index[x]] for x in pair) for pair in some} for some in pairs]
        self.has_ties = self.sharing or any(row.get("relative") for row in rows)
        self.solid = {i for i in n if i == self.root[i] and self.size[i]}
        self.pinned = {i for i in self.solid if self.pin[i] is not None}

    @cache
    def meets(self, i, j):
        """Return True if buffers i and j conflict: they must not share bytes."""
        pair, is_free = frozenset((i, j)), self.group[i] == self.group[j]
        return i != j and (pair in self.named or (self.overlap(i, j) and not (is_free or pair in self.sharing)))

    def overlap(self, i, j):
        """Return True if buffers i and j are alive at the same time."""
        return any(a < d and c < b for a, b in self.lives[i] for c, d in self.lives[j])

    def fixed_ranges(self, buffers, q):
        """Return the ascending ranges of pool q that are reserved or occupied by pinned buffers among `buffers`."""
        rows, top = [(at, at + size) for at, size in self.pools[q].get("reserved") or () if size], 0
        rows += [(self.pin[i], self.pin[i] + self.size[i]) for i in buffers & self.pinned if self.open[i] == {q}]
        for k, (low, high) in enumerate(sorted(rows)):
            rows[k] = (max(low, top), top := max(high, top))
        return rows  # The loop has cut off all overlaps, so the ranges are disjoint.

    @cache
    def place(self, i, q):
        """Return (step, rest, blocked ranges): outside of these, buffer i's offsets in pool q are rest + step * y."""
        base, common, page = self.pools[q].get("base_address", 0), self.pools[q].get("alignment", 1), self.page[i]
        rules = [(m["modulus"], m["remainder"] - above) for _, above, m in self.rules[i] if m]
        step, rest, is_open = 1, 0, q in self.open[i]
        for m, r in rules + [(m, -base - above) for a, above, _ in self.rules[i] for m in (a, common)]:
            shared = gcd(step, m)
            is_open = is_open and (r - rest) % shared == 0
            rest += step * ((r - rest) // shared * pow(step // shared, -1, m // shared) % (m // shared))
            step = lcm(step, m)
        is_open = is_open and (base + rest) % gcd(step, page) + self.size[i] <= page
        ways = self.fixed_ranges({j for j in self.pinned if self.meets(i, j)}, q) if is_open else [(0, INF)]
        return step, rest % step, ways

    @cache
    def legal_offset(self, i, q, at, end):
        """Return buffer i's first legal offset in pool q that is at least `at` and lets it end by `end`, or INF."""
        (step, rest, ways), before, turns = self.place(i, q), -1, 0
        size, page, base, pin = self.size[i], self.page[i], self.pools[q].get("base_address", 0), self.pin[i]
        while before < at <= end - size and turns < 1000:
            before, turns, at = at, turns + 1, at if pin is None else pin if at <= pin else INF
            at = max([at + (rest - at) % step, *(high for low, high in ways if low < at + size and at < high)])
            at += -(base + at) % page if (base + at) % page + size > page else 0
        return at if at <= end - size else INF


def free_bytes_end(blocks, grain, rest, at, amount):
    """Return the end of the first `amount` free bytes from `at` on; blocks are first widened to `grain` bytes."""
    for low, high in ((low + (rest - low) % grain, high + (rest - high) % grain) for low, high in blocks):
        if amount <= low - at:
            break
        amount, at = amount - max(0, low - at), max(at, high)
    return at + amount
