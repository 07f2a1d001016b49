"""The lemma search of the core: infeasibility proofs as text, and use of the search as a solver for one pool."""

import weakref
from ctypes import string_at
from dataclasses import dataclass

import numpy as np

from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import ABSENT, I64, column
from memplan.solvers.certificates.text import ConflictSet
from memplan.solvers.core import lemmas as core
from memplan.solvers.core.lemmas import EXHAUSTED, FOUND, STOPPED, LemmaInstance, LemmaLines, LemmaSets
from memplan.solvers.core.tables import Handle, Reference
from memplan.solvers.search.incumbent import Search

_LARGEST = 2**61


@dataclass(frozen=True, eq=False)
class ProofLines:
    """A proof as lines of text: the definitions of sets, the lemmas, and the reference to the last result.

    `need` maps each buffer in the proof (by its position in the instance) to its least offset in bytes per pool. Pools
    that the proof excludes for the buffer are missing.
    """

    sets: tuple[str, ...]
    lemmas: tuple[str, ...]
    ref: str
    need: dict[int, dict[int, int]]


class LemmaSearch:
    """A search that decides whether all buffers fit if the pools end at `ends` (bytes); it keeps lemmas between runs.

    It relaxes some rules: pairs that may share bytes and members of a rigid group do not conflict, and banks and
    colocation have no effect. Buffers that do not fit the relaxation do not fit the problem. `outcome` is STOPPED until
    the search ends, then FOUND, EXHAUSTED or TOO_LARGE. If it is FOUND, `offset` has the offsets.
    """

    def __init__(self, instance: Instance, ends: tuple[int, ...], seed: int = 0) -> None:
        """Open a search of the compiled core with these ends, rounded down to units; it is closed with this object."""
        self.instance, self.outcome, self.nodes = instance, STOPPED, 0
        self.offset = instance.pin.copy()
        self.capacity = np.array([min(end // instance.unit, _LARGEST) for end in ends], dtype=np.int64)
        table = Reference(_lemma_instance(instance))
        question = Reference(core.LemmaQuestion(table.address, self.capacity, seed))
        self._handle = Handle(core.open_lemmas(question))
        # The C++ search reads these arrays until it is closed, so keep them referenced until then.
        weakref.finalize(self, _close, self._handle, table, question)
        self._flag, self._answer = np.zeros(1, dtype=np.int64), np.zeros(3, dtype=np.int64)

    def run(self, most: int, flag: I64) -> int:
        """Search about `most` more nodes, or until flag[0] is set, and return the outcome."""
        turn = core.LemmaTurn(most, flag, self.offset, self._answer)
        self.outcome = core.run_lemmas(self._handle, Reference(turn))
        self.nodes = int(self._answer[0])
        return self.outcome

    def sets(self) -> tuple[list[ConflictSet], I64]:
        """Return the conflict sets, and an array (sets, pools): the units of a pool that are free for a set."""
        pools = len(self.capacity)
        core.run_lemmas(self._handle, Reference(core.LemmaTurn(0, self._flag, self.offset, self._answer)))
        _, k, members = self._answer.tolist()
        sizes = (k + 1, members, k, k * pools)
        table = LemmaSets(*(np.zeros(size, dtype=np.int64) for size in sizes))
        core.lemma_sets(self._handle, Reference(table))
        time, first, member = self.instance.live_set_time, table.first.tolist(), table.member.tolist()
        rows = [
            ConflictSet(tuple(member[low:high]), None if live == ABSENT else int(time[live]))
            for low, high, live in zip(first[:-1], first[1:], table.live.tolist(), strict=True)
        ]
        return rows, table.free.reshape(-1, pools)

    def lines(self, sets: int = 0, lemmas: int = 0) -> ProofLines:
        """Return an exhausted search's proof as lines; `sets` and `lemmas` are the first free numbers."""
        pools, unit = len(self.capacity), self.instance.unit
        need = np.zeros(len(self.instance) * pools, dtype=np.int64)
        core.lemma_lines(self._handle, Reference(LemmaLines(sets, lemmas, need, self._answer)))
        address, size, count = self._answer.tolist()
        *lines, end = string_at(address, size).decode().splitlines()
        lows: dict[int, dict[int, int]] = {e // pools: {} for e in np.flatnonzero(need != core.GONE).tolist()}
        for e in np.flatnonzero((need != core.GONE) & (need < core.FAR)).tolist():
            lows[e // pools][e % pools] = int(need[e]) * unit
        split = len(lines) - count
        return ProofLines(tuple(lines[:split]), tuple(lines[split:]), end.removeprefix("end "), lows)


def _lemma_instance(instance: Instance) -> LemmaInstance:
    """Return the instance as the table that the lemma search of the compiled core reads."""
    step, reserved = instance.alignment.ravel(), [pool.reserved.reshape(-1, 2) for pool in instance.pools]
    return LemmaInstance(
        pools=len(instance.pools),
        unit=instance.unit,
        n_sets=instance.n_live_sets,
        has_ties=not instance.features.isdisjoint({"sharing", "relative"}),
        source=instance.source,
        size=instance.size,
        pin=instance.pin,
        anchor=instance.anchor,
        allowed=instance.allowed.ravel(),
        step=step,
        residue=instance.lowest.ravel() % step,
        lowest=instance.lowest.ravel(),
        page=instance.page.ravel(),
        page_shift=instance.page_shift.ravel(),
        first=instance.first,
        start=instance.start,
        end=instance.end,
        time=instance.live_set_time,
        pair_first=instance.conflict_first,
        pair=instance.conflict,
        share_first=instance.share_first,
        share=instance.share,
        reserved_first=np.cumsum([0, *map(len, reserved)]),
        reserved=np.concatenate(reserved),
    )


def _close(handle: Handle, *_: Reference[LemmaInstance] | Reference[core.LemmaQuestion]) -> None:
    core.close_lemmas(handle)


NAME = "lemmas"
_NODES = 400_000
"""The limit of nodes in one call of `solve`."""
_CHUNK = 2_000
_NODE_WORK = 4
"""The units of `Search.work_limit` that one node uses."""


def solve(instance: Instance, search: Search) -> None:
    """Offer plans and bounds: test capacities from the bound upward, in doubling steps, until the peak is proved.

    Supports instances with one pool, without costs and pinned buffers. The search stops after _NODES nodes. It counts
    nodes instead of time, so that deterministic searches do not depend on a clock.
    """
    if search.is_over or not instance.is_small_numbered:
        return
    if len(instance) == 0:
        search.offer(instance.pin, instance.pin, NAME)
        return
    nodes = min(_NODES, search.work_limit // _NODE_WORK) if search.deterministic else _NODES
    step = 0
    while nodes > 0 and not search.is_over:
        low = int(search.bound[-1])
        high = instance.pools[0].capacity if search.best is None else int(search.best.score[-1]) - 1
        tried = min(low + step, high)
        run = LemmaSearch(instance, (tried * instance.unit,), search.seed)
        while nodes > 0 and run.nodes < _NODES and not search.is_over:
            before = run.nodes
            outcome = run.run(min(_CHUNK, nodes), search.flag)
            nodes -= run.nodes - before
            if outcome != STOPPED:
                break
        if run.outcome == FOUND:
            search.offer(np.zeros(len(instance), dtype=np.int64), column(run.offset), NAME)
            step = 0
        elif run.outcome == EXHAUSTED:
            # Capacities far below the peak are refuted with few nodes, so double the step to skip most of them.
            step = max(1, 2 * step)
            search.offer_bound((tried + 1,), NAME)
            if tried >= instance.pools[0].capacity:
                search.claim_infeasible(NAME)
                return
        else:
            return
