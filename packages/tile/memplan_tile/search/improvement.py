"""The improvement of a known schedule by searching windows of it again."""

from __future__ import annotations

from memplan.capabilities.schedule.form import EPSILON
from memplan_tile.search.downsets import Bounds, Found, PlannedStep, StepWindow
from memplan_tile.search.ground import Ground
from memplan_tile.search.groups import unions

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
        """Return the best schedule once its share of the effort is spent, the bound is met, or no window improves."""
        while not self.ground.effort.is_over(share) and self.value > self.ground.lower_bound + EPSILON:
            self.ground.effort.spend(1)
            if not self._improve_a_window() and self._is_stale():
                break
        return Found(self.value, self.steps, False)

    def _improve_a_window(self) -> bool:
        """Search a window; return False if it was searched before."""
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
        steps = self.ground.window(window, bounds, value + EPSILON, 1.0, extra)
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
        """Return the first step of a random window, and the step after its last."""
        first = self.rng.randrange(len(self.steps))
        most, size, last = self.rng.randint(3, self.widest), 0, first
        while last < len(self.steps) and size + self.steps[last].operations.bit_count() <= most:
            size += self.steps[last].operations.bit_count()
            last += 1
        return first, max(last, min(first + 2, len(self.steps)))

    def _is_stale(self) -> bool:
        """Widen the windows after many without an improvement; return True once the widest do not help either."""
        self.stale += 1
        if self.stale > _WIDER_AFTER and self.widest < _LAST_WINDOW:
            self.stale, self.widest = 0, self.widest + 1
        return self.stale > _ENDED_AFTER


def rebuilt(ground: Ground, masks: list[int], retained: list[int]) -> list[PlannedStep] | None:
    """Return the steps with their retained tensors where the next step reads them; None if a step does not fit."""
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
