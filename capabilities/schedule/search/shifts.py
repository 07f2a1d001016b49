"""Better schedules by shifts: one operation goes from its step to one that has a tensor in common with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memplan.capabilities.schedule.search.downsets import EPSILON, PlannedStep
from memplan.capabilities.schedule.search.ground import Ground
from memplan.capabilities.schedule.search.groups import Group, group_of
from memplan.capabilities.schedule.search.nests import bits


class Shifts:
    """Shifts of operations between the steps of a schedule, the first that is better each time."""

    def __init__(self, ground: Ground) -> None:
        self.ground, self.relations = ground, ground.relations
        self._groups: dict[int, Group] = {}

    def improved(self, steps: Sequence[PlannedStep], share: float) -> list[PlannedStep]:
        """Return steps of which no shift is better, as far as this share of the effort goes."""
        best, value = list(steps), self.ground.value(steps)
        is_better = True
        while is_better:
            is_better = False
            for changed in self._shifted(best):
                self.ground.effort.spend(len(best))
                if self.ground.effort.is_over(share):
                    return best
                found = self.rebuilt(*changed)
                if found is not None and (total := self.ground.value(found)) < value - EPSILON:
                    best, value, is_better = found, total, True
                    break
        return best

    def _shifted(self, steps: list[PlannedStep]) -> Iterator[tuple[list[int], list[int]]]:
        """Yield the operations of all steps, and the tensors that they retained, after each shift."""
        relations = self.relations
        masks, retained = [step.operations for step in steps], [step.retained for step in steps]
        where = {o: i for i, mask in enumerate(masks) for o in bits(mask)}
        for o, source in sorted(where.items()):
            left = masks[source] & ~(1 << o)
            if left and not relations.is_connected(left):
                continue
            first = max((where[p] for p in bits(relations.before[o])), default=0)
            output = relations.graph.operations[o].output
            last = min((where[r] for r in bits(relations.readers[output])), default=len(steps) - 1)
            for goal in sorted({where[other] for other in bits(relations.beside[o])} - {source}):
                if first <= goal <= last:
                    changed = masks.copy()
                    changed[source], changed[goal] = left, masks[goal] | 1 << o
                    kept = [i for i, mask in enumerate(changed) if mask]
                    yield [changed[i] for i in kept], [retained[i] for i in kept]

    def rebuilt(self, masks: list[int], retained: list[int]) -> list[PlannedStep] | None:
        """Return the steps, which retain what they did where the next one reads it; None where one fits no tile."""
        steps, keeps = list[PlannedStep](), self.ground.target.keeps
        resident = done = 0
        for i, mask in enumerate(masks):
            if mask not in self._groups:
                self._groups[mask] = group_of(self.relations, mask)
            group, following = self._groups[mask], masks[i + 1] if i + 1 < len(masks) else 0
            done |= mask
            stays = self.relations.awaited(resident, done)
            for tensor, outside in group.leaving:
                is_in_time = outside and (keeps or not outside & ~following)
                if retained[i] >> tensor & 1 and is_in_time and not self.relations.outputs >> tensor & 1:
                    stays |= 1 << tensor
            if self.ground.costs.of(mask, resident, group.leaves, stays) is None:
                return None
            steps.append(PlannedStep(mask, resident, group.leaves, stays))
            resident = stays
        return steps
