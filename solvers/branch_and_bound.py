"""The exact search: proves, or finds, the least peak of one memory.

An instance falls into independent parts. The part with the highest peak is worked on, for it alone makes the peak, until
no part is above the bound. A round asks the kernel, in several orders, for a placement under one capacity: in some
rounds that of the bound itself, in the others one between the bound and the peak, drawn at random. Runs are short
(Luby restarts); failure weights and nogoods survive them, and learn. A run that exhausts the search proves a new bound.
"""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from planner.instance import Instance
from planner.table import I64
from solvers.kernels.exact import EXHAUSTED, FOUND, FULL
from solvers.kernels.exact import search as run_kernel
from solvers.kernels.exact_state import State
from solvers.search import Search
from solvers.sections import Part, pins_collide, split

NAME = "exact"
ORDERS = ("WAT", "TAW", "TWA", "CAT")
"""The orders in which a branch tries its buffers: by these traits in turn, the largest first; see Part.traits."""
SKIP_WEIGHTS = (1.0, 1.0, 3.0)
"""What the option to leave a gap weighs: at the bound, and in the two kinds of rounds above it."""
LIMITS = (4, 16, 16)
"""Nodes for each buffer in the shortest run, likewise."""
ROUNDS_AT_BOUND, FEW_NODES = 4, 1000
"""The bound gets the first rounds, then every 2nd until so many nodes for each buffer are spent, then every 8th."""
RESET_EVERY = 8
NOISE = 0.03
NEAR, FAR = 0.4, 0.95
"""Between which parts of the gap, from the bound, a round above the bound draws its capacity."""
NOGOOD_BITS = 18
ALONE_NODES = 30_000
"""After so many nodes one thread is joined by the others."""
NODE_WORK = 4
"""What a node counts in units of Search.work_limit."""


def solve(instance: Instance, search: Search) -> None:
    """Search until the peak is proved, the search is over, or the work limit is reached.

    Honours everything but several memories and costs. Above 2^61 units in sum it does nothing: kernels count in int64.
    After a short time alone, one climber a core works in a thread of its own, with its own seed, weights and nogoods;
    they share the best offsets of each part, and the bound. A deterministic search has one climber and counts nodes.
    """
    if search.is_over or not instance.is_small_numbered:
        return
    if pins_collide(instance):
        search.claim_infeasible(NAME)
        return
    standing = Standing(instance, search)
    if not standing.parts:
        search.offer(np.zeros(len(instance), dtype=np.int64), instance.pin, NAME)
        return
    standing.rule_out(standing.bound)
    first = Climber(standing, seed=0)
    if search.deterministic:
        first.climb(search.work_limit // NODE_WORK)
        return
    first.climb(ALONE_NODES)
    if search.is_over or standing.hardest() is None:
        return
    climbers = [first, *(Climber(standing, seed) for seed in range(1, os.cpu_count() or 1))]
    with ThreadPoolExecutor(len(climbers), thread_name_prefix=NAME) as threads:
        for done in [threads.submit(climber.climb, 2**62) for climber in climbers]:
            done.result()


class Standing:
    """What the climbers share: the best offsets and peak of each part, and through `search` the best of the whole."""

    def __init__(self, instance: Instance, search: Search) -> None:
        self.instance, self.search = instance, search
        self.parts = split(instance)
        self.ceiling = _ceiling(instance)
        self._lock = threading.Lock()
        best = search.best
        self.offset: list[I64 | None] = [None if best is None else best.offset[part.buffers] for part in self.parts]
        self.peak = [self._peak(k) for k in range(len(self.parts))]

    @property
    def bound(self) -> int:
        """The least peak that is not ruled out."""
        return int(self.search.bound[-1])

    def hardest(self) -> int | None:
        """Return the part with the highest peak, or None if no part is above the bound."""
        k = int(np.argmax(self.peak))
        return k if self.peak[k] > self.bound else None

    def take(self, part: int, offset: I64) -> None:
        """Take offsets for the buffers of a part if they are better than the best so far."""
        with self._lock:
            before, self.offset[part] = self.offset[part], offset
            peak = self._peak(part)
            if before is not None and peak >= self.peak[part]:
                self.offset[part] = before
                return
            self.peak[part] = peak
            whole = np.array(self.instance.pin)
            for mine, offsets in zip(self.parts, self.offset, strict=True):
                if offsets is None:
                    return
                whole[mine.buffers] = offsets
            self.search.offer(np.zeros(len(whole), dtype=np.int64), whole, NAME)

    def rule_out(self, need: int) -> None:
        """Learn that a part needs a capacity of at least `need`."""
        if need > self.ceiling:
            self.search.claim_infeasible(NAME)
        else:
            self.search.offer_bound((need,), NAME)

    def _peak(self, part: int) -> int:
        """Return the largest end in a part; one more than is possible, where no offsets are known."""
        offset = self.offset[part]
        if offset is None:
            return self.ceiling + 1
        return int((offset + self.instance.size[self.parts[part].buffers]).max())


def _ceiling(instance: Instance) -> int:
    """Return an end that nothing passes: the capacity, or what stacking everything on everything fixed takes."""
    memory = instance.memories[0]
    fixed = max(int(memory.reserved.max(initial=0)), int((instance.pin + instance.size).max(initial=0)))
    stacked = fixed + int((instance.size + instance.alignment[0] + instance.residue[0]).sum())
    return min(memory.capacity, stacked)


@dataclass(eq=False)
class Ladder:
    """One climber's rounds on one part. Entry 0 of the lists is for rounds at the bound, 1 and 2 for those above."""

    part: Part
    rng: np.random.Generator
    orders: list[I64] = field(init=False)
    weights: list[np.ndarray[tuple[int], np.dtype[np.float64]]] = field(init=False)
    nogoods: I64 = field(default_factory=lambda: np.zeros((1 << NOGOOD_BITS, 4), dtype=np.int64))
    rounds: list[int] = field(default_factory=lambda: [0, 0, 0])
    since_found: list[int] = field(default_factory=lambda: [0, 0, 0])
    nodes: int = 0
    room: int = 1
    state: State = field(init=False)

    def __post_init__(self) -> None:
        traits = self.part.traits
        self.orders = [_rank(np.lexsort([-traits[letter] for letter in reversed(order)])) for order in ORDERS]
        self.state = State.for_sections(self.part.sections)
        self.weights = [np.ones(len(self.part.sections.spare)) for _ in SKIP_WEIGHTS]

    def kind(self) -> int:
        """Return what kind of round is next."""
        k = sum(self.rounds)
        is_early = self.nodes < FEW_NODES * len(self.part.buffers)
        if k < ROUNDS_AT_BOUND or (k - ROUNDS_AT_BOUND) % (2 if is_early else 8) == 0:
            return 0
        return 1 + (k // 2 if is_early else k) % 2

    def rank(self, kind: int, order: int) -> I64:
        """Return the position of each buffer in an order, with some noise after the first round of a kind."""
        rank = self.orders[order]
        if self.rounds[kind] == 0:
            return rank
        n = len(rank)
        return _rank(np.argsort(rank + self.rng.normal(0, NOISE * n, n) * self.rng.random()))


class Climber:
    """One thread's search; what it learns of a part stays in that part's Ladder."""

    def __init__(self, standing: Standing, seed: int) -> None:
        self.standing, self.seed = standing, seed
        self.ladders: dict[int, Ladder] = {}

    def climb(self, nodes: int) -> None:
        """Run rounds until so many nodes are spent, nothing is above the bound, or the search is over."""
        while nodes > 0 and not self.standing.search.is_over:
            k = self.standing.hardest()
            if k is None:
                return
            ladder = self._ladder(k)
            before = ladder.nodes
            self._round(k, ladder, nodes)
            nodes -= ladder.nodes - before

    def _ladder(self, part: int) -> Ladder:
        if part not in self.ladders:
            rng = np.random.default_rng([self.standing.search.seed, self.seed, part])
            self.ladders[part] = Ladder(self.standing.parts[part], rng)
        return self.ladders[part]

    def _round(self, part: int, ladder: Ladder, nodes: int) -> None:
        """Ask for one capacity in each order, until one run finds offsets."""
        standing, kind = self.standing, ladder.kind()
        if ladder.rounds[kind] % RESET_EVERY == 0:
            ladder.weights[kind][:] = 1.0
        fraction = ladder.rng.uniform(NEAR, FAR)
        limit = LIMITS[kind] * len(ladder.part.buffers) * luby(ladder.since_found[kind] + 1)
        ladder.since_found[kind] += 1
        for order in range(len(ORDERS)):
            bound, peak = standing.bound, standing.peak[part]
            if peak <= bound or standing.search.is_over:
                break
            capacity = bound if kind == 0 else min(peak - 1, bound + int((peak - bound) * fraction))
            if standing.offset[part] is None and kind > 0:
                capacity = standing.ceiling
            rank = ladder.rank(kind, order)
            before = ladder.nodes
            if self._run(part, ladder, kind, rank, capacity, min(limit, nodes)) == FOUND:
                ladder.since_found[kind] = 0
                break
            nodes -= ladder.nodes - before
            if nodes <= 0:
                break
        ladder.rounds[kind] += 1

    def _run(self, part: int, ladder: Ladder, kind: int, rank: I64, capacity: int, limit: int) -> int:
        """Run the kernel once and share what comes of it; return its outcome."""
        offset = np.zeros(len(rank), dtype=np.int64)
        outcome, nodes, need = run_kernel(
            ladder.part.sections,
            ladder.state,
            ladder.nogoods,
            rank,
            ladder.weights[kind],
            capacity,
            SKIP_WEIGHTS[kind],
            limit,
            ladder.rounds[kind] >= 2,
            self.standing.search.flag,
            offset,
        )
        ladder.nodes += nodes
        if outcome == FOUND:
            self.standing.take(part, offset)
        elif outcome == EXHAUSTED:
            self.standing.rule_out(need)
        elif outcome == FULL:
            ladder.room *= 2
            ladder.state = State.for_sections(ladder.part.sections, ladder.room)
        return int(outcome)


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
