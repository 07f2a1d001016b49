"""What prices charge the buffers that may move, for moves.py: the least charge of each, by dynamic programming."""
# docs/certificates.md proves that this lower bound is valid.

from bisect import bisect_left, bisect_right
from functools import cache
from itertools import accumulate, combinations
from typing import NamedTuple

FAR = 2**240  # The charge of what is impossible.


class Row(NamedTuple):
    """A buffer with its aliases: `uses` maps a time to [bytes read, bytes written], each None without an access."""

    size: int
    start: int
    end: int
    uses: dict
    pools: tuple
    given: int | None
    kept: int | None
    is_fixed: bool


def rows_of(problem):
    """Return the rows of all buffers that are not aliases. Raises ValueError for several lifetimes."""
    families, names = {}, {pool.get("name", "default"): q for q, pool in enumerate(problem.pools)}
    for i, root in enumerate(problem.root):
        families.setdefault(root, []).append(i)
    tied = {problem.root[problem.index[name]] for group in problem.together for name in group}
    rows = []
    for root, members in families.items():
        if any(len(problem.rows[i]["lives"]) != 1 for i in members):
            raise ValueError("each buffer that may move must have one lifetime")
        uses, row = {}, problem.rows[root]
        for i in members:
            for time, is_write, count in accesses(problem, i):
                use = uses.setdefault(time, [None, None])
                use[is_write] = (use[is_write] or 0) + count
        ends = [end for start_and_end in problem.lives[root] for end in start_and_end]
        given, kept = names.get(row.get("given")), names.get(row.get("kept_in"))
        is_fixed = root in tied or problem.pin[root] is not None
        pools = tuple(sorted(problem.open[root]))
        rows.append(Row(row["size"], min(ends), max(ends), uses, pools, given, kept, is_fixed))
        if not all(min(ends) <= time < max(ends) for time in uses):
            raise ValueError("accesses must be within the lifetime")
    return rows


def accesses(problem, i):
    """Return (time, whether it is a write, bytes) of each access of a row, with all defaults filled in."""
    row, ((start, end),), is_root = problem.rows[i], problem.rows[i]["lives"], problem.root[i] == i
    is_given, given = not is_root or "given" in row, row.get("accesses")
    if given:
        each = [access if type(access) is dict else {"time": access} for access in given]
        kinds = [access.get("kind") or ("read" if k or is_given else "write") for k, access in enumerate(each)]
        return [(a["time"], kind == "write", a.get("bytes", row["size"])) for a, kind in zip(each, kinds)]
    if not is_root and problem.rows[problem.root[i]].get("accesses"):
        return []
    moved = row.get("traffic", 2 * row["size"])
    return [(start, not is_given, moved - moved // 2), (end - 1, False, moved // 2)]


class Charges:
    """What a plan is charged: its cost and, for each byte, prices of the room in pools and of copies, by time.

    A state is a set of pools with a right piece, as a bit mask of a buffer's pools. Runs of times with equal charges
    count as one, because what a buffer does in several of them, it can do in one.
    """

    def __init__(self, problem, cost, room, step):
        """Sort the times at which charges change; `room` maps each pool's times to prices, and `step` times."""
        self.cost, self.room, self.step, self.lead = cost, room, step, problem.lead
        self.direct = [pool.get("direct", True) for pool in problem.pools]
        self.times = [sorted(prices) for prices in room]
        self.sums = [[0, *accumulate(prices[t] for t in times)] for prices, times in zip(room, self.times)]
        priced = {t for prices in room for t in prices}
        turns = {t + k for t in priced for k in (0, 1, self.lead + 1)}
        self.turns = sorted(turns | {t + self.lead + k for t in step for k in (0, 1)})
        self.block = cache(self.block)

    def room_sum(self, q, start, end):
        """Return the price of a byte's room in a pool from `start` up to `end`."""
        low, high = (bisect_left(self.times[q], time) for time in (start, end))
        return self.sums[q][max(low, high)] - self.sums[q][low]

    def arrival(self, pools, q, time, sources, is_fresh=False):
        """Return the charge of a byte that is copied to a pool, where it is right from `time` on.

        If the buffer `is_fresh`, it was written when the copy began, so its room then may be charged already.
        """
        begun = time - self.lead
        source = min((self.cost[p] for p in sources if p != q), default=FAR)
        return source + self.cost[q] + self.step.get(begun, 0) + self.room_sum(q, begun + is_fresh, time)

    def matrix(self, pools, time, is_fresh=False):
        """Return the charges of a byte at a time, by the states before and after the copies that are right then."""
        states = [[q for k, q in enumerate(pools) if mask >> k & 1] for mask in range(1, 1 << len(pools))]
        room = [sum(self.room[q].get(time, 0) for q in state) for state in states]
        matrix = []
        for before in states:
            row = []
            for after, price in zip(states, room):
                # Without a lead, the source keeps its room at this time; otherwise, it may be any pool.
                sources = pools if self.lead else [p for p in before if p in after]
                row.append(
                    price + sum(self.arrival(pools, q, time, sources, is_fresh) for q in after if q not in before)
                )
            matrix.append([FAR if not self.lead and not {*before} & {*after} else x for x, after in zip(row, states)])
        return matrix

    def block(self, pools, level, k):
        """Return the least charges of a byte in the runs from k * 2**level up to (k + 1) * 2**level."""
        if level == 0:
            return self.matrix(pools, self.turns[k - 1] if k else (self.turns or [0])[0] - 1)
        one, other = self.block(pools, level - 1, 2 * k), [*zip(*self.block(pools, level - 1, 2 * k + 1))]
        return [[min(map(int.__add__, row, column)) for column in other] for row in one]

    def row_cost(self, row):
        """Return the least charge of a buffer's pieces, copies and accesses."""
        if row.is_fixed:
            homes = [q for q in row.pools if {row.given, row.kept} <= {None, q}]
            return min((self.charge_at_home(row, q) for q in homes), default=FAR)
        pools, writes = row.pools, {time for time, (_, write) in row.uses.items() if write is not None}
        stops = {row.start, *row.uses, row.end - 1} | {time + self.lead for time in writes}
        low = [FAR] * ((1 << len(pools)) - 1)
        for k, q in enumerate(pools):
            if row.given in (None, q):
                low[(1 << k) - 1] = self.room[q].get(row.start, 0) * row.size if self.lead else 0
        before = row.start
        for time in sorted(stop for stop in stops if stop < row.end):
            if time > before + 1:
                first, last = bisect_right(self.turns, before + 1), bisect_right(self.turns, time - 1)
                low = self.charges_after_runs(row, low, first, last + 1)
            if time > row.start or not self.lead:
                is_fresh = bool(self.lead) and time - self.lead in writes
                run = bisect_right(self.turns, time)
                low = apply(low, self.matrix(pools, time, True) if is_fresh else self.block(pools, 0, run), row.size)
            low, before = self.charges_after_use(row, low, time), time
        if row.kept is None:
            return min(low)
        there, is_fresh = 1 << pools.index(row.kept), row.end - self.lead in writes
        late = self.arrival(pools, row.kept, row.end, pools, is_fresh) * row.size if self.lead else FAR
        return min(each + (0 if mask & there else late) for mask, each in enumerate(low, 1))

    def charge_at_home(self, row, q):
        """Return the charge of a buffer that lies in one pool for its whole life."""
        count = sum(part or 0 for use in row.uses.values() for part in use)
        if row.uses and not self.direct[q]:
            return FAR
        return count * self.cost[q] + row.size * self.room_sum(q, row.start, row.end)

    def charges_after_runs(self, row, low, first, end):
        """Return the least charges by state after the runs from `first` up to `end`, without an access in them."""
        while first < end:
            level = min((first & -first).bit_length() - 1 if first else 60, (end - first).bit_length() - 1)
            low = apply(low, self.block(row.pools, level, first >> level), row.size)
            first += 1 << level
        return low

    def charges_after_use(self, row, low, time):
        """Return the least charges by state after the accesses of a time and the copies of written values."""
        read, write = row.uses.get(time, (None, None))
        if read is None and write is None:
            return low
        homes, after = [], [FAR] * len(low)
        for mask in range(1, len(low) + 1):
            usable = [q for k, q in enumerate(row.pools) if mask >> k & 1 and self.direct[q]]
            homes.append(min(usable, key=lambda q: self.cost[q], default=None))
        low = [FAR if q is None else x + ((read or 0) + (write or 0)) * self.cost[q] for x, q in zip(low, homes)]
        if write is None:
            return low
        for mask, (charge, home) in enumerate(zip(low, homes), 1):
            if charge >= FAR:
                continue
            others = [(k, q) for k, q in enumerate(row.pools) if q != home] if not self.lead else []
            for count in range(len(others) + 1):
                for sent in combinations(others, count):
                    state = 1 << row.pools.index(home) | sum(1 << k for k, _ in sent)
                    price = sum(self.cost[home] + self.cost[q] + self.step.get(time, 0) for _, q in sent)
                    price += sum(self.room[q].get(time, 0) for k, q in sent if not mask >> k & 1)
                    after[state - 1] = min(after[state - 1], charge + price * row.size)
        return after


def apply(low, matrix, size):
    """Return the least charges by state after the changes of a matrix, whose charges are those of a byte."""
    return [min(x + size * row[k] if x < FAR else FAR for x, row in zip(low, matrix)) for k in range(len(low))]
