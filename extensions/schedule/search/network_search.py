"""The best steps of a network in a fast memory, by dynamic programming over operations and retained tensors."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, combinations

from memplan.extensions.cascade.access.access_graph import MOST, AccessGraph
from memplan.extensions.cascade.core.kernels import FOUND_FROM, FOUND_MACS, FOUND_PEAK, FOUND_TO
from memplan.extensions.cascade.regions.regions import CascadeRegion
from memplan.extensions.cascade.search.options import CascadeOptions
from memplan.extensions.cascade.search.search import RegionSearch, undominated_regions
from memplan.extensions.cascade.search.steps import RegionSteps
from memplan.extensions.cascade.timing.figures import Run, StepFigures
from memplan.extensions.cascade.timing.network_run import NetworkStep, run_network, run_step
from memplan.extensions.cascade.timing.target import Target
from memplan.extensions.schedule.answer import Objective, ScheduleSlot
from memplan.extensions.schedule.search.layers import LayerFront, LayerTilings, layer_step, whole_front
from memplan.extensions.schedule.search.placement import homes, place_slots, second_slots, slots_of
from memplan.planner.errors import InvalidPlanError

LONGEST = 16
"""The maximum number of operations in a region."""
MOST_RANGES, A_RANGE = 800, 4
"""The maximum number of operation ranges whose regions are simulated, and of simulated regions in each range."""
MOST_STATES = 64
"""The maximum number of sets of retained tensors that the search follows after each operation, the cheapest first."""
PASSES = ((0, MOST_STATES), (60, 2), (240, 8), (MOST_RANGES, 16), (MOST_RANGES, MOST_STATES))
"""For each pass, the maximum numbers of simulated ranges and of followed sets; later passes find better schedules."""
_STATES_FOR_HOMES = 4
MOST_RETAINED = 3
MOST_PLACED = 8
"""The maximum number of attempts to find a schedule that can be placed; each attempt gets less memory."""
_PLACE_S = 1.0


@dataclass(frozen=True)
class NetworkRun(Run):
    """The steps of a network with their figures, and the offsets of their slots (buffers) in the fast memory."""

    steps: Sequence[NetworkStep]
    slots: Sequence[ScheduleSlot]
    far: frozenset[int] = frozenset()
    second_slots: Sequence[ScheduleSlot] = ()

    @property
    def peak(self) -> int:
        """The bytes of the fast memory that the slots use."""
        return max((slot.offset + slot.size for slot in self.slots), default=0)


@dataclass(frozen=True)
class _SearchState:
    """A set of resident tensors after an operation: its minimum cost, the last step, and the previous state."""

    cost: float
    resident: frozenset[int]
    make: Callable[[tuple[int, ...]], NetworkStep] | None = None
    before: "_SearchState | None" = None


@dataclass
class NetworkSearch:
    """The search for the best steps of a network; `far` has the tensors and constants in the last memory.

    Simulated regions, and tilings of operations, are cached between calls.
    """

    graph: AccessGraph
    target: Target
    objective: Objective
    regions: dict[int, list[CascadeRegion]] = field(default_factory=dict)
    far: frozenset[int] = frozenset()
    _fronts: dict[object, LayerFront] = field(default_factory=dict)
    _runs: dict[object, StepFigures] = field(default_factory=dict)
    _ranges: Iterator[list[list[int]]] | None = None
    _n_run: int = 0

    def min_memory(self) -> tuple[int, int]:
        """Return the smallest fast memory in which each operation can run alone, and the operation that needs the most.

        All tensors then are in the slow memory between operations.
        """
        fronts = [self._front_of(v, frozenset()).bytes for v in range(len(self.graph.operations))]
        needs = [int(bytes_[0]) if len(bytes_) else MOST for bytes_ in fronts]
        return max(needs), needs.index(max(needs))

    def search_within(
        self, capacity: int, is_over: Callable[[], bool] = lambda: False, states: int = MOST_STATES
    ) -> NetworkRun | None:
        """Return the best schedule found in `capacity` bytes, verified and placed; None if the time ends first.

        The capacity must be at least that of `min_memory`. At most `states` sets of tensors are followed after each
        operation.
        """
        room, (least, _) = capacity, self.min_memory()
        for attempt in range(MOST_PLACED):
            # Without retained tensors, each slot serves one step and can be placed, so the last attempt retains none.
            keeps = room >= least and attempt + 1 < MOST_PLACED
            steps = self._best_steps(room if keeps else capacity, MOST_RETAINED if keeps else 0, states, is_over)
            if steps is None:
                return None
            figures, wrong = run_network(self.graph, steps, self.target, self.far)
            if wrong:
                raise InvalidPlanError(*wrong[:5])
            slots = place_slots(slots_of(figures), self.target.with_capacity(capacity), _PLACE_S, deterministic=True)
            if slots is not None:
                second = self._place_second(figures)
                run = NetworkRun(tuple(figures), tuple(steps), tuple(slots), self.far, tuple(second or ()))
                return None if second is None else run
            room -= room // 16
        raise InvalidPlanError("capacity: must leave room to place all slots")

    def _place_second(self, figures: Sequence[StepFigures]) -> list[ScheduleSlot] | None:
        """Return the slots in the second of three memories with their offsets; None if they do not fit."""
        if not self.target.has_three:
            return []
        return place_slots(second_slots(self.graph, self.target, figures), self.target, _PLACE_S, True, memory=1)

    def choose_homes(self, capacity: int, is_over: Callable[[], bool]) -> None:
        """Choose the tensors and constants for the last of three memories; do nothing if there are two memories."""

        def best_figures(far: frozenset[int]) -> list[StepFigures]:
            self.far = far
            steps = self._best_steps(capacity, MOST_RETAINED, _STATES_FOR_HOMES, lambda: False)
            return [] if steps is None else run_network(self.graph, steps, self.target, far)[0]

        def total_objective(steps: Sequence[StepFigures]) -> float:
            return float(getattr(Run(steps), self.objective)) if steps else float("inf")

        if self.target.has_three:
            self.far = homes(self.graph, self.target, best_figures, total_objective, is_over)

    def add_regions(self, most: int, is_over: Callable[[], bool]) -> None:
        """Simulate regions of a cascade for up to `most` ranges of operations, the most promising ranges first.

        Regions from earlier calls are kept, and their ranges count towards `most`.
        """
        if self._ranges is None:
            self._ranges = self._fitting_ranges(is_over)
        for rows in list(itertools.islice(self._ranges, max(0, most - self._n_run))):
            if is_over():
                return
            self._n_run += 1
            for row in rows:
                region = self._region_steps.region(row)
                self._region_figures(region, frozenset(), ())
                self.regions.setdefault(region.first_operation, []).append(region)

    @cached_property
    def _region_steps(self) -> RegionSteps:
        return RegionSteps(self.graph, CascadeOptions(alignment=self.target.alignment))

    def _fitting_ranges(self, is_over: Callable[[], bool]) -> Iterator[list[list[int]]]:
        """Yield a few regions (table rows) for each range of operations that fits, from least work to lowest peak.

        The ranges come by rank: first, for each first operation, the range that saves the most bytes.
        """
        graph, options = self.graph, self._region_steps.options
        range_rows = RegionSearch(graph, options, range(len(graph.tensors)), longest=LONGEST).run(is_over)
        is_several = range_rows[:, FOUND_TO] - range_rows[:, FOUND_FROM] > 1
        range_rows = undominated_regions(range_rows[(range_rows[:, FOUND_PEAK] <= self.target.capacity) & is_several])
        ranges: dict[tuple[int, int], list[list[int]]] = {}
        for row in range_rows.tolist():
            ranges.setdefault((row[FOUND_FROM], row[FOUND_TO]), []).append(row)
        for first, end in self._ranked_ranges(ranges):
            by_peak = sorted(ranges[first, end], key=lambda row: (row[FOUND_PEAK], row[FOUND_MACS]))
            least = accumulate((row[FOUND_MACS] for row in by_peak), min)
            rows = [row for row, macs in zip(by_peak, least, strict=True) if row[FOUND_MACS] == macs]
            rows.sort(key=lambda row: (row[FOUND_MACS], row[FOUND_PEAK]))
            picked = sorted({k * (len(rows) - 1) // (A_RANGE - 1) for k in range(A_RANGE)})
            yield [rows[k] for k in picked]

    def _ranked_ranges(self, ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return the ranges whose constants fit, by rank.

        Rank k has each first operation's range with the k-th most saved bytes.
        """
        ranked, count = list[tuple[int, int, int, int]](), dict[int, int]()
        for first, end in sorted(ranges, key=lambda ends: (-self._saved_bytes(*ends), ends)):
            rows = self.graph.operations[first:end]
            if sum(self.target.round_size(row.weights) for row in rows) <= self.target.capacity:
                count[first] = count.get(first, 0) + 1
                ranked.append((count[first], -self._saved_bytes(first, end), first, end))
        return [(first, end) for _, _, first, end in sorted(ranked)]

    def _saved_bytes(self, first: int, end: int) -> int:
        rows = self.graph.operations[first:end]
        inside = [t for row in rows for t in row.outputs if self.graph.last_users[t] < end]
        return sum(self.graph.tensors[t].bytes for t in inside)

    def _best_steps(
        self, capacity: int, retained: int, most: int, is_over: Callable[[], bool]
    ) -> list[NetworkStep] | None:
        """Return the cheapest steps within a capacity in bytes; None if time ends first or no steps fit.

        A step may retain up to `retained` of its tensors in the fast memory. After each operation, the search follows
        `most` sets of retained tensors.
        """
        graph, n = self.graph, len(self.graph.operations)
        reached: list[dict[frozenset[int], _SearchState]] = [{} for _ in range(n + 1)]
        reached[0][frozenset()] = _SearchState(0.0, frozenset())
        for first in range(n):
            if is_over():
                return None
            states = sorted(reached[first].items(), key=lambda item: (item[1].cost, sorted(item[0])))[:most]
            for state, before in states:
                held = sum(map(self._bytes, state))
                for region in (None, *self.regions.get(first, ())):
                    end = first + 1 if region is None else region.end
                    stays = frozenset(t for t in state if graph.last_users[t] >= end)
                    for retained_after in self._retainable_sets(first, end, capacity - held, retained):
                        room = capacity - held - sum(map(self._bytes, retained_after))
                        step = self._step_within(first, region, state, retained_after, room)
                        after = stays | frozenset(retained_after)
                        if step is None:
                            continue
                        cost, make = step
                        stored = reached[end].get(after)
                        if stored is None or before.cost + cost < stored.cost:
                            reached[end][after] = _SearchState(before.cost + cost, after, make, before)
        if not reached[n]:
            return None
        best, steps = min(reached[n].values(), key=lambda way: way.cost), list[NetworkStep]()
        while best.make is not None and best.before is not None:
            steps.append(best.make(tuple(sorted(best.resident))))
            best = best.before
        return steps[::-1]

    def _bytes(self, tensor: int) -> int:
        return self.target.round_size(self.graph.tensors[tensor].bytes)

    def _retainable_sets(self, first: int, end: int, room: int, most: int) -> Iterator[tuple[int, ...]]:
        graph, outputs = self.graph, set(self.graph.kept)
        made = {t for row in graph.operations[first:end] for t in row.outputs}
        wanted = [t for t in sorted(made - outputs) if graph.last_users[t] >= end and self._bytes(t) <= room][:most]
        for size in range(len(wanted) + 1):
            yield from combinations(wanted, size)

    def _step_within(
        self, first: int, region: CascadeRegion | None, state: frozenset[int], kept: tuple[int, ...], room: int
    ) -> tuple[float, Callable[[tuple[int, ...]], NetworkStep]] | None:
        """Return (cost, function) of a step in `room` bytes; the function builds the step. Return None if none fits."""
        if region is None:
            front = self._front_of(first, state | frozenset(kept))
            k = front.best_tiling(room)
            if k < 0:
                return None
            return float(front.cost[k]), lambda retained: layer_step(self.graph, first, front.tiles[k], retained)
        read = {read.tensor for row in self.graph.operations[first : region.end] for read in row.reads}
        figures = self._region_figures(region, state & read, kept)
        if sum(size for kind, _, size in figures.buffers if kind not in ("resident", "retained")) > room:
            return None
        cost = figures.latency if self.objective == "latency" else float(figures.traffic)
        return cost, lambda retained: NetworkStep(region, retained)

    def _region_figures(self, region: CascadeRegion, fast: frozenset[int], kept: tuple[int, ...]) -> StepFigures:
        key = (id(region), fast, kept, self.far)
        if key not in self._runs:
            self._runs[key] = run_step(self.graph, NetworkStep(region, kept), fast, self.target, self.far)
        return self._runs[key]

    def _front_of(self, v: int, fast: frozenset[int]) -> LayerFront:
        """Return the undominated tilings of operation v. They are computed once for equal operations."""
        graph, row = self.graph, self.graph.operations[v]
        fast &= {*row.outputs, *(read.tensor for read in row.reads)}
        reads = [(read.windows, read.channels, self._facts_of(read.tensor), read.tensor in fast) for read in row.reads]
        made = [(self._facts_of(t), t in fast) for t in row.outputs]
        items = (-1 - v, *row.outputs, *(read.tensor for read in row.reads))
        far = tuple(item in self.far for item in items)
        rate = self.target.engine.rate_of(row.kind)
        key = (row.role, row.macs, row.weights, row.sums, row.work, rate, tuple(reads), tuple(made), far)
        if (key, row.alternatives) not in self._fronts:
            fronts = []
            for way in range(1 + len(row.alternatives)):
                asked = graph.choose_alternative(v, way), v, fast, self.target, self.objective, self.far
                fronts.append(LayerTilings(*asked).front() if row.role == "striped" else whole_front(*asked))
            self._fronts[key, row.alternatives] = LayerFront.join(fronts)
        return self._fronts[key, row.alternatives]

    def _facts_of(self, tensor: int) -> tuple[int, ...]:
        row = self.graph.tensors[tensor]
        return row.rows, row.columns, row.pixel, row.channels, row.bytes
