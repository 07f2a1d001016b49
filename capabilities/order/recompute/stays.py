"""The stays of tensors between their uses: which may be dropped, and what comes of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from memplan.capabilities.order.core.kernels import Program, Replay, replay_drops
from memplan.capabilities.order.recompute.again import may_run_again
from memplan.capabilities.order.search.parts import rows_of
from memplan.planner.model.buffer_table import I64
from memplan.planner.operations.graph import OperationGraph
from memplan.solvers.core.tables import Flags, Reference

_MOST_COST = 2**60
_FEW = 2
"""So few changes are tried whatever the time is."""
_NO_FLAG = np.zeros(1, dtype=np.int64)
_STEPS = 8
"""A program may become so many times as long."""


class Stays:
    """The stays of a graph's tensors in one order of its operations, which is `order`, a legal one.

    Stay s is of `tensor[s]`, from the operation at `begin[s]` of the order to that at `end[s]`, which is the number of
    operations where nothing follows. Costs are divided by `cost_unit`, so that they can be added up.
    """

    def __init__(self, graph: OperationGraph, order: Sequence[int], costs: Sequence[int], flag: I64) -> None:
        self.graph, self.order = graph, list(order)
        self.n = len(self.order)
        self.work = 0
        self._flag = flag
        at = {operation: k for k, operation in enumerate(self.order)}
        used = [sorted(at[v] for v in readers) for readers in graph.readers]
        maker = [-1 if v is None else at[v] for v in graph.maker]
        first = np.zeros(len(used) + 1, dtype=np.int64)
        np.cumsum([len(row) + 1 for row in used], out=first[1:])
        self.tensor = np.repeat(np.arange(len(used)), np.diff(first))
        starts = [[max(maker[t], 0), *row] for t, row in enumerate(used)]
        self.begin = np.array([k for row in starts for k in row], dtype=np.int64)
        self.end = np.array([k for row in used for k in (*row, self.n)], dtype=np.int64)
        self.is_last = self.end == self.n
        self.until = self._may_run_again_until(at)
        # A given tensor has no maker that could run again.
        self.can_drop = np.array([m >= 0 and self.until[m] > 0 for m in maker], dtype=np.bool_)[self.tensor]
        # Costs are any integers; so divided, their sum over the longest program stays below 2^60.
        self.cost_unit = 1 + _STEPS * (self.n + 100) * max(costs, default=0) // _MOST_COST
        self.cost = np.array([costs[v] // self.cost_unit for v in self.order], dtype=np.int64)
        self.once = int(self.cost.sum())
        results = set(graph.kept)
        inputs: list[set[int]] = [set() for _ in self.order]
        for tensor, row in enumerate(used):
            for k in row:
                inputs[k].add(tensor)
        input_first, inputs_ = rows_of([sorted(row) for row in inputs])
        output_first, outputs = rows_of([graph.made[v] for v in self.order])
        self._program = Reference(
            Program(
                input_first=input_first,
                input=inputs_,
                output_first=output_first,
                output=outputs,
                work=np.array([graph.ops[v].work for v in self.order], dtype=np.int64),
                cost=self.cost,
                until=self.until,
                size=np.array(graph.counted, dtype=np.int64),
                maker=np.array(maker, dtype=np.int64),
                is_there=np.array([bool(row) or t in results for t, row in enumerate(used)], dtype=np.int64),
                is_kept=np.array([t in results for t in range(len(used))], dtype=np.int64),
                stay_first=first,
            )
        )
        self._run = np.zeros(_STEPS * self.n + 100, dtype=np.int64)

    def _may_run_again_until(self, at: dict[int, int]) -> I64:
        """Return, for each place in the order, that of the first operation behind which it must not run; 0: none."""
        until = np.zeros(self.n, dtype=np.int64)
        for v, behind in enumerate(may_run_again(self.graph)):
            if behind is not None:
                until[at[v]] = min((at[w] for w in behind), default=self.n + 1)
        return until

    def run(self, is_dropped: Flags) -> list[int]:
        """Return the operations, by their positions in the graph, as they run with these drops; empty if too many."""
        table = self.try_changes(is_dropped, [()], 0)
        return [self.order[k] for k in table.run[: max(int(table.answer[0]), 0)].tolist()]

    def try_changes(self, is_dropped: Flags, changes: Sequence[Sequence[int]], budget: int) -> Replay:
        """Try each change of the drops by itself: it turns the stays that it names.

        Where time runs out among many, the peaks of the rest are -1.
        """
        first, rows = rows_of(changes)
        table = Replay(
            budget=budget,
            is_dropped=is_dropped,
            change_first=first,
            change=rows,
            peak=np.full(len(changes), -1, dtype=np.int64),
            cost=np.zeros(len(changes), dtype=np.int64),
            excess=np.zeros(len(changes)),
            run=self._run,
            # A single replay ends soon, and its answer is needed even where the time is over.
            flag=self._flag if len(changes) > _FEW else _NO_FLAG,
            answer=np.zeros(2, dtype=np.int64),
        )
        replay_drops(self._program, Reference(table))
        self.work += int(table.answer[1])
        return table
