"""The rounds of the lemma search, which keep what they have learned; and that search as a solver of one pool."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import I64, column
from memplan.solvers.certificates.lemma_problem import LemmaInput, lemma_input
from memplan.solvers.core.lemmas import (
    ALONE,
    EXHAUSTED,
    FOUND,
    FULL,
    NODES,
    ROOT,
    STOPPED,
    LemmaProblem,
    LemmaRun,
    LemmaStore,
    new_state,
    new_store,
    prove_unfit,
)
from memplan.solvers.core.tables import Reference
from memplan.solvers.search.incumbent import Search

_SHORTEST = 8
"""Nodes for each buffer of a run; twice as many after three rounds."""
_LIFT_WEIGHTS = (1.0, 3.0)
_NOISE = 0.03
_FRESH_EVERY = 8
_MOST_ENTRIES = 2**24
_LONGEST = 2**22
"""The most nodes of a run."""


@dataclass(eq=False)
class LemmaSearch:
    """The search of one question: do these buffers fit under these capacities, in units? Lemmas are kept over rounds.

    `outcome` is FOUND, EXHAUSTED, or STOPPED so far. `alone` is a buffer that has no place even if it is alone.
    """

    given: LemmaInput
    capacity: I64
    seed: int = 0
    outcome: int = STOPPED
    nodes: int = 0
    rounds: int = 0
    root: int = 0
    alone: int = -1
    offset: I64 = field(init=False)
    store: LemmaStore = field(init=False)

    def __post_init__(self) -> None:
        tables = self.given.tables
        n, k = len(tables.size), len(self.given.sets)
        self._depth = 8 * n + 64
        self._state = Reference(new_state(tables, self._depth))
        self.store = new_store(tables, 64 * n + 1024, (64 * n + 1024) * 8)
        self._tables = Reference(tables)
        self._weight = np.ones(k)
        self._free = _free(tables, self.capacity)
        self._rng = np.random.default_rng([20261121, self.seed])
        self.offset = np.zeros(len(tables.least), dtype=np.int64)
        self._area = _areas(self.given)

    def run(self, most: int, flag: I64) -> int:
        """Search for about so many nodes more, or until flag[0] is set; return the outcome."""
        end = self.nodes + most
        while self.outcome == STOPPED and self.nodes < end and flag[0] == 0:
            n = len(self.given.tables.size)
            limit = min(end - self.nodes, _LONGEST, _SHORTEST * n << min(self.rounds // 3, 40))
            self._round(max(1, limit), flag)
        return self.outcome

    def _round(self, limit: int, flag: I64) -> None:
        # Failure weights start afresh, as in the exact search: old ones keep it among the same sets.
        if self.rounds % _FRESH_EVERY == _FRESH_EVERY - 1:
            self._weight[:] = 1.0
        rank = self._area
        if self.rounds > 3:
            rank = rank * (1 + _NOISE * self._rng.random(len(rank)))
        run = LemmaRun(
            capacity=self.capacity,
            free=self._free,
            weight=self._weight,
            rank=rank,
            lift_weight=_LIFT_WEIGHTS[self.rounds % 2],
            # Both ways to pull requirements back in turn; which makes shorter logs differs.
            is_slim=self.rounds // 2 % 2 == 0,
            node_limit=limit,
            flag=flag,
            offset=self.offset,
            answer=np.zeros(2, dtype=np.int64),
        )
        outcome = prove_unfit(self._tables, self._state, Reference(self.store), Reference(run))
        self.nodes += int(run.answer[NODES])
        self.root = int(run.answer[ROOT])
        if outcome == EXHAUSTED and self.root == ALONE:
            self.alone = int(self._state.table.need.argmax()) // self.given.tables.pools
        if outcome == FULL:
            self._grow()
        else:
            self.outcome = outcome
            self.rounds += 1

    def _grow(self) -> None:
        """Make twice as much room; where that were too much, forget the lemmas."""
        tables, old = self.given.tables, self.store
        self._depth *= 2
        self._state = Reference(new_state(tables, self._depth))
        # Lemmas are only a memory: a search without them is right as well.
        if len(old.entry) >= _MOST_ENTRIES:
            self.store = new_store(tables, len(old.branch), len(old.entry))
            return
        self.store = new_store(tables, 2 * len(old.branch), 2 * len(old.entry))
        for name in ("first", "branch", "refs", "entry", "value", "excess", "next", "head", "counts"):
            values = getattr(old, name)
            getattr(self.store, name)[: len(values)] = values


def _areas(given: LemmaInput) -> npt.NDArray[np.float64]:
    """Return size times sets for each buffer: which of those in a branch comes first."""
    tables = given.tables
    return np.asarray(tables.size * np.diff(tables.set_first), dtype=np.float64)


def _free(tables: LemmaProblem, capacity: I64) -> I64:
    """Return what each set may use of each group of pools, in units."""
    p, k = tables.pools, len(tables.member_first) - 1
    alone = np.repeat(capacity[None, :], k, axis=0)
    for u in range(k * p):
        for low, high in tables.block[tables.block_first[u] : tables.block_first[u + 1]].tolist():
            end = int(capacity[u % p])
            alone[u // p, u % p] -= max(0, min(high, end) - min(low, end))
    groups = [[q for q in range(p) if group >> q & 1] for group in tables.group.tolist()]
    return np.array([[row[group].sum() for group in groups] for row in alone], dtype=np.int64).ravel()


__all__ = ["EXHAUSTED", "FOUND", "STOPPED", "LemmaSearch"]


NAME = "lemmas"
MOST_BUFFERS = 4_000
_NODES = 400_000
"""The most nodes that are spent in all."""
_CHUNK = 2_000
_NODE_WORK = 4
"""The units of Search.work_limit that a node counts."""


def solve(instance: Instance, search: Search) -> None:
    """Try capacities from the bound up, in steps that double, until the least peak is proved.

    Honours everything but several pools, costs and pins. Gives up after _NODES nodes; nodes are counted, so that no
    clock decides anything in a deterministic search.
    """
    if search.is_over or not instance.is_small_numbered or len(instance) > MOST_BUFFERS:
        return
    if len(instance) == 0:
        search.offer(instance.pin, instance.pin, NAME)
        return
    given = lemma_input(instance, np.ones(len(instance), dtype=np.bool_))
    left = min(_NODES, search.work_limit // _NODE_WORK) if search.deterministic else _NODES
    step = 0
    while left > 0 and not search.is_over:
        low = int(search.bound[-1])
        high = instance.pools[0].capacity if search.best is None else int(search.best.score[-1]) - 1
        tried = min(low + step, high)
        run = LemmaSearch(given, np.array([tried], dtype=np.int64), search.seed)
        while left > 0 and run.nodes < _NODES and not search.is_over:
            before = run.nodes
            outcome = run.run(min(_CHUNK, left), search.flag)
            left -= run.nodes - before
            if outcome in (FOUND, EXHAUSTED):
                break
        if run.outcome == FOUND:
            search.offer(np.zeros(len(instance), dtype=np.int64), column(run.offset), NAME)
            step = 0
        elif run.outcome == EXHAUSTED:
            # Bounds far below the peak cost few nodes each; doubling skips most of them.
            step = max(1, 2 * step)
            search.offer_bound((tried + 1,), NAME)
            if tried >= instance.pools[0].capacity:
                search.claim_infeasible(NAME)
                return
        else:
            return
