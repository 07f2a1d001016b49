"""The cheapest steps for some operations, by dynamic programming over finished operations and residents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations

from memplan.capabilities.schedule.form import EPSILON, Control, Proof
from memplan_tile.search.costs import Masks, StepCosts
from memplan_tile.search.groups import Group, Relations, grown
from memplan_tile.search.nests import bits
from memplan_tile.search.walks import StepCost

_MOST_READERS = 3
"""The most readers of a retained tensor, since all must run in the next step."""
_LOOK_EVERY = 32
MOST_ARCS = 60_000
"""The most steps between states that are stored for a whole graph; beyond that, only steps along one order are."""
WORK_PER_S = 90_000
"""The steps that count as one second of work; one core tried 89,000 to 96,000 on four graphs."""


_NEVER = float("inf")


@dataclass(frozen=True)
class PlannedStep:
    """A step as masks: operations, and resident, leaving and retained tensors.

    What is resident and stays is retained, too; it does not leave the step. `cost` is that of its tiling.
    """

    operations: int
    resident: int
    leaving: int
    retained: int
    cost: StepCost

    @property
    def masks(self) -> Masks:
        """The step as a key for costs."""
        return self.operations, self.resident, self.leaving, self.retained


@dataclass(frozen=True)
class OperationLine:
    """Operations in topological order, with ranges of them (masks) that can be steps."""

    operations: tuple[int, ...]
    ranges: tuple[int, ...]


@dataclass(frozen=True)
class Bounds:
    """Limits of a window search: groups and their size, states in a layer, tensors retained at once."""

    groups: int = 600
    longest: int = 8
    beam: int = 200
    retained: int = 2


@dataclass(frozen=True)
class StepWindow:
    """Consecutive operations with the tensors resident before and after them.

    `before` are the operations that are done before.
    """

    operations: int
    resident: int = 0
    retained: int = 0
    before: int = 0


@dataclass
class Found:
    """The cheapest steps of a window; `is_complete` if nothing cheaper was skipped.

    With a `proof`, no schedule is better: its value is the lower bound, or all in tiles of powers of two were looked
    at, also those that run operations again.
    """

    value: float
    steps: list[PlannedStep]
    is_complete: bool
    proof: Proof | None = None


class ScheduleEffort:
    """The part of its limit that a search has used, by the clock or in counted steps.

    `within` is the part of the limit that the search in hand has.
    """

    def __init__(self, control: Control) -> None:
        self.control, self.limit_s = control, control.left_s
        self.work, self.within = 0, 1.0

    def spend(self, work: int) -> None:
        """Count tried steps."""
        self.work += work

    def is_over(self, share: float = 1.0) -> bool:
        """Return True if the search was cancelled, or has used this share of its limit."""
        if self.control.counts_work:
            spent = self.work / (self.limit_s * WORK_PER_S)
        else:
            spent = 1 - self.control.deadline.left_s / self.limit_s
        return self.control.cancelled.is_set() or spent >= share * self.within


@dataclass
class DownsetSearch:
    """The search of one window for steps below a value.

    States are ordered by their value; `least` are values that no step avoids. Along a `line`, operations are done in
    its order, and groups are ranges of it. `arcs` gets each step that is tried, behind the operations that are done
    before it.
    """

    relations: Relations
    costs: StepCosts
    effort: ScheduleEffort
    window: StepWindow
    bounds: Bounds
    below: float = _NEVER
    least: Mapping[int, float] = field(default_factory=dict)
    share: float = 1.0
    line: OperationLine | None = None
    arcs: list[tuple[int, PlannedStep]] | None = None
    is_cut: bool = False
    _by_first: dict[int, list[Group]] = field(default_factory=dict)
    _states: dict[int, dict[int, tuple[float, PlannedStep | None]]] = field(default_factory=dict)
    _layers: list[set[int]] = field(default_factory=list)

    def found(self, extra: Iterable[int] = ()) -> Found | None:
        """Return the cheapest steps, with `extra` groups besides grown ones; None if there are none."""
        window, line = self.window, self.line
        for mask in self._masks(extra):
            first = next(bits(mask)) if line is None else next(o for o in line.operations if mask >> o & 1)
            self._by_first.setdefault(first, []).append(self.relations.group(mask))
        self._states = {0: {window.resident: (0.0, None)}}
        self._layers = [{0}, *(set[int]() for _ in bits(window.operations))]
        for layer in self._layers[:-1]:
            if not self._relax(layer):
                return None
        value, last = self._states.get(window.operations, {}).get(window.retained, (_NEVER, None))
        return None if last is None or value >= self.below else Found(value, self._traced(last), not self.is_cut)

    def _masks(self, extra: Iterable[int]) -> Iterable[int]:
        """Return the groups to try."""
        if self.line is not None:
            self.is_cut = True
            return self.line.ranges
        masks, is_all = grown(self.relations, self.window.operations, self.bounds.groups, self.bounds.longest)
        self.is_cut |= not is_all
        return dict.fromkeys([*masks, *sorted(extra)])

    def _relax(self, layer: set[int]) -> bool:
        """Extend the best states of a layer by one step; return False if time is over."""
        rows = []
        for done in sorted(layer):
            rest = list(bits(self.window.operations & ~done))
            least = sum(self.least.get(o, 0.0) for o in rest)
            for resident, (value, _) in self._states[done].items():
                if value + least < self.below:
                    rows.append((value, done, resident))
        rows.sort()
        self.is_cut |= len(rows) > self.bounds.beam
        ready: dict[int, list[Group]] = {}
        for k, (value, done, resident) in enumerate(rows[: self.bounds.beam]):
            is_over = len(self.arcs or ()) > MOST_ARCS and self.line is None
            if is_over or (k % _LOOK_EVERY == 0 and self.effort.is_over(self.share)):
                self.is_cut = True
                return False
            if done not in ready:
                ready[done] = list(self._ready(done))
            self._follow(value, done, resident, ready[done])
        return True

    def _ready(self, done: int) -> Iterator[Group]:
        """Yield the groups that can be the next step."""
        remaining = self.window.operations & ~done
        for o in bits(remaining) if self.line is None else self.line.operations[done.bit_count() :][:1]:
            if self.relations.before[o] & remaining:
                continue
            for group in self._by_first.get(o, ()):
                if not group.operations & done and not group.needs & remaining:
                    yield group

    def _follow(self, value: float, done: int, resident: int, ready: list[Group]) -> None:
        self.effort.spend(len(ready))
        for group in ready:
            following = done | group.operations
            awaited = self.relations.awaited(resident, following | self.window.before)
            if awaited and not self.costs.target.keeps:
                continue
            for retained in self._retainable(group, following, awaited):
                masks = group.operations, resident, group.leaves, retained
                cost = self.costs.of(masks)
                if not self.is_cut:
                    rest = sum(self.least.get(o, 0.0) for o in bits(self.window.operations & ~following))
                    self.is_cut = self._may_cost_less(masks, cost, self.below - value - rest)
                if cost is None:
                    continue
                total = value + cost.value
                states = self._states.setdefault(following, {})
                step = PlannedStep(*masks, cost)
                if self.arcs is not None:
                    self.arcs.append((done, step))
                if retained not in states or total < states[retained][0] - EPSILON:
                    states[retained] = total, step
                    self._layers[(following & self.window.operations).bit_count()].add(following)

    def _may_cost_less(self, masks: Masks, cost: StepCost | None, below: float) -> bool:
        """Return True if a step may cost less than its estimate, and then less than a value or peak of interest."""
        least = self.costs.least_of(masks)
        is_open = least < (_NEVER if cost is None else cost.value) - EPSILON
        return (is_open and least < below) or (self.arcs is not None and self.costs.is_shared(masks))

    def _retainable(self, group: Group, done: int, kept: int) -> Iterator[int]:
        """Yield the sets of tensors (masks) that a group may retain besides those kept before."""
        window, keeps = self.window, self.costs.target.keeps
        kept |= window.retained & group.leaves
        if done == window.operations:
            if kept == window.retained:
                yield kept
            return
        if kept and not keeps:
            return  # what is resident at the end is made by the last step
        candidates = []
        for tensor, outside in group.leaving:
            remaining = outside & ~done
            fits = self.costs.sizes[tensor] <= self.costs.target.capacity
            if fits and remaining and not remaining & ~window.operations and not self.relations.outputs >> tensor & 1:
                if keeps or remaining.bit_count() <= _MOST_READERS:
                    candidates.append(tensor)
                else:
                    self.is_cut = True
        yield kept
        for count in range(1, min(self.bounds.retained, len(candidates)) + 1):
            for chosen in combinations(candidates, count):
                yield kept | sum(1 << tensor for tensor in chosen)
        more = sorted(self.costs.sizes[tensor] for tensor in candidates)[: self.bounds.retained + 1]
        self.is_cut |= len(more) > self.bounds.retained and sum(more) <= self.costs.target.capacity

    def _traced(self, last: PlannedStep) -> list[PlannedStep]:
        """Return the steps up to the last."""
        steps, done = list[PlannedStep](), self.window.operations
        step: PlannedStep | None = last
        while step is not None:
            steps.append(step)
            done &= ~step.operations
            step = self._states[done][step.resident][1]
        return steps[::-1]
