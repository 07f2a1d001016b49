"""The stays of tensors (times between two uses), and the peak and cost of programs that drop some of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from memplan.extensions.recompute.again import may_run_again
from memplan.extensions.recompute.core.kernels import Annealing, Replay, StayRows, anneal, replay_drops
from memplan.extensions.recompute.states import reruns_of
from memplan.planner.model.buffer_table import I64
from memplan.programs.operations.graph import OperationGraph
from memplan.programs.order.search.parts import flatten_lists
from memplan.solvers.core.tables import Reference

_MOST_COST = 2**60
_FEW = 2
"""The number of changes up to which all are tried, even after the time is over."""
_NO_FLAG = np.zeros(1, dtype=np.int64)
_STEPS = 8
"""The maximum number of runs in a program, as a multiple of the number of operations."""


@dataclass(frozen=True, eq=False)
class Drops:
    """A program, described by its drops: the stays (times between two uses) in which a tensor is not kept.

    `peak` is in bytes, `cost` that of all runs, `excess` the bytes over a budget, summed over steps. `places` is the
    order of the operations' first runs, as positions in the order of the object `Stays`.
    """

    drop: I64
    peak: int
    cost: int
    excess: float
    places: I64


class Effort(NamedTuple):
    """The settings of a random search: its seed, its number of steps, and its initial temperature."""

    seed: int
    steps: int
    heat: float


class CheapestPrograms(NamedTuple):
    """The cheapest program found for each interval of peaks; interval k ends at a peak of mark[k] bytes."""

    mark: I64
    cost: I64
    peak: I64
    places: I64
    drops: I64


class Stays:
    """The stays (times between two uses) of a graph's tensors, in one valid order of the operations.

    Stay s of tensor `tensor[s]` is from the operation at position `begin[s]` to the one at `end[s]`, or to n (the
    number of operations) after the last use. Costs are divided by `cost_unit`, so that their sums do not overflow.
    """

    def __init__(self, graph: OperationGraph, order: Sequence[int], costs: Sequence[int], flag: I64) -> None:
        """Find the stays (times between two uses) of all tensors in an order; setting flag[0] stops the searches."""
        self.graph, self.order = graph, list(order)
        self.n = len(self.order)
        self.work = 0
        self.flag = flag
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
        again = may_run_again(graph)
        # No operation writes a given tensor, so it cannot be recomputed and must not be dropped.
        can_drop = [v is not None and again[v] is not None for v in graph.maker]
        self.can_drop = np.array(can_drop, dtype=np.bool_)[self.tensor]
        # Sums of costs must fit in int64, so choose a unit in which the longest program costs less than 2^60.
        self.cost_unit = 1 + _STEPS * (self.n + 100) * max(costs, default=0) // _MOST_COST
        table = reruns_of(graph, [cost // self.cost_unit for cost in costs], self.order)
        self.cost, self.once = table.cost, int(table.cost.sum())
        self._program = Reference(table), Reference(StayRows(first, self.tensor, self.end))
        self.places = np.arange(self.n)
        self._run = np.zeros(_STEPS * self.n + 100, dtype=np.int64)

    def runs_with_drops(self, drops: Drops) -> list[int]:
        """Return the program with these drops, as operations in execution order; empty if there are too many runs."""
        table = self.try_changes(drops.drop, [()], 0, drops.places)
        return [self.order[k] for k in table.run[: max(int(table.answer[0]), 0)].tolist()]

    def try_changes(self, drop: I64, changes: Sequence[Sequence[int]], budget: int, places: I64) -> Replay:
        """Replay the program after each change of its drops, and return the peaks and costs of all tries.

        A change flips the stays that it lists. If the time is over before all of many changes are tried, the remaining
        peaks are -1.
        """
        first, rows = flatten_lists(changes)
        table = Replay(
            budget=budget,
            order=places,
            drop=drop,
            change_first=first,
            change=rows,
            peak=np.full(len(changes), -1, dtype=np.int64),
            cost=np.zeros(len(changes), dtype=np.int64),
            excess=np.zeros(len(changes)),
            run=self._run,
            # A few replays end soon and their results are always needed, so the time limit does not stop them.
            flag=self.flag if len(changes) > _FEW else _NO_FLAG,
            answer=np.zeros(2, dtype=np.int64),
        )
        replay_drops(*self._program, Reference(table))
        self.work += int(table.answer[1])
        return table

    def anneal(self, start: Drops, kept: CheapestPrograms, budget: int, effort: Effort) -> Drops:
        """Change drops (times without a tensor) and order at random; update `kept`; return the final drops."""
        stay = np.flatnonzero(self.can_drop & ~self.is_last & (self.end - self.begin > 1))
        table = Annealing(
            budget=budget,
            seed=effort.seed,
            steps=effort.steps,
            heat=effort.heat,
            order=start.places.copy(),
            drop=start.drop.copy(),
            stay=stay,
            begin=self.begin,
            run=self._run,
            mark=kept.mark,
            cost=kept.cost,
            peak=kept.peak,
            orders=kept.places,
            drops=kept.drops,
            flag=self.flag,
            answer=np.zeros(4, dtype=np.int64),
        )
        anneal(*self._program, Reference(table))
        steps, _, peak, cost = table.answer.tolist()
        self.work += steps
        return Drops(table.drop, peak, cost, 0.0, table.order)
