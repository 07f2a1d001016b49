"""The rounds of one search thread on one component: the capacities, orders and limits of the kernel's runs.

A round searches for a placement under one capacity, in several orders: in some rounds that of the bound itself, in the
others one between the bound and the peak of the last placement. The latter are guided by that placement: they try first
to start a buffer where it starts there (Beck's solution-guided search, 2007). As sections that fail are branched on
first, what is wrong with the placement is mended first, and the rest of it is kept. Where that leads no further,
another descent begins, a series of better and better placements. Runs are short (Luby restarts); failure weights and
nogoods survive them, and learn. In between come dives: many shorter runs at the bound, each with fresh weights.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.exact import FULL, LEAST, NODES, ExactRun, State, enlarged, no_nogoods, search
from memplan.solvers.core.sections import Sections
from memplan.solvers.core.tables import F64, Reference
from memplan.solvers.exact.components import Component

ORDERS = ("WAT", "TAW", "TWA", "CAT")
"""The orders in which a branch tries its buffers: by these traits in turn, the largest first; see Component.traits."""
AT_BOUND, ABOVE, ABOVE_WIDE, DIVE, SHAKEN_DIVE, DIVE_ABOVE, LEARNT_DIVE = 0, 1, 2, 3, 4, 5, 6
"""The kinds of rounds."""
DIVES = (LEARNT_DIVE, SHAKEN_DIVE, LEARNT_DIVE, DIVE, DIVE_ABOVE)
"""Rounds whose runs are short and begin with fresh weights, in turn; a learnt one has the orders, and the end of time,
with which others like it came farthest.
"""
SPREAD = 0.15
"""The standard deviation of what a dive leaves unplaced, as a fraction of the buffers: so unsure is what one has shown.
"""
_OF_BOUND = (AT_BOUND, DIVE, SHAKEN_DIVE, LEARNT_DIVE)
SKIP_WEIGHTS = (1.0, 1.0, 3.0, 0.3, 1.0, 1.0, 0.3)
"""The weight of leaving a gap, compared with a buffer, for each kind of round."""
SHAKING = 0.15
"""Fresh weights differ from 1 by at most this in shaken dives: that chooses among sections that have failed as often,
as the ends of time do in others.
"""
FIRST_RUN, SHORTEST_RUN, SHORTEST_LONG_RUN = 2, 4, 16
"""Nodes for each buffer: in the clean rounds, where what is easy takes hardly more nodes than buffers in some order; in
others; and above the bound in proofs.
"""
ROUNDS_AT_BOUND, FEW_NODES = 4, 1000
"""The bound gets the first rounds, then every 2nd until so many nodes for each buffer are spent, then every 4th."""
ROUNDS_BEFORE_DIVES = 2
"""Easy placements are found in these."""
EARLY_NODES, EARLY_SHARE, LATE_SHARE = 400, 0.75, 0.3
"""Dives take one share of the first nodes, so many for each buffer, and another one of later nodes (decision 126)."""
RESET_EVERY = 8
"""After so many rounds of a kind its failure weights start afresh."""
CLEAN_ROUNDS = 2
"""The first rounds of a kind take the orders as they are, with fresh weights: one from each end of time, for a search
that is long one way may be short the other way.
"""
NOISE = 0.03
"""Noise in later orders: the standard deviation of a position, as a fraction of the number of buffers."""
LOWEST, HIGHEST = 0.4, 0.95
"""The range, as fractions of the gap from the bound up, in which a capacity is drawn."""
PATIENCE = 1000
"""A descent ends after so many nodes for each buffer without a better placement, or after as many as it had taken."""
NOGOOD_BITS, ROWS_A_NODE = 18, 4
"""The table of nogoods has 2^bits rows at the most, and before that at least so many for each node that was or will
soon be searched: clearing a large table takes longer than most searches.
"""
ENDLESS = 2**62


@dataclass(eq=False)
class RestartSchedule:
    """One search thread's rounds on one component; lists have an entry for each kind of round.

    `dive_nodes` of the `nodes` were spent in dives; `learnt` has, for each order and for each end of time, how many
    learnt dives there were, and the sum of what they left unplaced. `offset`, if any, and `peak` are the last placement
    of its descent, which began at node `began` and got it at `found`. Of several search threads one `is_first`: it
    begins with the orders as they are, which the others need not do again. `is_proving`, from when on a run was
    exhausted, means that better placements are few: then rounds are not guided, and there are no dives.
    """

    component: Component
    rng: np.random.Generator
    is_first: bool = True
    nogood_bits: int = NOGOOD_BITS
    orders: list[I64 | None] = field(default_factory=lambda: [None] * len(ORDERS))
    weights: list[F64] = field(init=False)
    nogoods: I64 = field(default_factory=lambda: enlarged(no_nogoods(), 1))
    rounds: list[int] = field(default_factory=lambda: [0] * len(SKIP_WEIGHTS))
    since_found: list[int] = field(default_factory=lambda: [0] * len(SKIP_WEIGHTS))
    nodes: int = 0
    dive_nodes: int = 0
    scale: int = 1
    offset: I64 | None = None
    peak: int = ENDLESS
    began: int = 0
    found: int = 0
    is_proving: bool = False
    learnt: tuple[F64, F64] = field(default_factory=lambda: (np.zeros((2, len(ORDERS))), np.zeros((2, 2))))
    state: Reference[State] = field(init=False)
    sections: Reference[Sections] = field(init=False)
    no_guide: I64 = field(init=False)

    def __post_init__(self) -> None:
        self.weights = [np.ones(len(self.component.sections.spare)) for _ in SKIP_WEIGHTS]
        self.sections = self.component.laid_out.sections
        self.state = Reference(State.for_sections(self.component.sections))
        self.no_guide = np.full(len(self.component.buffers), -1)

    @property
    def is_stalled(self) -> bool:
        """True if the descent should end."""
        return not self.is_proving and self.nodes - self.found > max(
            PATIENCE * len(self.component.buffers), self.found - self.began
        )

    def start_descent(self, offset: I64 | None, peak: int) -> None:
        """Go on from a placement, or from none."""
        self.offset, self.peak = offset, peak
        self.began = self.found = self.nodes
        self.since_found[ABOVE] = self.since_found[ABOVE_WIDE] = 0

    def follow(self, kind: int, offset: I64, peak: int) -> None:
        """Go on from a better placement, which a round of this kind has found."""
        self.offset, self.peak = offset, peak
        self.found = self.nodes
        self.since_found[kind] = 0

    @property
    def _dives_are_due(self) -> bool:
        early = min(self.nodes, EARLY_NODES * len(self.component.buffers))
        share = EARLY_SHARE * early + LATE_SHARE * (self.nodes - early)
        return not self.is_proving and self.dive_nodes < share

    def kind(self) -> int:
        """Return the kind of the next round; the first one finds any offsets where none are known."""
        k = sum(self.rounds[:DIVE])
        # Any placement first: rounds between the bound and a peak need one.
        if k == 0 and self.offset is None:
            return ABOVE
        if k >= ROUNDS_BEFORE_DIVES and self._dives_are_due:
            return DIVES[sum(self.rounds[DIVE:]) % len(DIVES)]
        is_early = self.nodes < FEW_NODES * len(self.component.buffers)
        # Most real problems have a plan at the bound, so it is tried most often.
        if k < ROUNDS_AT_BOUND or (k - ROUNDS_AT_BOUND) % (2 if is_early else 4) == 0:
            return AT_BOUND
        return (ABOVE, ABOVE_WIDE)[(k // 2 if is_early else k) % 2]

    def begin(self, kind: int) -> tuple[int, float]:
        """Begin a round; return the nodes that each of its runs may take, and the fraction of the gap it tries."""
        # Old failures would keep the search among the same sections.
        if self.rounds[kind] % RESET_EVERY == 0 or self.rounds[kind] < CLEAN_ROUNDS:
            self.weights[kind][:] = 1.0
        self.since_found[kind] += 1
        if kind in DIVES:
            return SHORTEST_RUN * len(self.component.buffers), self.rng.uniform(LOWEST, HIGHEST)
        shortest = FIRST_RUN if self.rounds[kind] < CLEAN_ROUNDS else SHORTEST_RUN
        # Proofs need long runs; short ones only find.
        if self.is_proving and kind != AT_BOUND:
            shortest = SHORTEST_LONG_RUN
        return shortest * len(self.component.buffers) * luby(self.since_found[kind]), self.rng.uniform(LOWEST, HIGHEST)

    def capacity(self, kind: int, fraction: float, bound: int, ceiling: int) -> int:
        """Return the capacity to try: below the descent's peak, or the ceiling where it has no placement yet."""
        if kind in _OF_BOUND or self.peak <= bound:
            return bound
        if self.offset is None:
            return ceiling
        return min(self.peak - 1, bound + int((self.peak - bound) * fraction))

    def rank(self, kind: int, order: int) -> I64:
        """Return the position of each buffer in an order, with some noise after the clean rounds."""
        rank = self._order(order)
        if self.rounds[kind] < CLEAN_ROUNDS and kind not in DIVES and self.is_first:
            return rank
        n = len(rank)
        return _rank(np.argsort(rank + self.rng.normal(0, NOISE * n, n) * self.rng.random()))

    def _order(self, order: int) -> I64:
        """Return the position of each buffer in an order as it is, made on first use: few searches need them all."""
        rank = self.orders[order]
        if rank is None:
            traits = self.component.traits
            rank = self.orders[order] = _rank(np.lexsort([-traits[letter] for letter in reversed(ORDERS[order])]))
        return rank

    def _promising(self) -> tuple[int, bool]:
        """Draw an order and an end of time by what dives with them left unplaced, as Thompson sampling does (1933)."""
        chosen = []
        for times, left in self.learnt:
            mean = np.where(times > 0, left / np.maximum(times, 1), left.sum() / max(1, times.sum()))
            chosen.append(int(np.argmin(mean + self.rng.normal(0, SPREAD, len(mean)) / np.sqrt(times + 0.3))))
        return chosen[0], chosen[1] == 1

    def _make_room(self, limit: int) -> None:
        """Enlarge the table of nogoods for so many more nodes."""
        rows = 1 << min(self.nogood_bits, (ROWS_A_NODE * (self.nodes + limit)).bit_length())
        if rows > len(self.nogoods):
            self.nogoods = enlarged(self.nogoods, rows)

    def _guide(self, kind: int) -> I64:
        """Return the placement to follow, if any: the descent's, above the bound, where something may yet be found."""
        # After a real exhaustion nothing near the last placement is to be found (decision 126).
        return (
            self.no_guide if kind not in (ABOVE, ABOVE_WIDE) or self.is_proving or self.offset is None else self.offset
        )

    def run(self, kind: int, order: int, capacity: int, limit: int, flag: I64) -> tuple[int, int, I64]:
        """Run the kernel once; return its outcome, the need, and the offsets."""
        self._make_room(limit)
        from_right = self.rounds[kind] % 2 == 1
        if kind == LEARNT_DIVE:
            order, from_right = self._promising()
        if kind in DIVES:
            shaking = SHAKING if kind == SHAKEN_DIVE else 0.0
            self.weights[kind][:] = self.rng.uniform(1 - shaking, 1 + shaking, len(self.weights[kind]))
        run = ExactRun(
            nogoods=self.nogoods,
            rank=self.rank(kind, order),
            guide=self._guide(kind),
            weight=self.weights[kind],
            capacity=capacity,
            skip_weight=SKIP_WEIGHTS[kind],
            # A search that is long from one end of time may be short from the other (decision 126).
            from_right=from_right,
            node_limit=limit,
            is_thorough=self.rounds[kind] >= 2 and kind not in DIVES,
            flag=flag,
            offset=np.zeros(len(self.component.buffers), dtype=np.int64),
            answer=np.zeros(2, dtype=np.int64),
        )
        outcome = search(self.sections, self.state, Reference(run))
        self.nodes += int(run.answer[NODES])
        self.dive_nodes += int(run.answer[NODES]) if kind in DIVES else 0
        if kind == LEARNT_DIVE and outcome != FULL:
            for learnt, choice in zip(self.learnt, (order, int(from_right)), strict=True):
                learnt[:, choice] += 1, self.state.table.unplaced[0] / len(self.component.buffers)
        # Tables grow only where a run has filled them, as most components need small ones (decision 126).
        if outcome == FULL:
            self.scale *= 2
            self.state = Reference(State.for_sections(self.component.sections, self.scale))
        return outcome, int(run.answer[LEAST]), run.offset


def luby(k: int) -> int:
    """Return the k-th number, from 1, of 1 1 2 1 1 2 4 1 1 2 1 1 2 4 8 … (Luby, Sinclair and Zuckerman 1993)."""
    while True:
        power = 1 << (k.bit_length() - 1)
        if k == 2 * power - 1:
            return power
        k -= power - 1


def _rank(order: I64) -> I64:
    """Return each buffer's position in an order."""
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return rank
