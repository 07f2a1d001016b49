"""The exact search: finds, and proves, the least peak of one memory.

An instance falls into independent parts. The one with the highest peak is worked on, for it alone makes the peak, until
none is above the bound. Climbers ask the kernel for placements under one capacity after the other, see `restarts`.
A run that exhausts the search proves a new bound. In turn with that they search what is easier: nearly full parts with
their slack filled (`dummy_rounds`), which finds placements, and cores of parts (`infeasible_core`), which proves.
"""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import I64
from memplan.solvers.exact.components import split
from memplan.solvers.exact.dummy_rounds import DummyRounds
from memplan.solvers.exact.infeasible_core import InfeasibleCore
from memplan.solvers.exact.restarts import ENDLESS, ORDERS, RestartSchedule
from memplan.solvers.kernels.exact import EXHAUSTED, FOUND
from memplan.solvers.packing.packers import QuickPacker
from memplan.solvers.packing.place import pins_collide
from memplan.solvers.search.incumbent import Search
from memplan.solvers.search.result import Assignment

NAME = "exact"
ALONE_NODES = 10_000
"""After so many nodes one climber is joined by the others: what it would take has a heavy tail, others rarely the same.
"""
NODE_WORK = 4
"""What a node counts in units of Search.work_limit."""
MAX_LIFETIMES = 10_000


def solve(instance: Instance, search: Search) -> None:
    """Search until the peak is proved, the search is over, or the work limit is reached.

    Honours everything but several memories and costs. After a short time alone, one climber a processor works in a
    thread of its own, with its own seed, weights and nogoods; they share the best offsets of each part, and the bound.
    In a deterministic search there is one climber, and nodes are counted. Kernels count in int64, and list the pairs of
    lifetimes that meet: an instance whose sums may not fit, or with more than MAX_LIFETIMES, is left alone.
    """
    if search.is_over or not instance.is_small_numbered or len(instance.start) > MAX_LIFETIMES:
        return
    if pins_collide(instance, QuickPacker(instance, search.flag)) or search.bound[-1] > instance.pools[0].capacity:
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
    """What the climbers share: the best offsets and the peak of each part, and through `search` those of the whole.

    `is_proving` says that a run was exhausted, and not at once: the peak is likely to be the best, or nearly.
    """

    def __init__(self, instance: Instance, search: Search) -> None:
        self.instance, self.search = instance, search
        self.parts = split(instance)
        self.ceiling = _ceiling(instance)
        self.offset: list[I64 | None] = [None] * len(self.parts)
        self.peak = [self.ceiling + 1] * len(self.parts)
        self._proved = 0
        self.is_proving = False
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
                offset = best.offset[part.buffers]
                peak = int((offset + self.instance.size[part.buffers]).max())
                if peak < self.peak[k]:
                    self.offset[k], self.peak[k] = offset, peak

    def take(self, part: int, offset: I64) -> int:
        """Take offsets for the buffers of a part, and return their peak.

        The whole is offered if they are better than those known, and every part has some.
        """
        peak = int((offset + self.instance.size[self.parts[part].buffers]).max())
        with self._lock:
            if peak < self.peak[part]:
                self.offset[part], self.peak[part] = offset, peak
                self._offer()
        return peak

    def _offer(self) -> None:
        whole = np.array(self.instance.pin)
        for part, offset in zip(self.parts, self.offset, strict=True):
            if offset is None:
                return
            whole[part.buffers] = offset
        self.search.offer(np.zeros(len(whole), dtype=np.int64), whole, NAME)

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
    memory = instance.pools[0]
    fixed = max(int(memory.reserved.max(initial=0)), int((instance.pin + instance.size).max(initial=0)))
    stacked = fixed + int((instance.size + instance.alignment[0] + instance.residue[0]).sum())
    return min(memory.capacity, stacked)


class Climber:
    """One thread's search; what it learns of a part stays in that part's Ladder."""

    def __init__(self, standing: Standing, seed: int) -> None:
        self.standing, self.seed = standing, seed
        self.ladders: dict[int, RestartSchedule] = {}
        self.fillings: dict[int, DummyRounds] = {}
        self.relaxings: dict[int, InfeasibleCore] = {}
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
                self.ladders[k] = RestartSchedule(self.standing.parts[k], rng, self.seed == 0)
                self.ladders[k].start_line(self.standing.offset[k], self.standing.peak[k])
                self.fillings[k] = DummyRounds(self.ladders[k])
                self.relaxings[k] = InfeasibleCore(self.ladders[k])
            self._choose_line(k, self.ladders[k])
            if self.fillings[k].is_due(self.standing.bound, self.standing.search.flag):
                self._round_filled(k, self.fillings[k], end)
            elif self.relaxings[k].is_due:
                self._round_relaxed(k, self.relaxings[k], end)
            else:
                self._round(k, self.ladders[k], end)

    def _choose_line(self, part: int, ladder: RestartSchedule) -> None:
        """End a line that is stalled: take over the best placement of all, or start from nothing where that was it.

        Proofs want the best placement at once, and no other lines.
        """
        best, peak = self.standing.offset[part], self.standing.peak[part]
        is_behind = best is not None and (ladder.offset is None or peak < ladder.peak)
        ladder.is_proving = self.standing.is_proving
        if is_behind and (ladder.is_proving or ladder.is_stalled):
            ladder.start_line(best, peak)
        elif ladder.is_stalled:
            ladder.start_line(None, self.standing.ceiling + 1)

    def _round(self, part: int, ladder: RestartSchedule, end: int) -> None:
        """Ask for one capacity in each order, until one run finds offsets or `end` nodes are spent."""
        standing = self.standing
        kind = ladder.kind()
        limit, fraction = ladder.begin(kind)
        for order in range(len(ORDERS)):
            if standing.peak[part] <= standing.bound or self.nodes >= end or standing.search.is_over:
                break
            before = ladder.nodes
            capacity = ladder.capacity(kind, fraction, standing.bound, standing.ceiling)
            most = min(limit, end - self.nodes)
            outcome, need, offset = ladder.run(kind, order, capacity, most, standing.search.flag)
            self.nodes += ladder.nodes - before
            if outcome == EXHAUSTED:
                standing.rule_out(need)
                standing.is_proving |= ladder.nodes - before > len(ladder.part.buffers)
            elif outcome == FOUND:
                ladder.follow(kind, offset, standing.take(part, offset))
                break
        ladder.rounds[kind] += 1

    def _round_filled(self, part: int, filling: DummyRounds, end: int) -> None:
        """Ask for the bound with the slack filled, until a run finds offsets or `end` nodes are spent."""
        before = filling.nodes
        offset = filling.round(end - self.nodes, self.standing.search.flag)
        self.nodes += filling.nodes - before
        if offset is not None:
            self.standing.take(part, offset)

    def _round_relaxed(self, part: int, relaxing: InfeasibleCore, end: int) -> None:
        """Look for a core of the part that needs its peak, and so proves it, until `end` nodes are spent."""
        standing, before = self.standing, relaxing.nodes
        need, offset = relaxing.round(standing.peak[part] - 1, end - self.nodes, standing.search.flag)
        self.nodes += relaxing.nodes - before
        if need > 0:
            standing.rule_out(need)
        if offset is not None:
            standing.take(part, offset)
