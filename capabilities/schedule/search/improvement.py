"""Better schedules from one that is known: operations shift between its steps, and windows of it are searched anew."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memplan.capabilities.schedule.search.downsets import EPSILON, Bounds, Found, PlannedStep, StepWindow
from memplan.capabilities.schedule.search.ground import Ground
from memplan.capabilities.schedule.search.groups import Relations, unions
from memplan.capabilities.schedule.search.nests import bits

_PRICED_EVERY = 4
_FIRST_WINDOW, _LAST_WINDOW = 7, 26
_WIDER_AFTER, _ENDED_AFTER = 60, 400
_LARGE = 9
_JOINED = 9


class Improvement:
    """A search in the neighbourhood of a schedule."""

    def __init__(self, ground: Ground, best: Found) -> None:
        self.ground, self.rng = ground, ground.rng
        self.steps, self.value = list(best.steps), best.value
        self.widest, self.stale = _FIRST_WINDOW, 0
        self.tried: dict[tuple[int, int, int], float] = {}

    def run(self, share: float) -> Found:
        """Return the best schedule once this share of the effort is spent, the bound is met, or nothing is gained."""
        self.steps = shifted(self.ground, self.steps, share)
        self._note()
        rounds = 0
        prices: dict[int, float] = {}
        while not self.ground.effort.is_over(share) and self.value > self.ground.lower_bound + EPSILON:
            if rounds % _PRICED_EVERY == 0:
                prices = self.ground.prices(self.steps)
            rounds += 1
            self.ground.effort.spend(1)
            if not self._improve_a_window(prices) and self._is_stale():
                break
        return Found(self.value, self.steps, False)

    def _improve_a_window(self, prices: dict[int, float]) -> bool:
        """Search a window; return False for one that was searched before."""
        first, last = self._drawn()
        part = self.steps[first:last]
        operations = sum(step.operations for step in part)
        if not part or operations.bit_count() < 2:
            return True
        before = sum(step.operations for step in self.steps[:first])
        window = StepWindow(operations, part[0].resident, part[-1].retained, before)
        key = operations, window.resident, window.retained
        value = self.ground.value(part)
        if self.tried.get(key, float("inf")) <= value + EPSILON:
            return False
        is_large = operations.bit_count() > _LARGE
        bounds = Bounds(groups=400, beam=60) if is_large else Bounds()
        extra = unions(self.ground.relations, [step.operations for step in part[:_JOINED]])
        steps = self.ground.window(window, bounds, value + EPSILON, prices, 1.0, extra)
        self.tried[key] = value
        if steps is not None:
            self.steps[first:last] = steps.steps
            if steps.value < value - EPSILON:
                self.tried[key] = steps.value
                self.stale = 0
                self._note()
        return True

    def _note(self) -> None:
        """Report the value of the schedule if it is better than before."""
        value = self.ground.value(self.steps)
        if value < self.value - EPSILON:
            self.value = value
            self.ground.report(value)

    def _drawn(self) -> tuple[int, int]:
        """Return the first step of a window, and the one after its last."""
        first = self.rng.randrange(len(self.steps))
        most, size, last = self.rng.randint(3, self.widest), 0, first
        while last < len(self.steps) and size + self.steps[last].operations.bit_count() <= most:
            size += self.steps[last].operations.bit_count()
            last += 1
        return first, max(last, min(first + 2, len(self.steps)))

    def _is_stale(self) -> bool:
        """Take wider windows after many that bring nothing; return True after many of the widest."""
        self.stale += 1
        if self.stale > _WIDER_AFTER and self.widest < _LAST_WINDOW:
            self.stale, self.widest = 0, self.widest + 1
        return self.stale > _ENDED_AFTER


def shifted(ground: Ground, steps: Sequence[PlannedStep], share: float) -> list[PlannedStep]:
    """Return steps of which no shift is better, as far as this share of the effort goes."""
    best, value = list(steps), ground.value(steps)
    is_better = True
    while is_better:
        is_better = False
        for changed in _shifts(ground.relations, best):
            ground.effort.spend(len(best))
            if ground.effort.is_over(share):
                return best
            schedule = rebuilt(ground, *changed)
            if schedule is not None and (total := ground.value(schedule)) < value - EPSILON:
                best, value, is_better = schedule, total, True
                break
    return best


def _shifts(relations: Relations, steps: list[PlannedStep]) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the operations of all steps, and the tensors that they retained, after each shift."""
    masks, retained = [step.operations for step in steps], [step.retained for step in steps]
    where = {o: i for i, mask in enumerate(masks) for o in bits(mask)}
    for o, source in sorted(where.items()):
        remaining = masks[source] & ~(1 << o)
        if remaining and not relations.is_connected(remaining):
            continue
        first = max((where[p] for p in bits(relations.before[o])), default=0)
        output = relations.graph.operations[o].output
        last = min((where[r] for r in bits(relations.readers[output])), default=len(steps) - 1)
        for goal in sorted({where[other] for other in bits(relations.beside[o])} - {source}):
            if first <= goal <= last:
                changed = masks.copy()
                changed[source], changed[goal] = remaining, masks[goal] | 1 << o
                changes = [i for i, mask in enumerate(changed) if mask]
                yield [changed[i] for i in changes], [retained[i] for i in changes]


def rebuilt(ground: Ground, masks: list[int], retained: list[int]) -> list[PlannedStep] | None:
    """Return the steps, which retain what they did where the next one reads it; None where one fits no tile."""
    steps, keeps = list[PlannedStep](), ground.target.keeps
    resident = done = 0
    for i, mask in enumerate(masks):
        group, following = ground.relations.group(mask), masks[i + 1] if i + 1 < len(masks) else 0
        done |= mask
        stays = ground.relations.awaited(resident, done)
        for tensor, outside in group.leaving:
            is_in_time = outside and (keeps or not outside & ~following)
            if retained[i] >> tensor & 1 and is_in_time and not ground.relations.outputs >> tensor & 1:
                stays |= 1 << tensor
        cost = ground.costs.of((mask, resident, group.leaves, stays))
        if cost is None:
            return None
        steps.append(PlannedStep(mask, resident, group.leaves, stays, cost))
        resident = stays
    return steps
