"""The costs of steps of a graph on a target; those that look alike are computed once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from memplan.planner.schedules.graph import TileGraph
from memplan.planner.schedules.target import Target
from memplan.solvers.schedules.nests import Nest, bits, nest_of
from memplan.solvers.schedules.tilings import Tilings
from memplan.solvers.schedules.walks import Load, Look, StepCost, TiledStep

Objective = Literal["latency", "traffic", "peak"]


class StepCosts:
    """The costs of steps of a graph on a target; those that look alike are computed once.

    Steps are given as masks: the operations of a step, the tensors that are resident when it begins, those that
    leave it, and those that are resident when it ends. `evaluated` counts the nests that were computed; `cuts` are
    steps that have no cost.

    Where a step needs one tensor in several regions, two slices may be the same bytes by chance: then the closed form
    is a lower bound, and the visits of a tiling are counted before it is taken.
    """

    def __init__(self, graph: TileGraph, target: Target, objective: Objective = "latency") -> None:
        self.graph, self.target, self.objective = graph, target, objective
        self.sizes = [target.rounded(tensor.size) for tensor in graph.tensors]
        self.evaluated = 0
        self.cuts: set[tuple[int, int, int, int]] = set()
        self._steps: dict[tuple[int, int, int, int], StepCost | None] = {}
        self._nests: dict[tuple[int, int], Nest | None] = {}
        self._alike: dict[Any, StepCost | None] = {}
        self._ways: dict[Any, tuple[StepCost, ...]] = {}
        self._tilings: dict[tuple[int, int, int], Tilings] = {}

    def of(self, operations: int, resident: int, leaving: int, retained: int) -> StepCost | None:
        """Return the cost of a step; None where no tiling fits the fast memory, or there is none."""
        key = operations, resident, leaving, retained
        if key not in self._steps:
            self._steps[key] = self._found(*key)
        return self._steps[key]

    def nest(self, operations: int, leaving: int) -> Nest | None:
        """Return the nest of operations from which tensors leave."""
        key = operations, leaving
        if key not in self._nests:
            engine = self.target.engine
            self._nests[key] = nest_of(self.graph, operations, leaving, (engine.height, engine.width))
        return self._nests[key]

    def ways(self, operations: int, resident: int, leaving: int, retained: int) -> tuple[StepCost, ...]:
        """Return the costs of a step of which none with a lower peak has as little value, by falling peaks."""
        look = self._look(operations, resident, leaving, retained)
        if look is None:
            return ()
        if look.key not in self._ways:
            tiled = self._tiled(look)
            self._ways[look.key] = () if tiled is None else tiled.falling()
        return self._ways[look.key]

    def _found(self, operations: int, resident: int, leaving: int, retained: int) -> StepCost | None:
        look = self._look(operations, resident, leaving, retained)
        if look is None:
            return None
        if look.key not in self._alike:
            self.evaluated += 1
            tiled = self._tiled(look)
            self._alike[look.key] = None if tiled is None else tiled.best()
        return self._alike[look.key]

    def _look(self, operations: int, resident: int, leaving: int, retained: int) -> Look | None:
        nest = self.nest(operations, leaving)
        fixed = sum(self.sizes[t] for t in bits(resident)) + sum(self.sizes[t] for t in bits(retained & leaving))
        if nest is None or fixed > self.target.capacity or (operations, resident, leaving, retained) in self.cuts:
            return None
        return Look(nest, tuple(self._loads(nest, resident)), fixed, (leaving & ~retained).bit_count())

    def _loads(self, nest: Nest, resident: int) -> Iterator[Load]:
        held = [one for one in nest.held if not resident >> one[0] & 1]
        tensors = [tensor for tensor, _, _ in held]
        shared = {t: k for k, t in enumerate(dict.fromkeys(t for t in tensors if tensors.count(t) > 1), 1)}
        found = []
        for tensor, rows, columns in held:
            shape = self.graph.tensors[tensor]
            found.append(Load(rows, columns, shape.height, shape.width, shared.get(tensor, 0)))
        # Of regions alike, the order does not matter; those of one tensor stay as they are.
        yield from sorted(
            found,
            key=lambda one: (
                (one.same, one.rows, one.columns, one.height, one.width) if not one.same else (one.same, 0, 0, 0, 0)
            ),
        )

    def _tiled(self, look: Look) -> TiledStep | None:
        shape, engine = (look.nest.height, look.nest.width, look.nest.reduction), self.target.engine
        if shape not in self._tilings:
            self._tilings[shape] = Tilings.of(shape[:2], shape[2], (engine.height, engine.width))
        return TiledStep.of(look, self._tilings[shape], self.target, self.objective == "traffic")
