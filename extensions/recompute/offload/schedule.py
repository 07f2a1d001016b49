"""Sequences of runs with a link: the tensors that are offloaded during each run, and the start times of transfers.

A *stay* of a tensor is the time between two of its uses. A tensor can be absent during consecutive runs of a stay: its
send ends before the first of these runs, and its fetch begins after the last of them. So the bytes during each run
depend only on the absent tensors, and the time depends on the queues of sends and fetches.
"""

import random
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np

from memplan.extensions.recompute.again import Behind
from memplan.extensions.recompute.core import kernels
from memplan.extensions.recompute.offload.steps import Kind, LinkedGraph, Step
from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.tables import Reference
from memplan.solvers.search.control import Control

MOST_TIME = 2**60
"""The maximum total time of all runs of a sequence, and of all its transfers; tensors beyond it are not sent."""
WORK_PER_RUN = 3000
"""The work units that building the table of a sequence takes for each run."""


_WITHOUT = 0.5
"""The fraction of random changes of a sequence that remove a clone (a repeated run)."""


class Effort(NamedTuple):
    """The limits of a search for tensors to offload: `limit` bytes, a sufficient time (`goal`), a seed, work units."""

    limit: int
    goal: int
    seed: int
    work: int


class Stay(NamedTuple):
    """A stay of a tensor: the time between two runs that use it, `begin` and `end` (-1: the start, n: the end).

    The tensor can be sent once the run `made`, which writes it, has ended, even while other runs read it.
    """

    begin: int
    tensor: int
    made: int
    end: int
    transfer: int


class TransferChoice(NamedTuple):
    """A choice of the stays (times between two uses) in which tensors are offloaded, and the resulting time."""

    time: int
    table: kernels.AwayChoice


class Runs:
    """A sequence of runs and its stays (times between two uses); `time` and `peak` are without transfers."""

    def __init__(self, program: LinkedGraph, runs: Sequence[int]) -> None:
        """Find the stays (times between two uses) of all tensor copies in a sequence of runs."""
        self.program, self.runs, self.n = program, list(runs), len(runs)
        size = program.graph.working_bytes
        bytes_ = [0] * (self.n + 2)
        stays = list[Stay]()
        for k, v in enumerate(runs):
            bytes_[k] += program.graph.ops[v].work
            bytes_[k + 1] -= program.graph.ops[v].work
        for t, places in self._copies_and_uses():
            bytes_[max(places[0], 0)] += size[t]
            bytes_[places[-1] + 1] -= size[t]
            transfer = program.transfer[t]
            if transfer is not None:
                stays += [Stay(a, t, places[0], b, transfer) for a, b in pairwise(places) if b - a > 1]
        stays = sorted(row for row in stays if row.transfer <= MOST_TIME // len(stays))
        columns = np.array(stays, dtype=np.int64).reshape(-1, len(Stay._fields)).T.copy()
        begin, tensor, made, end, transfers = columns
        table = kernels.Sequence(
            before=np.array([0, *accumulate(program.costs[v] for v in runs)], dtype=np.int64),
            bytes=np.cumsum(bytes_[:-1], dtype=np.int64),
            tensor=tensor,
            size=np.array(size, dtype=np.int64)[tensor],
            made=made,
            begin=begin,
            end=end,
            transfer=transfers,
        )
        self.time, self.peak = int(table.before[-1]), int(table.bytes.max())
        self._before, self._table = table.before, Reference(table)

    def _copies_and_uses(self) -> Iterator[tuple[int, list[int]]]:
        """Yield (tensor, positions) for each copy: the position of the run that writes it, then those of its users."""
        graph = self.program.graph
        uses = {
            t: [-1] for t, maker in enumerate(graph.maker) if maker is None and (graph.readers[t] or t in graph.kept)
        }
        for k, v in enumerate(self.runs):
            row = graph.ops[v]
            for t in {*row.inputs, *row.outputs}:
                if t not in graph.new_tensors[v]:
                    uses[t].append(k)
                    continue
                if t in uses:
                    yield t, uses[t]
                uses[t] = [k]
        for t, places in uses.items():
            yield t, [*places, self.n] if t in graph.kept else places

    def choose_within(self, limit: int, control: Control) -> TransferChoice | None:
        """Offload the tensors that delay the runs least until the limit is met; return None if it cannot be met."""
        nothing = np.full(len(self._table.table.begin), -1, dtype=np.int64)
        return self._search_choice(Effort(limit, self.time, 0, 0), (nothing, nothing.copy()), control)

    def improve_choice(self, chosen: TransferChoice, effort: Effort, control: Control) -> TransferChoice:
        """Return a faster choice, in which other tensors are offloaded, or the given choice if none is found."""
        away = chosen.table.first.copy(), chosen.table.last.copy()
        return self._search_choice(effort._replace(goal=max(effort.goal, self.time)), away, control) or chosen

    def change_runs(
        self, chosen: TransferChoice, again: Sequence[Behind | None], draw: random.Random
    ) -> list[int] | None:
        """Change the runs at random: recompute a tensor instead of fetching it, or remove a clone; return the runs.

        Return None if the change is not possible.
        """
        places = {v: k for k, v in reversed([*enumerate(self.runs)])}
        clones = [k for k, v in enumerate(self.runs) if places[v] != k]
        if clones and draw.random() < _WITHOUT:
            k = draw.choice(clones)
            return [*self.runs[:k], *self.runs[k + 1 :]]
        away = np.flatnonzero(chosen.table.first >= 0)
        if not len(away):
            return None
        s = int(draw.choice(away))
        v, k = self.program.graph.maker[int(self._table.table.tensor[s])], int(self._table.table.end[s])
        behind = None if v is None else again[v]
        if v is None or behind is None or any(places[w] < k for w in behind):
            return None
        return [*self.runs[:k], v, *self.runs[k:]]

    def steps_of_choice(self, chosen: TransferChoice) -> tuple[Step, ...]:
        """Return the runs, sends and fetches of a choice as steps in execution order."""
        table, tensor = chosen.table, self._table.table.tensor
        starts = (self._before + table.late)[: self.n].tolist()
        rows = [(start, k, 1, Step("run", self.runs[k], start)) for k, start in enumerate(starts)]
        transfers: tuple[tuple[Kind, I64, I64, int], ...] = (
            ("send", table.send, self._table.table.made, 2),
            ("fetch", table.fetch, table.last + 1, 0),
        )
        for kind, begun, places, rank in transfers:
            for s in np.flatnonzero(begun >= 0).tolist():
                start = int(begun[s])
                rows.append((start, int(places[s]), rank, Step(kind, int(tensor[s]), start)))
        return tuple(row[-1] for row in sorted(rows))

    def _search_choice(self, effort: Effort, away: tuple[I64, I64], control: Control) -> TransferChoice | None:
        """Search for a fast choice of tensors to offload, from the runs `away`; None if none is within the limit."""
        first, last = away
        table = kernels.AwayChoice(
            *effort,
            first=first,
            last=last,
            send=np.full(len(first), -1, dtype=np.int64),
            fetch=np.full(len(first), -1, dtype=np.int64),
            late=np.zeros(self.n + 1, dtype=np.int64),
            flag=control.raised,
            answer=np.zeros(3, dtype=np.int64),
        )
        outcome = kernels.choose_away(self._table, Reference(table))
        time, work, _ = table.answer.tolist()
        control.spend(work + WORK_PER_RUN * self.n)
        return TransferChoice(time, table) if outcome == kernels.CHOSEN else None
