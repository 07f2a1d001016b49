"""The rounds of the lemma search: short searches in several ways, which keep what they have learned."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from memplan.planner.model.buffer_table import I64
from memplan.solvers.certificates.lemma_problem import LemmaInput
from memplan.solvers.kernels.abi import Reference
from memplan.solvers.kernels.lemmas.search import prove_unfit
from memplan.solvers.kernels.lemmas.tables import (
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
)

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
