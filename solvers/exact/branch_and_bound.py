"""The exact search: finds, and proves, the least peak of one pool.

An instance falls into independent components. The one with the highest peak is worked on, for it alone makes the peak,
until none is above the bound. Search threads query the kernel for placements under one capacity after the other, see
`restarts`. A run that exhausts the search proves a new bound. In turn with that they search what is easier: nearly full
components with their slack filled (`dummies`), which finds placements, and cores of components
(`infeasible_core`), which proves.
"""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.exact import EXHAUSTED, FOUND
from memplan.solvers.exact import MAX_LIFETIMES
from memplan.solvers.exact.components import split
from memplan.solvers.exact.dummies import DummyRounds
from memplan.solvers.exact.infeasible_core import InfeasibleCore
from memplan.solvers.exact.restarts import ENDLESS, ORDERS, RestartSchedule
from memplan.solvers.packing.packer import Packer
from memplan.solvers.packing.place import pins_collide
from memplan.solvers.search.incumbent import Search
from memplan.solvers.search.result import Assignment

NAME = "exact"
ALONE_NODES = 10_000
"""After so many nodes one search thread is joined by others: run times are heavy-tailed, so other seeds rarely need as
long.
"""
NODE_WORK = 4
"""The units of Search.work_limit that a node counts."""


def solve(instance: Instance, search: Search) -> None:
    """Search until the peak is proved, the search is over, or the work limit is reached.

    Honours everything but several pools and costs. After a short time alone, one search thread a processor works, each
    with its own seed, weights and nogoods; they share the best offsets of each component, and the bound. In a
    deterministic search there is one search thread, and nodes are counted. Kernels count in int64, and list the pairs
    of lifetimes that meet: an instance whose sums may not fit, or with more than MAX_LIFETIMES, is left alone.
    """
    if search.is_over or not instance.is_small_numbered or len(instance.start) > MAX_LIFETIMES:
        return
    if pins_collide(instance, Packer(instance, search.flag)) or search.bound[-1] > instance.pools[0].capacity:
        if search.flag[0] == 0:  # a stopped packer places nothing, which proves nothing
            search.claim_infeasible(NAME)
        return
    states = ComponentStates(instance, search)
    if not states.components:
        search.offer(np.zeros(len(instance), dtype=np.int64), instance.pin, NAME)
        return
    thread = SearchThread(states, seed=0)
    # One thread: how several share their time is up to the machine.
    if search.deterministic:
        thread.run_nodes(search.work_limit // NODE_WORK)
        return
    # What is easy ends here, without starting threads.
    thread.run_nodes(ALONE_NODES)
    if search.is_over or states.hardest() is None:
        return
    every_thread = [thread, *(SearchThread(states, seed) for seed in range(1, os.cpu_count() or 1))]
    with ThreadPoolExecutor(len(every_thread), thread_name_prefix=NAME) as executor:
        for done in [executor.submit(each.run_nodes, ENDLESS) for each in every_thread]:
            done.result()


class ComponentStates:
    """The best offsets and peaks of components, shared by the search threads; those of the whole are in `search`.

    `is_proving` says that a run was exhausted, and not at once: the peak is likely to be the best, or nearly.
    """

    def __init__(self, instance: Instance, search: Search) -> None:
        self.instance, self.search = instance, search
        self.components = split(instance)
        self.ceiling = _ceiling(instance)
        self.offset: list[I64 | None] = [None] * len(self.components)
        self.peak = [self.ceiling + 1] * len(self.components)
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
        """Return the component with the highest peak, or None if no component is above the bound."""
        k = int(np.argmax(self.peak))
        return k if self.peak[k] > self.bound else None

    def look(self) -> None:
        """Take over what others have found since the last look."""
        best = self.search.best
        with self._lock:
            if best is None or best is self._seen:
                return
            self._seen = best
            for k, component in enumerate(self.components):
                offset = best.offset[component.buffers]
                peak = int((offset + self.instance.size[component.buffers]).max())
                if peak < self.peak[k]:
                    self.offset[k], self.peak[k] = offset, peak

    def take(self, component: int, offset: I64) -> int:
        """Take offsets for the buffers of a component, and return their peak.

        The whole is offered if they are better than those known, and every component has some.
        """
        peak = int((offset + self.instance.size[self.components[component].buffers]).max())
        with self._lock:
            if peak < self.peak[component]:
                self.offset[component], self.peak[component] = offset, peak
                self._offer()
        return peak

    def _offer(self) -> None:
        whole = np.array(self.instance.pin)
        for component, offset in zip(self.components, self.offset, strict=True):
            if offset is None:
                return
            whole[component.buffers] = offset
        self.search.offer(np.zeros(len(whole), dtype=np.int64), whole, NAME)

    def rule_out(self, need: int) -> None:
        """Learn that a component needs a capacity of at least `need`."""
        with self._lock:
            self._proved = max(self._proved, need)
        # No placement below the ceiling, and none needs more than that.
        if need > self.ceiling:
            self.search.claim_infeasible(NAME)
        else:
            self.search.offer_bound((need,), NAME)


def _ceiling(instance: Instance) -> int:
    """Return an end that nothing need pass: the capacity, or what stacking all on everything fixed takes."""
    pool = instance.pools[0]
    fixed = max(int(pool.reserved.max(initial=0)), int((instance.pin + instance.size).max(initial=0)))
    start = instance.lowest[0] % instance.alignment[0]
    fixed = max(fixed, int((instance.lowest[0] - start).max(initial=0)))
    stacked = fixed + int((instance.size + instance.alignment[0] + start).sum())
    return min(pool.capacity, stacked)


class SearchThread:
    """The search of one thread; what it learns of a component stays in that component's RestartSchedule."""

    def __init__(self, states: ComponentStates, seed: int) -> None:
        self.states, self.seed = states, seed
        self.schedules: dict[int, RestartSchedule] = {}
        self.dummy_rounds: dict[int, DummyRounds] = {}
        self.core_rounds: dict[int, InfeasibleCore] = {}
        self.nodes = 0

    def run_nodes(self, nodes: int) -> None:
        """Run rounds until so many nodes are spent, no component is above the bound, or the search is over."""
        end = self.nodes + nodes
        while self.nodes < end and not self.states.search.is_over:
            self.states.look()
            k = self.states.hardest()
            if k is None:
                return
            if k not in self.schedules:
                rng = np.random.default_rng([self.states.search.seed, self.seed, k])
                self.schedules[k] = RestartSchedule(self.states.components[k], rng, self.seed == 0)
                self.schedules[k].start_descent(self.states.offset[k], self.states.peak[k])
                self.dummy_rounds[k] = DummyRounds(self.schedules[k])
                self.core_rounds[k] = InfeasibleCore(self.schedules[k])
            self._choose_descent(k, self.schedules[k])
            if self.dummy_rounds[k].is_due(self.states.bound, self.states.search.flag):
                self._round_with_dummies(k, self.dummy_rounds[k], end)
            elif self.core_rounds[k].is_due:
                self._round_on_core(k, self.core_rounds[k], end)
            else:
                self._round(k, self.schedules[k], end)

    def _choose_descent(self, component: int, schedule: RestartSchedule) -> None:
        """End a descent that is stalled: take over the best placement of all, or start from nothing where that was it.

        Proofs want the best placement at once, and no other descents.
        """
        best, peak = self.states.offset[component], self.states.peak[component]
        is_behind = best is not None and (schedule.offset is None or peak < schedule.peak)
        schedule.is_proving = self.states.is_proving
        if is_behind and (schedule.is_proving or schedule.is_stalled):
            schedule.start_descent(best, peak)
        elif schedule.is_stalled:
            schedule.start_descent(None, self.states.ceiling + 1)

    def _round(self, component: int, schedule: RestartSchedule, end: int) -> None:
        """Try one capacity in each order, until one run finds offsets or `end` nodes are spent."""
        states = self.states
        kind = schedule.kind()
        limit, fraction = schedule.begin(kind)
        for order in range(len(ORDERS)):
            # Another thread may have moved the peak or the bound since the round began.
            if states.peak[component] <= states.bound or self.nodes >= end or states.search.is_over:
                break
            before = schedule.nodes
            capacity = schedule.capacity(kind, fraction, states.bound, states.ceiling)
            most = min(limit, end - self.nodes)
            outcome, need, offset = schedule.run(kind, order, capacity, most, states.search.flag)
            self.nodes += schedule.nodes - before
            if outcome == EXHAUSTED:
                states.rule_out(need)
                # Ruled out at the cost of more nodes than buffers: no accident of one order, so proofs are what is left
                # to do.
                states.is_proving |= schedule.nodes - before > len(schedule.component.buffers)
            elif outcome == FOUND:
                schedule.follow(kind, offset, states.take(component, offset))
                break
        schedule.rounds[kind] += 1

    def _round_with_dummies(self, component: int, rounds: DummyRounds, end: int) -> None:
        """Try the bound with the slack filled, until a run finds offsets or `end` nodes are spent."""
        before = rounds.nodes
        offset = rounds.round(end - self.nodes, self.states.search.flag)
        self.nodes += rounds.nodes - before
        if offset is not None:
            self.states.take(component, offset)

    def _round_on_core(self, component: int, cores: InfeasibleCore, end: int) -> None:
        """Look for a core of the component that needs its peak, and so proves it, until `end` nodes are spent."""
        states, before = self.states, cores.nodes
        need, offset = cores.round(states.peak[component] - 1, end - self.nodes, states.search.flag)
        self.nodes += cores.nodes - before
        if need > 0:
            states.rule_out(need)
        if offset is not None:
            states.take(component, offset)
