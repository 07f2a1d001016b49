"""Banks: partners touch no common one, and each soft pair that does has its cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memplan.planner.instance.instance import Instance
from memplan.solvers.cp_sat.boxes import AddressBoxes
from memplan.solvers.formulation.pair_rules import pairs_of

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, IntervalVar, IntVar


@dataclass(eq=False)
class Banks:
    """The banks that buffers touch: in pool `q` the numbers first <= bank < past, where it has banks at all."""

    model: CpModel
    instance: Instance
    boxes: AddressBoxes
    _made: dict[tuple[int, int], tuple[IntVar, IntVar]] = field(default_factory=dict)

    def common_pools(self, i: int, j: int) -> Iterator[int]:
        """Yield the pools with banks where both buffers may lie."""
        for q in self.boxes[i].keys() & self.boxes[j].keys():
            if self.instance.pools[q].bank:
                yield q

    def touched(self, i: int, q: int) -> tuple[IntVar, IntVar]:
        """Return (first, past) of a buffer in a pool with banks."""
        if (i, q) not in self._made:
            pool, box, size = self.instance.pools[q], self.boxes[i][q], int(self.instance.size[i])
            bank, shift = pool.bank, pool.bank_shift
            low, high = box.lowest + shift, box.highest + shift
            first = self.model.new_int_var(low // bank, high // bank, "")
            past = self.model.new_int_var(-(-(low + size) // bank), -(-(high + size) // bank), "")
            self.model.add_linear_constraint(box.start + shift - bank * first, 0, bank - 1)
            self.model.add_linear_constraint(bank * past - box.start - (shift + size), 0, bank - 1)
            self._made[i, q] = first, past
        return self._made[i, q]

    def interval(self, i: int, q: int) -> IntervalVar:
        """Return the banks that a buffer touches as an interval of their numbers, there where the buffer is."""
        first, past = self.touched(i, q)
        # A buffer that begins and ends inside of banks touches two more than it fills.
        most = int(self.instance.size[i]) // self.instance.pools[q].bank + 2
        number = self.model.new_int_var(1, most, "")
        return self.model.new_optional_interval_var(first, number, past, self.boxes[i][q].is_here, "")


def partners_touch_no_common_bank(model: CpModel, instance: Instance, banks: Banks) -> None:
    """Let the numbers of the banks that two partners touch not overlap."""
    intervals = {}
    for i, j in pairs_of(instance.bank_first, instance.bank_with):
        for q in banks.common_pools(i, j):
            for k in (i, j):
                if (k, q) not in intervals:
                    intervals[k, q] = banks.interval(k, q)
            model.add_no_overlap([intervals[i, q], intervals[j, q]])


def bank_clashes(model: CpModel, instance: Instance, banks: Banks) -> list[IntVar]:
    """Return, for each soft pair, a literal that is true where the two touch a common bank; else it may be false."""
    clashes = []
    for i, j in instance.soft_pairs.tolist():
        clash = model.new_bool_var("")
        for q in banks.common_pools(i, j):
            below, above = model.new_bool_var(""), model.new_bool_var("")
            (first_i, past_i), (first_j, past_j) = banks.touched(i, q), banks.touched(j, q)
            model.add(past_i <= first_j).only_enforce_if(below)
            model.add(past_j <= first_i).only_enforce_if(above)
            both = [banks.boxes[k][q].is_here for k in (i, j)]
            model.add_bool_or([below, above, clash]).only_enforce_if(both)
        clashes.append(clash)
    return clashes
