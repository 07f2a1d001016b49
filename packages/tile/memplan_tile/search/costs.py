"""The costs of the steps of a graph on a target; steps of equal form are computed once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from math import prod
from typing import Any, TypeVar

from memplan.capabilities.schedule.form import Objective, StepFigures, Target
from memplan_tile.graph import ScheduleStep, TileGraph
from memplan_tile.search.nests import TILE, Nest, bits, nest_of
from memplan_tile.search.tilings import Load, Tilings
from memplan_tile.search.walks import Look, StepCost, TiledStep
from memplan_tile.step_run import StepRun

T = TypeVar("T")
Masks = tuple[int, int, int, int]
"""A step as four masks: its operations, tensors resident before it, tensors written out, tensors resident after."""
MOST_LOOKS = 64
"""The most variants of a step (ways of operations and kept tensors); above, only single changes are tried."""


class StepCosts:
    """The costs of steps of a graph on a target, cached for equal steps.

    `cuts` are steps that have no cost. `is_cut` where a step has
    more looks than were tried.

    Where a step needs one tensor in several regions, two slices may be the same bytes by chance: then the closed form
    is a lower bound, and a tiling is simulated before it is taken. Each region has a slot, though slices
    that are the same could lie in one: `least_of` is not above what such a step would cost.
    """

    def __init__(self, graph: TileGraph, target: Target, objective: Objective = "latency") -> None:
        self.graph, self.target, self.objective = graph, target, objective
        self.sizes = [target.rounded(tensor.size) for tensor in graph.tensors]
        self.cuts: set[Masks] = set()
        self.is_cut = False
        self._steps: dict[Masks, StepCost | None] = {}
        self._shared: dict[Masks, list[Look]] = {}
        self._nests: dict[tuple[int, int, int], Nest | None] = {}
        self._alike: dict[object, Any] = {}
        self._tilings: dict[tuple[int, int, int], Tilings] = {}

    def of(self, step: Masks) -> StepCost | None:
        """Return the cost of a step; None if no tiling fits the fast memory."""
        if step not in self._steps:
            self._steps[step] = self._of_alike(step, TiledStep.best)
        return None if step in self.cuts else self._steps[step]

    def least_of(self, step: Masks) -> float:
        """Return a lower bound on a step's cost for any tiling; infinite if no tiling fits."""
        cost = self.of(step)
        if step not in self._shared or step in self.cuts:
            return float("inf") if cost is None else cost.value
        least = self._of_alike(step, TiledStep.least, is_shared=True)
        return float("inf") if least is None else least

    def ways(self, step: Masks) -> tuple[StepCost, ...]:
        """Return the undominated costs of a step by falling peak."""
        return () if step in self.cuts else self._of_alike(step, TiledStep.falling) or ()

    def is_shared(self, step: Masks) -> bool:
        """Return True if a step needs a tensor in several regions."""
        return step in self._shared

    def nest(self, operations: int, leaving: int, rolls: int = 0) -> Nest | None:
        """Return the loop nest of operations with some tensors leaving the step and some rolling."""
        key = operations, leaving, rolls
        if key not in self._nests:
            engine = self.target.engine
            self._nests[key] = nest_of(self.graph, operations, leaving, (engine.height, engine.width), rolls)
        return self._nests[key]

    def _of_alike(self, step: Masks, read: Callable[[TiledStep], T], *, is_shared: bool = False) -> T | None:
        """Return the cached tilings of steps with equal variants; None without tilings."""
        looks = self._shared.get(step) or self.looks(step)
        if not looks:
            return None
        if any(one.same for look in looks for one in look.loads):
            self._shared[step] = looks
        key = read, tuple(looks)
        if key not in self._alike:
            tiled = self._tiled(step, looks, is_shared)
            self._alike[key] = None if tiled is None else read(tiled)
        value: T | None = self._alike[key]
        return value

    def looks(self, step: Masks) -> list[Look]:
        """Return the variants of a step, which differ in rolling tensors and in the way to compute each operation."""
        operations, resident, leaving, retained = step
        nest = self.nest(operations, leaving)
        fixed = sum(self.sizes[t] for t in bits(resident)) + sum(self.sizes[t] for t in bits(retained & leaving))
        if nest is None or fixed > self.target.capacity:
            return []
        several = [o for o in dict.fromkeys(nest.operations) if len(self.graph.operations[o].ways) > 1]
        inner = list[int]()
        if self.target.rolls:
            rows = zip(nest.operations, nest.work, strict=True)
            inner = list(dict.fromkeys(o for o, work in rows if (work.rows, work.columns) != (TILE, TILE)))
        counts = [2 for _ in inner] + [len(self.graph.operations[o].ways) for o in several]
        written, looks = leaving & ~retained, list[Look]()
        for chosen in self._choices(counts):
            rolls = sum(
                1 << self.graph.operations[o].output for o, rolling in zip(inner, chosen, strict=False) if rolling
            )
            rolling = self.nest(operations, leaving, rolls)
            assert rolling is not None, "what rolls has no shape of its own"
            way = {o: self.graph.operations[o].ways[k] for o, k in zip(several, chosen[len(inner) :], strict=True)}
            ways = tuple(way.get(o, self.graph.operations[o].ways[0]) for o in rolling.operations)
            in_place = sum(self._is_in_place(o, nest, resident, written) for o, one in way.items() if one.in_place)
            loads = tuple(self._loads(rolling, resident))
            looks.append(Look(rolling, loads, fixed, written.bit_count(), ways, in_place))
        return looks

    def _choices(self, counts: list[int]) -> Iterator[tuple[int, ...]]:
        """Yield combinations of choices: all of them, or single changes of a few."""
        if prod(counts) <= MOST_LOOKS:
            yield from product(*map(range, counts))
            return
        self.is_cut = True
        for base in ([0] * len(counts), [count - 1 for count in counts]):
            yield tuple(base)
            for k, count in enumerate(counts):
                yield from ((*base[:k], other, *base[k + 1 :]) for other in range(count) if other != base[k])

    def _is_in_place(self, operation: int, nest: Nest, resident: int, written: int) -> bool:
        """Return True if an operation may make its tiles in place of an external input's."""
        one = self.graph.operations[operation]
        first = one.inputs[0]
        held = [(rows, columns) for (tensor, rows, columns), _ in nest.held if tensor == first]
        is_alone = [o for o in self.graph.readers[first] if o in nest.operations] == [operation]
        return (
            held == [(TILE, TILE)]
            and nest.operations.count(operation) == 1
            and is_alone
            and not resident >> first & 1
            and bool(written >> one.output & 1)
        )

    def _loads(self, nest: Nest, resident: int) -> Iterator[Load]:
        held = [one for one in nest.held if not resident >> one[0][0] & 1]
        tensors = [tensor for (tensor, _, _), _ in held]
        shared = {t: k for k, t in enumerate(dict.fromkeys(t for t in tensors if tensors.count(t) > 1), 1)}
        loads = []
        for (tensor, rows, columns), when in held:
            shape = self.graph.tensors[tensor]
            loads.append(Load(rows, columns, shape.height, shape.width, shared.get(tensor, 0), when))
        # The order of equal regions does not matter; regions of one tensor keep theirs.
        yield from sorted(
            loads,
            key=lambda one: (
                (0, one.rows, one.columns, one.height, one.width, one.when) if not one.same else (one.same,)
            ),
        )

    def _tiled(self, step: Masks, looks: list[Look], is_shared: bool) -> TiledStep | None:
        nest, engine = looks[0].nest, self.target.engine
        shape = nest.height, nest.width, nest.reduction
        if shape not in self._tilings:
            self._tilings[shape] = Tilings.of(shape[:2], shape[2], (engine.height, engine.width))

        def run(cost: StepCost) -> StepFigures:
            resident, written = (frozenset(bits(mask)) for mask in (step[1], step[2] & ~step[3]))
            return StepRun(self.graph, self.target, self.step_of(step, cost), resident, written).figures()

        is_traffic = self.objective == "traffic"
        return TiledStep.of(looks, self._tilings[shape], self.target, is_traffic, run, is_shared=is_shared)

    def step_of(self, step: Masks, cost: StepCost) -> ScheduleStep:
        """Return the step with a given cost, as it is simulated."""
        look, all_operations = self.looks(step)[cost.look], self.graph.operations
        rows, columns = -(-look.nest.height // cost.height), -(-look.nest.width // cost.width)
        ways = {o: all_operations[o].ways.index(way) for o, way in zip(look.nest.operations, look.ways, strict=True)}
        work = zip(look.nest.operations, look.nest.work, strict=True)
        return ScheduleStep(
            operations=tuple(bits(step[0])),
            width=cost.width,
            height=cost.height,
            depth=cost.depth,
            order=_there_and_back(rows, columns, cost.by_rows),
            retained=tuple(bits(step[3])),
            alternatives=tuple(ways[o] for o in bits(step[0])) if any(ways.values()) else (),
            rolls=tuple(sorted({all_operations[o].output for o, one in work if one.rolls})),
        )


def _there_and_back(rows: int, columns: int, by_rows: bool) -> tuple[int, ...] | None:
    """Return the tiles of a serpentine walk along rows or columns; None if it equals the plain row order."""
    if rows == 1 or columns == 1:
        return None
    if by_rows:
        lines = [[i * columns + j for j in range(columns)] for i in range(rows)]
    else:
        lines = [[i * columns + j for i in range(rows)] for j in range(columns)]
    return tuple(tile for k, line in enumerate(lines) for tile in (line[::-1] if k % 2 else line))
