"""A plan in linear time by sweeps over time: worse than the best of many orders, but there at once for any number."""

import numpy as np

from memplan.planner.instance.instance import Instance
from memplan.planner.instance.objective import score
from memplan.planner.model.buffer_table import ABSENT, I64, column
from memplan.solvers.core.pack import SweepTask, sweep
from memplan.solvers.core.tables import Reference
from memplan.solvers.packing.orders import Traits
from memplan.solvers.packing.place import place

_FEATURES = frozenset({"holes", "pools", "capacity", "alignment", "reserved", "cost", "together"})


class Sweeper:
    """A packer of the pools of an instance in the order of starts or, if backward, of ends; it does not use holes."""

    def __init__(self, instance: Instance, traits: Traits, is_backward: bool) -> None:
        """Compute the lifetimes and the order in the direction of the sweep."""
        self._instance, self._life = instance, (traits.start, traits.end)
        self.order = traits.sorted_by("end" if is_backward else "start")
        if is_backward:
            self._life = column(instance.n_live_sets - traits.end), column(instance.n_live_sets - traits.start)

    def pack(self, q: int, order: I64, _best_fit: bool = False) -> I64:
        """Place the buffers of `order` in pool `q`, and return their offsets; ABSENT where one does not fit."""
        instance, (_, capacity, _, reserved, *_) = self._instance, self._instance.pools[q]
        step, offsets = np.ascontiguousarray(instance.alignment[q]), np.full(len(order), ABSENT)
        numbers = capacity, instance.n_live_sets
        sweep(Reference(SweepTask(order, instance.size, *self._life, step, reserved, *numbers, offsets)))
        return column(offsets)


def swept_plan(instance: Instance, pools: tuple[int, ...]) -> tuple[I64, I64] | None:
    """Return (pool, offset) of each buffer by the better of two sweeps, where the first of `pools` is filled first.

    The result is None if buffers fit in no pool by either sweep, or if there are rules that a sweep does not follow.
    """
    if not instance.features <= _FEATURES or instance.lowest.any() or not instance.is_small_numbered:
        return None
    traits = Traits(instance)
    sweepers = [Sweeper(instance, traits, is_backward) for is_backward in (False, True)]
    plans = [plan for each in sweepers if (plan := place(each, instance, each.order, pools)) is not None]
    return min(plans, key=lambda plan: score(instance, *plan), default=None)
