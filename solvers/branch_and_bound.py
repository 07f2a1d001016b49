"""The exact search: finds, and proves, the least peak of one memory.

An instance falls into independent parts. The one with the highest peak is worked on, for it alone makes the peak, until
none is above the bound. A round asks the kernel, in several orders, for a placement under one capacity: in some rounds
that of the bound itself, in the others one between the bound and the peak, drawn at random. Runs are short (Luby
restarts); failure weights and nogoods survive them, and learn. A run that exhausts the search proves a new bound.
"""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from planner.instance import Instance
from planner.table import I64
from solvers.independence import Part, split
from solvers.kernels.exact import EXHAUSTED, FOUND, FULL
from solvers.kernels.exact import search as run_kernel
from solvers.kernels.exact_state import State
from solvers.packers import QuickPacker
from solvers.placement import pins_collide
from solvers.search import Assignment, Search

NAME = "exact"
ORDERS = ("WAT", "TAW", "TWA", "CAT")
"""The orders in which a branch tries its buffers: by these traits in turn, the largest first; see Part.traits."""
AT_BOUND, ABOVE, ABOVE_WIDE = 0, 1, 2
"""The kinds of rounds."""
SKIP_WEIGHTS = (1.0, 1.0, 3.0)
"""What the option to leave a gap weighs against a buffer, for each kind."""
SHORTEST_RUN = (4, 16, 16)
"""Nodes for each buffer, for each kind."""
ROUNDS_AT_BOUND, FEW_NODES = 4, 1000
"""The bound gets the first rounds, then every 2nd until so many nodes for each buffer are spent, then every 8th."""
RESET_EVERY = 8
"""After so many rounds of a kind its failure weights start afresh."""
NOISE = 0.03
"""How far orders are shaken after the first round of a kind: the standard deviation, as a part of all buffers."""
NEAR, FAR = 0.4, 0.95
"""Between which parts of the gap, from the bound up, a capacity is drawn."""
NOGOOD_BITS = 18
ALONE_NODES = 30_000
"""After so many nodes one climber is joined by the others."""
NODE_WORK = 4
"""What a node counts in units of Search.work_limit."""
ENDLESS = 2**62
MAX_LIFETIMES = 10_000


def solve(instance: Instance, search: Search) -> None:
    """Search until the peak is proved, the search is over, or the work limit is reached.

    Honours everything but several memories and costs. After a short time alone, one climber a core works in a thread of
    its own, with its own seed, weights and nogoods; they share the best offsets of each part, and the bound. In a
    deterministic search there is one climber, and nodes are counted. Kernels count in int64, and list the pairs of
    lifetimes that meet: an instance whose sums may not fit, or with more than MAX_LIFETIMES, is left alone.
    """
    if search.is_over or not instance.is_small_numbered or len(instance.start) > MAX_LIFETIMES:
        return
    if pins_collide(instance, QuickPacker(instance, search.flag)) or search.bound[-1] > instance.memories[0].capacity:
        if search.flag[0] == 0:  # a stopped packer places nothing, which proves nothing
            search.claim_infeasible(NAME)
        return
    standing = Standing(instance, search)
    if not standing.parts:
        search.offer(np.zeros(len(instance), dtype=np.int64), instance.pin, NAME)
        return
    climber = Climber(standing, seed=0)
    if search.deterministic:
        climber.climb(search.work_limit // NODE_WORK)
        return
    climber.climb(ALONE_NODES)
    if search.is_over or standing.hardest() is None:
        return
    climbers = [climber, *(Climber(standing, seed) for seed in range(1, os.cpu_count() or 1))]
    with ThreadPoolExecutor(len(climbers), thread_name_prefix=NAME) as threads:
        for done in [threads.submit(each.climb, ENDLESS) for each in climbers]:
            done.result()


class Standing:
    """What the climbers share: the best offsets and the peak of each part, and through `search` those of the whole."""

    def __init__(self, instance: Instance, search: Search) -> None:
        self.instance, self.search = instance, search
        self.parts = split(instance)
        self.ceiling = _ceiling(instance)
        self.offset: list[I64 | None] = [None] * len(self.parts)
        self.peak = [self.ceiling + 1] * len(self.parts)
        self._proved = 0
        self._seen: Assignment | None = None
        self._lock = threading.Lock()
        self.look()

    @property
    def bound(self) -> int:
        """The least peak that is not ruled out, whether or not `search` believes it."""
        return max(self._proved, int(self.search.bound[-1]))

    def hardest(self) -> int | None:
        """Return the part with the highest peak, or None if no part is above the bound."""
        k = int(np.argmax(self.peak))
        return k if self.peak[k] > self.bound else None

    def look(self) -> None:
        """Take over what others have found since the last look."""
        best = self.search.best
        with self._lock:
            if best is None or best is self._seen:
                return
            self._seen = best
            for k, part in enumerate(self.parts):
                self._improve(k, best.offset[part.buffers])

    def take(self, part: int, offset: I64) -> None:
        """Take offsets for the buffers of a part; offer the whole if they are better, and every part has some."""
        with self._lock:
            if not self._improve(part, offset):
                return
            whole = np.array(self.instance.pin)
            for mine, offsets in zip(self.parts, self.offset, strict=True):
                if offsets is None:
                    return
                whole[mine.buffers] = offsets
            self.search.offer(np.zeros(len(whole), dtype=np.int64), whole, NAME)

    def _improve(self, part: int, offset: I64) -> bool:
        peak = int((offset + self.instance.size[self.parts[part].buffers]).max())
        if peak >= self.peak[part]:
            return False
        self.offset[part], self.peak[part] = offset, peak
        return True

    def rule_out(self, need: int) -> None:
        """Learn that a part needs a capacity of at least `need`."""
        with self._lock:
            self._proved = max(self._proved, need)
        if need > self.ceiling:
            self.search.claim_infeasible(NAME)
        else:
            self.search.offer_bound((need,), NAME)


def _ceiling(instance: Instance) -> int:
    """Return an end that nothing need pass: the capacity, or what stacking all on everything fixed takes."""
    memory = instance.memories[0]
    fixed = max(int(memory.reserved.max(initial=0)), int((instance.pin + instance.size).max(initial=0)))
    stacked = fixed + int((instance.size + instance.alignment[0] + instance.residue[0]).sum())
    return min(memory.capacity, stacked)


@dataclass(eq=False)
class Ladder:
    """One climber's rounds on one part; lists have an entry for each kind of round."""

    part: Part
    rng: np.random.Generator
    orders: list[I64] = field(init=False)
    weights: list[npt.NDArray[np.float64]] = field(init=False)
    nogoods: I64 = field(default_factory=lambda: np.zeros((1 << NOGOOD_BITS, 4), dtype=np.int64))
    rounds: list[int] = field(default_factory=lambda: [0, 0, 0])
    since_found: list[int] = field(default_factory=lambda: [0, 0, 0])
    nodes: int = 0
    room: int = 1
    state: State = field(init=False)

    def __post_init__(self) -> None:
        traits = self.part.traits
        self.orders = [_rank(np.lexsort([-traits[letter] for letter in reversed(order)])) for order in ORDERS]
        self.weights = [np.ones(len(self.part.sections.spare)) for _ in SKIP_WEIGHTS]
        self.state = State.for_sections(self.part.sections)

    def kind(self, is_known: bool) -> int:
        """Return the kind of the next round; the first one finds any offsets where none are known."""
        k = sum(self.rounds)
        if k == 0 and not is_known:
            return ABOVE
        is_early = self.nodes < FEW_NODES * len(self.part.buffers)
        if k < ROUNDS_AT_BOUND or (k - ROUNDS_AT_BOUND) % (2 if is_early else 8) == 0:
            return AT_BOUND
        return (ABOVE, ABOVE_WIDE)[(k // 2 if is_early else k) % 2]

    def begin(self, kind: int) -> int:
        """Begin a round; return the nodes that each of its runs may take."""
        if self.rounds[kind] % RESET_EVERY == 0:
            self.weights[kind][:] = 1.0
        self.since_found[kind] += 1
        return SHORTEST_RUN[kind] * len(self.part.buffers) * luby(self.since_found[kind])

    def rank(self, kind: int, order: int) -> I64:
        """Return the position of each buffer in an order, with some noise after the first round of a kind."""
        rank = self.orders[order]
        if self.rounds[kind] == 0:
            return rank
        n = len(rank)
        return _rank(np.argsort(rank + self.rng.normal(0, NOISE * n, n) * self.rng.random()))

    def run(self, kind: int, rank: I64, capacity: int, limit: int, flag: I64) -> tuple[int, int, I64]:
        """Run the kernel once; return its outcome, the need, and the offsets."""
        offset = np.zeros(len(rank), dtype=np.int64)
        outcome, nodes, need = run_kernel(
            self.part.sections,
            self.state,
            self.nogoods,
            rank,
            self.weights[kind],
            capacity,
            SKIP_WEIGHTS[kind],
            limit,
            self.rounds[kind] >= 2,
            flag,
            offset,
        )
        self.nodes += nodes
        if outcome == FULL:
            self.room *= 2
            self.state = State.for_sections(self.part.sections, self.room)
        return outcome, need, offset


class Climber:
    """One thread's search; what it learns of a part stays in that part's Ladder."""

    def __init__(self, standing: Standing, seed: int) -> None:
        self.standing, self.seed = standing, seed
        self.ladders: dict[int, Ladder] = {}
        self.nodes = 0

    def climb(self, nodes: int) -> None:
        """Run rounds until so many nodes are spent, no part is above the bound, or the search is over."""
        end = self.nodes + nodes
        while self.nodes < end and not self.standing.search.is_over:
            self.standing.look()
            k = self.standing.hardest()
            if k is None:
                return
            if k not in self.ladders:
                rng = np.random.default_rng([self.standing.search.seed, self.seed, k])
                self.ladders[k] = Ladder(self.standing.parts[k], rng)
            self._round(k, self.ladders[k], end)

    def _round(self, part: int, ladder: Ladder, end: int) -> None:
        """Ask for one capacity in each order, until one run finds offsets or `end` nodes are spent."""
        standing = self.standing
        kind = ladder.kind(standing.offset[part] is not None)
        limit = ladder.begin(kind)
        fraction = ladder.rng.uniform(NEAR, FAR)
        for order in range(len(ORDERS)):
            capacity = self._capacity(part, kind, fraction)
            if capacity >= standing.peak[part] or self.nodes >= end or standing.search.is_over:
                break
            before = ladder.nodes
            rank = ladder.rank(kind, order)
            outcome, need, offset = ladder.run(kind, rank, capacity, min(limit, end - self.nodes), standing.search.flag)
            self.nodes += ladder.nodes - before
            if outcome == EXHAUSTED:
                standing.rule_out(need)
            elif outcome == FOUND:
                standing.take(part, offset)
                ladder.since_found[kind] = 0
                break
        ladder.rounds[kind] += 1

    def _capacity(self, part: int, kind: int, fraction: float) -> int:
        """Return the capacity to ask for; at least the peak, if there is nothing left to ask."""
        standing = self.standing
        bound, peak = standing.bound, standing.peak[part]
        if kind == AT_BOUND or peak <= bound:
            return bound
        if standing.offset[part] is None:
            return standing.ceiling
        return min(peak - 1, bound + int((peak - bound) * fraction))


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
