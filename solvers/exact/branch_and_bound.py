"""The exact search for one pool, which finds the least peak and proves it.

The search runs in the core (search.hpp): components, capacities to try, restarts and learnt no-goods. This module runs
turns of it in threads, and offers its plans and bounds.
"""

import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from memplan.planner.instance.instance import I64_MAX, Instance
from memplan.planner.model.buffer_table import ABSENT
from memplan.solvers.core import exact
from memplan.solvers.core.exact import ALONE_NODES, Opening, Turn, seed_of
from memplan.solvers.core.plain import BegunSearch
from memplan.solvers.core.tables import Handle, Reference
from memplan.solvers.exact import MAX_LIFETIMES
from memplan.solvers.formulation.pair_rules import clear_lists
from memplan.solvers.packing.packer import Packer
from memplan.solvers.packing.place import pins_collide
from memplan.solvers.processes.threads import threads_of_one
from memplan.solvers.search.incumbent import Search
from memplan.solvers.search.result import Assignment

NAME = "exact"
NODE_WORK = 4
"""The units of `Search.work_limit` that one node uses."""
ENDLESS = 2**62
_PAUSE = 4_000
"""The nodes after which a thread reads the results of the other threads."""
_WAIT_S = 0.001


def solve(instance: Instance, search: Search) -> None:
    """Search for the least peak until it is proved, the search is over, or the work limit is reached.

    Supports instances that have one pool and none of these: costs, rigid groups, pages, banks, shared bytes. All other
    rules are supported. After a short search in one thread, each processor gets a thread with its own seed, weights and
    no-goods. A deterministic search has one thread, and counts nodes. Kernels use int64 and list overlapping lifetimes.
    So instances whose sums may overflow, or with more than MAX_LIFETIMES lifetimes, are skipped.
    """
    if search.is_over or not instance.is_small_numbered or len(instance.start) > MAX_LIFETIMES:
        return
    if pins_collide(instance, Packer(instance, search.flag)) or search.bound[-1] > instance.pools[0].capacity:
        if search.flag[0] == 0:  # A stopped packer proves nothing, so it must not have stopped.
            search.claim_infeasible(NAME)
        return
    begun: BegunSearch | None = search.begun
    parts = Parts(instance, search, begun)
    thread = SearchThread(parts, begun=begun)
    # The results of several threads depend on their scheduling, so a deterministic search uses one thread.
    if search.deterministic:
        thread.run_nodes(search.work_limit // NODE_WORK - thread.nodes)
        return
    # Starting threads takes time, so solve easy problems in this thread.
    thread.run_nodes(ALONE_NODES - thread.nodes)
    if search.is_over or thread.is_done:
        return
    every_thread = [thread, *(SearchThread(parts, number) for number in range(1, threads_of_one()))]
    with ThreadPoolExecutor(len(every_thread), thread_name_prefix=NAME) as executor:
        for done in [executor.submit(each.run_nodes, ENDLESS) for each in every_thread]:
            done.result()


class Parts:
    """An instance in the compiled core, with the state that its search threads share.

    `bound` is the least peak, in units, that the threads have not excluded; `search` need not use this bound.
    `is_proving` becomes true once a long run was exhaustive, because then the best known peak is probably close to the
    minimum.
    """

    def __init__(self, instance: Instance, search: Search, begun: BegunSearch | None = None) -> None:
        """Create the shared state in the core, or adopt that of a `begun` search."""
        self.instance, self.search = instance, search
        self.bound, self.is_proving = (0, False) if begun is None else (begun.bound, begun.is_proving)
        self.lock, self._begun = threading.Lock(), begun
        if begun is not None:
            self.address = begun.parts.address
            return
        self._table = Reference(core_instance(instance))
        self.address = exact.open_parts(self._table)
        weakref.finalize(self, exact.close_parts, Handle(self.address))


def core_instance(instance: Instance) -> exact.OnePool:
    """Convert an instance with one pool to the input table of the compiled core's exact search."""
    step, lowest, highest = instance.alignment[0], instance.lowest[0], instance.highest[0]
    pair_first, pair, clearance = clear_lists(instance)
    barred_first, barred = instance.barred_in(0)
    return exact.OnePool(
        n=len(instance),
        unit=instance.unit,
        capacity=instance.pools[0].capacity,
        n_sets=instance.n_live_sets,
        is_plain=instance.is_plain,
        has_joins="relative" in instance.features,
        source=instance.source,
        size=instance.size,
        step=step,
        residue=lowest % step,
        lowest=np.where(lowest < step, 0, lowest),
        limit=np.where(highest == I64_MAX, exact.NONE, np.minimum(highest, exact.NONE - instance.size) + instance.size),
        page=instance.page[0],
        page_shift=instance.page_shift[0],
        pin=instance.pin,
        lead=instance.anchor,
        distance=instance.distance,
        first=instance.first,
        start=instance.start,
        end=instance.end,
        time=instance.live_set_time,
        pair_first=pair_first,
        pair=pair,
        clearance=clearance,
        reserved=instance.pools[0].reserved,
        barred_first=barred_first,
        barred=barred,
    )


class SearchThread:
    """One thread of the exact search; `is_done` is True once it has proved the peak or that nothing fits."""

    def __init__(self, parts: Parts, number: int = 0, begun: BegunSearch | None = None) -> None:
        """Open search number `number` in the core with its own seed, or continue a `begun` search."""
        self.parts, self.search = parts, parts.search
        self.nodes, self.is_done = 0, False
        self._offset = np.zeros(len(parts.instance), dtype=np.int64)
        self._seen: Assignment | None = None
        if begun is not None:
            self._handle, self.nodes = begun.search, begun.nodes
            return
        opening = Opening(parts.address, seed_of(self.search.seed, number), number == 0, exact.used_inferences)
        self._handle = Handle(exact.open_search(Reference(opening)))
        # The search uses the shared parts, so keep the parts until the search is closed.
        weakref.finalize(self, _close, self._handle, parts)

    def run_nodes(self, nodes: int) -> None:
        """Search until `nodes` nodes are spent, the peak is proved, infeasibility is proved, or the search is over."""
        end, self.is_done = self.nodes + nodes, False
        while self.nodes < end and not self.search.is_over:
            outcome = self._take_turn(end)
            if outcome == exact.INFEASIBLE:
                self.search.claim_infeasible(NAME)
            if outcome in (exact.INFEASIBLE, exact.PROVED):
                self.is_done = True
                return
            if outcome == exact.WAITS:
                time.sleep(_WAIT_S)

    def _take_turn(self, end: int) -> int:
        """Run one turn (step of bounded work) in the core, share the results with other threads, return the outcome."""
        parts, best = self.parts, self.search.best
        has_plan = best is not None and best is not self._seen
        if best is not None and has_plan:
            self._seen = best
            self._offset[:] = best.offset
        answer = np.zeros(4, dtype=np.int64)
        bound = max(parts.bound, int(self.search.bound[-1]))
        turn = Turn(end, _PAUSE, bound, parts.is_proving, has_plan, self._offset, answer, self.search.flag)
        outcome = exact.take_turn(self._handle, Reference(turn))
        self.nodes = int(answer[exact.NODES])
        with parts.lock:
            parts.is_proving |= bool(answer[exact.IS_PROVING])
            parts.bound = max(parts.bound, int(answer[exact.BOUND]))
        # A turn reports the best known peak, which another thread may have found, so offer only improvements.
        best = self.search.best
        peak = int(answer[exact.PEAK])
        if peak != ABSENT and (best is None or peak < best.score[-1]):
            self.search.offer(np.zeros(len(self._offset), dtype=np.int64), self._offset.copy(), NAME)
        if answer[exact.BOUND] > bound:
            self.search.offer_bound((int(answer[exact.BOUND]),), NAME)
        return outcome


def offer_begun(search: Search, begun: BegunSearch) -> None:
    """Offer to `search` the plan, the bound or the infeasibility that an already begun exact search has found."""
    if begun.peak != ABSENT and (search.best is None or begun.peak < search.best.score[-1]):
        search.offer(np.zeros(len(begun.offset), dtype=np.int64), begun.offset, NAME)
    if begun.bound > search.bound[-1]:
        search.offer_bound((begun.bound,), NAME)
    if begun.outcome == exact.INFEASIBLE:
        search.claim_infeasible(NAME)


def _close(handle: Handle, _: Parts) -> None:
    exact.close_search(handle)
