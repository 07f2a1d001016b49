"""The baseline for buffers that move: the fast pool keeps those used again soonest, as XLA and Belady's rule do."""

from collections.abc import Sequence
from itertools import pairwise
from math import fsum
from typing import NamedTuple

import numpy as np

from memplan.planner.model.intervals import merge_spans
from memplan.planner.model.moving import MovingBuffer, Piece, moves_of
from memplan.planner.model.plan import BufferCopy
from memplan.planner.model.problem import Problem
from memplan.solvers.moves.capacities import Capacity


class Pieces(NamedTuple):
    """The pieces and copies of all buffers, and what their accesses and copies cost."""

    pieces: list[Piece]
    copies: list[BufferCopy]
    cost: float


def greedy_pieces(problem: Problem, rows: Sequence[MovingBuffer], limits: Sequence[Capacity]) -> Pieces | None:
    """Return pieces within the capacities, or None if the rule finds none.

    Each buffer has a home, its cheapest pool without a limit. It also lies in the fast pool, the cheapest one that
    operations use, where an access needs it, and between two accesses where there is room, the shortest times first.
    """
    direct = [q for q, pool in enumerate(problem.pools) if pool.direct]
    if not direct:
        return None
    fast = min(direct, key=lambda q: problem.pools[q].cost)
    by_price = sorted(range(len(limits)), key=lambda q: problem.pools[q].cost)
    plans = []
    for row in rows:
        home = next((q for q in by_price if q in row.pools and limits[q].most is None), None)
        if home is None or row.given not in (None, fast, home) or row.kept_in not in (None, fast, home):
            return None
        plans.append(_Resident(problem, row, home, fast))
    most = limits[fast].most
    lead = moves_of(problem).lead
    times = {time for row in rows for use in row.uses for time in (use.time, use.time + 1, use.time + lead)}
    times |= {use.time - lead for row in rows for use in row.uses} | {row.end for row in rows}
    moments = np.array(sorted(times | {row.end - 1 for row in rows} | {row.start for row in rows}))
    load = np.zeros(len(moments) + 1, dtype=np.int64)

    def add(rooms: Sequence[tuple[int, int]], size: int) -> None:
        for start, end in rooms:
            load[np.searchsorted(moments, start) : np.searchsorted(moments, end)] += size

    for plan in plans:
        add(plan.rooms(), limits[fast].load(plan.row.size))
    if most is not None and load.max(initial=0) > most:
        return None
    gaps = [(after - now, k, j) for k, plan in enumerate(plans) for j, (now, after) in enumerate(pairwise(plan.stops))]
    for _, k, j in sorted(gaps):
        plan, size = plans[k], limits[fast].load(plans[k].row.size)
        if plan.kept[j] or plan.is_at_home:
            continue
        before = plan.rooms()
        plan.kept[j] = True
        if not (after := plan.rooms()):
            plan.kept[j] = False
            continue
        add(before, -size)
        add(after, size)
        low, high = (np.searchsorted(moments, end) for end in (after[0][0], after[-1][1]))
        if most is not None and load[low:high].max(initial=0) > most:
            add(after, -size)
            add(before, size)
            plan.kept[j] = False
    found = [plan.schedule() for plan in plans]
    if None in found:
        return None
    whole = [each for each in found if each is not None]
    copies = sorted((copy for each in whole for copy in each.copies), key=lambda copy: copy.time)
    return Pieces([piece for each in whole for piece in each.pieces], copies, fsum(each.cost for each in whole))


class _Resident:
    """A buffer with a home and, from some of its stops to the next (`kept`), a piece in the fast pool.

    Its stops are its accesses, and the start and the last time of its lifetime.
    """

    def __init__(self, problem: Problem, row: MovingBuffer, home: int, fast: int) -> None:
        """Keep nothing in the fast pool but what accesses need."""
        self.problem, self.row, self.home, self.fast = problem, row, home, fast
        self.uses = {use.time: use for use in row.uses}
        self.stops = sorted({row.start, row.end - 1, *self.uses})
        self.lead = moves_of(problem).lead
        self.is_at_home = fast == home or fast not in row.pools or row.is_fixed
        is_used_there = problem.pools[home].direct
        # Without a way to use the home, a copy there and back must have the time of two copies.
        self.kept = [not is_used_there and after - now <= 2 * self.lead for now, after in pairwise(self.stops)]

    def rooms(self) -> list[tuple[int, int]]:
        """Return the times at which the buffer takes room in the fast pool, as half-open ranges."""
        found = self.schedule()
        return [] if found is None else [(p.start, p.end) for p in found.pieces if p.pool == self.fast != self.home]

    def schedule(self) -> Pieces | None:
        """Return the pieces, the copies and the cost, or None if there is no time for a copy."""
        row, pools = self.row, self.problem.pools
        first = self.uses.get(row.start)
        is_born = row.given is None and first is not None and first.write is not None and first.read is None
        starts_fast = row.given == self.fast or (is_born and self._needs_fast(0))
        in_fast, in_home = starts_fast and not self.is_at_home, not starts_fast or self.is_at_home
        home_since = row.start if in_home else None
        spans: list[list[int]] = [[row.start, row.start + 1]] if in_fast else []
        copies: list[BufferCopy] = []
        cost, written = 0.0, row.start
        for j, time in enumerate(self.stops):
            use = self.uses.get(time)
            is_last = j + 1 == len(self.stops)
            if in_fast and spans:
                spans[-1][1] = max(spans[-1][1], time + 1)
            if not in_fast and self._needs_fast(j):
                begun = time - self.lead
                if home_since is None or begun < max(row.start, home_since):
                    return None
                copies.append(self._copy(begun, self.home, self.fast))
                spans.append([begun, time + 1])
                in_fast = True
            place = self.fast if in_fast else self.home
            if use is not None:
                if not pools[place].direct:
                    return None
                cost += ((use.read or 0) + (use.write or 0)) * pools[place].cost
            if use is not None and use.write is not None:
                in_fast, in_home, written = place == self.fast != self.home, place == self.home, time
            stays = self.kept[j] if not is_last else row.kept_in == self.fast
            is_needed = not is_last or row.kept_in == self.home
            if in_fast and not in_home and not stays and is_needed:
                # The home has room for everything, so it is copied there as soon as it is written.
                if written + self.lead > row.end - (not is_last):
                    return None
                copies.append(self._copy(written, self.fast, self.home))
                in_home, home_since = True, written + self.lead
                spans[-1][1] = max(spans[-1][1], written + self.lead)
            in_fast = in_fast and stays
        return self._collect(spans, copies, cost)

    def _needs_fast(self, j: int) -> bool:
        time = self.stops[j]
        if self.is_at_home:
            return False
        stays = self.row.kept_in == self.fast if j + 1 == len(self.stops) else self.kept[j]
        return stays or (time in self.uses and not self.problem.pools[self.home].direct)

    def _collect(self, spans: list[list[int]], copies: list[BufferCopy], cost: float) -> Pieces:
        row, i = self.row, self.row.position
        merged = merge_spans([(start, min(end, row.end)) for start, end in spans])
        pieces = [Piece(i, self.fast, start, end) for start, end in merged]
        sent = [copy.time for copy in copies if copy.to == self.problem.pools[self.home].name]
        starts_home = not merged or merged[0][0] > row.start or row.given == self.home
        if starts_home or sent:
            pieces.append(Piece(i, self.home, row.start if starts_home else min(sent), row.end))
        prices = {pool.name: pool.cost for pool in self.problem.pools}
        cost += sum(row.size * (prices[copy.source] + prices[copy.to]) for copy in copies)
        return Pieces(pieces, copies, cost)

    def _copy(self, time: int, source: int, to: int) -> BufferCopy:
        pools = self.problem.pools
        name = self.problem.buffers.ids[self.row.position]
        return BufferCopy(id=name, source=pools[source].name, to=pools[to].name, time=time, bytes=self.row.size)
