"""Better schedules from one that is known: its blocks are moved, and windows of it are searched anew."""

from __future__ import annotations

from memplan.capabilities.schedule.search.downsets import EPSILON, Bounds, Found, PlannedStep, StepWindow
from memplan.capabilities.schedule.search.ground import Ground
from memplan.capabilities.schedule.search.groups import unions
from memplan.capabilities.schedule.search.nests import bits
from memplan.capabilities.schedule.search.shifts import Shifts

_MOVE_EVERY = 4
_FIRST_WINDOW, _LAST_WINDOW = 7, 26
_WIDER_AFTER, _KICKED_AFTER = 60, 400
_LARGE = 9
_JOINED = 9


class Improvement:
    """A search in the neighbourhood of a schedule."""

    def __init__(self, ground: Ground, best: Found) -> None:
        self.ground, self.best, self.rng = ground, best, ground.rng
        self.steps = list(best.steps)
        self.value = best.value
        self.widest, self.stale = _FIRST_WINDOW, 0
        self.tried: dict[tuple[int, int, int], float] = {}

    def run(self, share: float) -> Found:
        """Return the best schedule once this share of the effort is spent, or the lower bound is met."""
        self._shift(share)
        rounds = 0
        prices: dict[int, float] = {}
        while not self.ground.effort.is_over(share) and self.best.value > self.ground.lower_bound + EPSILON:
            if rounds % _MOVE_EVERY == 0:
                self.steps = self._moved(self.steps)
                prices = self.ground.prices(self.steps)
            rounds += 1
            self.ground.effort.spend(1)
            self._improve_a_window(prices)
        return self.best

    def _shift(self, share: float) -> None:
        """Take shifts of operations while they are better."""
        self.steps = Shifts(self.ground).improved(self.steps, share)
        self.value = self.ground.value(self.steps)
        self._note()

    def _note(self) -> None:
        """Keep the schedule if it is the best."""
        if self.value < self.best.value - EPSILON:
            self.best = Found(self.value, list(self.steps), False)
            self.ground.report(self.value)

    def _improve_a_window(self, prices: dict[int, float]) -> None:
        first, last = self._drawn()
        part = self.steps[first:last]
        operations = sum(step.operations for step in part)
        if not part or operations.bit_count() < 2:
            return
        before = sum(step.operations for step in self.steps[:first])
        window = StepWindow(operations, part[0].resident, part[-1].retained, before)
        key = operations, window.resident, window.retained
        value = self.ground.value(part)
        if self.tried.get(key, float("inf")) <= value + EPSILON:
            self._go_stale()
            return
        is_large = operations.bit_count() > _LARGE
        bounds = Bounds(groups=400, beam=60) if is_large else Bounds()
        extra = unions(self.ground.relations, [step.operations for step in part[:_JOINED]])
        found = self.ground.window(window, bounds, value + EPSILON, prices, 1.0, extra)
        if found is not None:
            self.steps[first:last] = found.steps
        gained = found is not None and found.value < value - EPSILON
        self.tried[key] = found.value if found is not None and gained else value
        if found is not None and gained:
            self.value += found.value - value
            self.stale = 0
            self._note()

    def _drawn(self) -> tuple[int, int]:
        """Return the first step of a window, and the one after its last."""
        first = self.rng.randrange(len(self.steps))
        most, size, last = self.rng.randint(3, self.widest), 0, first
        while last < len(self.steps) and size + self.steps[last].operations.bit_count() <= most:
            size += self.steps[last].operations.bit_count()
            last += 1
        return first, max(last, min(first + 2, len(self.steps)))

    def _go_stale(self) -> None:
        """Take wider windows after many that bring nothing, and then begin anew from the best with a part undone."""
        self.stale += 1
        if self.stale > _WIDER_AFTER and self.widest < _LAST_WINDOW:
            self.stale, self.widest = 0, self.widest + 1
        elif self.stale > _KICKED_AFTER:
            self.stale, self.tried = 0, {}
            self.steps = self._kicked()
            self.value = self.ground.value(self.steps)
            self.widest = _FIRST_WINDOW + self.rng.choice((0, 0, 4, 12))

    def _blocks(self, steps: list[PlannedStep]) -> list[list[PlannedStep]]:
        """Return the runs of steps between which nothing is resident."""
        found: list[list[PlannedStep]] = []
        for step in steps:
            if found and found[-1][-1].retained:
                found[-1].append(step)
            else:
                found.append([step])
        return found

    def _moved(self, steps: list[PlannedStep]) -> list[PlannedStep]:
        """Return the steps in another order of the same value: blocks move, mostly behind what they have in common."""
        relations = self.ground.relations
        blocks = self._blocks(steps)
        masks = [sum(step.operations for step in block) for block in blocks]
        needs, reads = [], []
        for mask in masks:
            before = touched = 0
            for o in bits(mask):
                before |= relations.before[o]
                touched |= sum(1 << t for t in set(relations.graph.operations[o].inputs))
            needs.append(before & ~mask)
            reads.append(touched)
        way = self.rng.random()
        done, found, last = 0, list[PlannedStep](), -1
        left = list(range(len(blocks)))
        while left:
            ready = [i for i in left if not needs[i] & ~done]
            preferred = ready
            if last >= 0 and way < 0.75:
                if way < 0.4:
                    preferred = [i for i in ready if needs[i] & masks[last]]
                else:
                    preferred = [i for i in ready if reads[i] & reads[last]]
            last = self.rng.choice(preferred or ready)
            left.remove(last)
            done |= masks[last]
            found += blocks[last]
        return found

    def _kicked(self) -> list[PlannedStep]:
        """Return the best schedule with a run of blocks as single operations."""
        blocks = self._blocks(self._moved(list(self.best.steps)))
        first = self.rng.randrange(len(blocks))
        last = first + self.rng.randint(1, max(1, len(blocks) // 4))
        found: list[PlannedStep] = []
        for i, block in enumerate(blocks):
            if first <= i < last:
                found += self.ground.alone(sum(step.operations for step in block)) or block
            else:
                found += block
        return found
