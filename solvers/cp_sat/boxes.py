"""CP-SAT variables for the offsets of buffers, and their constraints; functions are named after the constraints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memplan.planner.instance.instance import Instance
from memplan.solvers.formulation.offset_ranges import spans
from memplan.solvers.formulation.pair_rules import pairs_of

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, IntervalVar, IntVar, LinearExprT, LiteralT


@dataclass(frozen=True)
class AddressBox:
    """The variables of a buffer in one possible pool; the literal `is_here` is true if the buffer is in that pool.

    If there is only one possible pool, `is_here` is 1. `start` is between `lowest` and `highest` even if the buffer is
    in another pool.
    """

    start: IntVar
    interval: IntervalVar
    is_here: LiteralT
    lowest: int
    highest: int


AddressBoxes = list[dict[int, AddressBox]]
"""For each buffer, the box in each pool in which it fits."""


def address_boxes(model: CpModel, instance: Instance, ends: Sequence[int]) -> AddressBoxes:
    """Return the boxes of all buffers below the given ends; only buffers with several pools get optional intervals.

    The result has, for each buffer, a box by the number of each pool in which it fits.
    """
    boxes: AddressBoxes = [{} for _ in range(len(instance))]
    for i, homes in enumerate(spans(instance, ends)):
        size = int(instance.size[i])
        for q, (lowest, highest) in homes.items():
            start = model.new_int_var(lowest, highest, "")
            # Optional intervals weaken propagation, so only buffers with several possible pools get one.
            if len(homes) == 1:
                boxes[i][q] = AddressBox(start, model.new_fixed_size_interval_var(start, size, ""), 1, lowest, highest)
            else:
                is_here = model.new_bool_var("")
                interval = model.new_optional_fixed_size_interval_var(start, size, is_here, "")
                boxes[i][q] = AddressBox(start, interval, is_here, lowest, highest)
    return boxes


def addresses_are_aligned(model: CpModel, instance: Instance, boxes: AddressBoxes) -> None:
    """Require each buffer's start to be its lowest offset plus whole alignment steps.

    In a rigid group (fixed distances), this is required only of the anchor (the lowest buffer).
    """
    for i, homes in enumerate(boxes):
        for q, box in homes.items() if instance.anchor[i] == i else ():
            step = int(instance.alignment[q, i])
            # A range with a single offset is aligned already, so no constraint is needed.
            if step > 1 and box.lowest < box.highest:
                steps = model.new_int_var(0, (box.highest - box.lowest) // step, "")
                model.add(box.start == box.lowest + step * steps)


def choose_pools(model: CpModel, boxes: AddressBoxes) -> None:
    """Require exactly one pool for each buffer; a buffer that fits in no pool makes the model infeasible."""
    for homes in boxes:
        if len(homes) != 1:
            model.add_exactly_one([box.is_here for box in homes.values()])


def colocated_buffers_live_in_one_pool(model: CpModel, instance: Instance, boxes: AddressBoxes) -> None:
    """Require the members of a colocation group to be in the pool of its first buffer."""
    for i, colocation in enumerate(instance.colocation.tolist()):
        for q, box in boxes[i].items() if colocation != i and len(boxes[i]) > 1 else ():
            model.add(box.is_here == boxes[colocation][q].is_here)


def rigid_groups_keep_their_distances(model: CpModel, instance: Instance, boxes: AddressBoxes) -> None:
    """Require each member of a rigid group to keep its distance from the group's anchor."""
    for i, anchor in enumerate(instance.anchor.tolist()):
        for q, box in boxes[i].items() if anchor != i else ():
            model.add(box.start == boxes[anchor][q].start + int(instance.distance[i]))


def no_page_is_crossed(model: CpModel, instance: Instance, boxes: AddressBoxes) -> None:
    """Require each buffer to end in the page in which it starts, where its pool has pages."""
    for i, homes in enumerate(boxes):
        for q, box in homes.items():
            page, shift = int(instance.page[q, i]), int(instance.page_shift[q, i])
            size = int(instance.size[i])
            # Skip buffers whose whole offset range lies in one page, as they cannot cross a border.
            if page == 0 or (box.lowest + shift) % page + box.highest - box.lowest + size <= page:
                continue
            first, last = (box.lowest + shift) // page, (box.highest + shift) // page
            number, inside = model.new_int_var(first, last, ""), model.new_int_var(0, page - size, "")
            model.add(box.start + shift == page * number + inside).only_enforce_if(box.is_here)


def barred_offsets_are_left_out(model: CpModel, instance: Instance, boxes: AddressBoxes) -> None:
    """Exclude each buffer's barred offsets from the domain of its start."""
    for i, homes in enumerate(boxes) if "intervals" in instance.features else ():
        for q, box in homes.items():
            from ortools.sat.python.cp_model import Domain

            barred = Domain.from_intervals([[low, high - 1] for low, high in instance.barred_to(i, q)])
            model.add_linear_expression_in_domain(box.start, barred.complement()).only_enforce_if(box.is_here)


@dataclass(eq=False)
class Banks:
    """CP-SAT variables `first` and `past` per buffer and pool: the buffer touches banks `first` to past - 1."""

    model: CpModel
    instance: Instance
    boxes: AddressBoxes
    _made: dict[tuple[int, int], tuple[IntVar, IntVar]] = field(default_factory=dict)

    def common_pools(self, i: int, j: int, by_bank: bool = True) -> Iterator[int]:
        """Yield the numbers of the pools that both buffers may use. With `by_bank`, yield only pools with banks."""
        for q in self.boxes[i].keys() & self.boxes[j].keys():
            if self.instance.pools[q].bank or not by_bank:
                yield q

    def bank_range(self, i: int, q: int) -> tuple[IntVar, IntVar]:
        """Return variables (first, past): buffer `i` touches the banks from `first` to past - 1 of pool `q`."""
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

    def meets(self, i: int, q: int, by_bank: bool) -> tuple[LinearExprT, LinearExprT]:
        """Return the range (first, past) that buffer `i` occupies in pool `q`: in banks if `by_bank`, else in units.

        The two buffers of a priced pair pay the price where these ranges overlap.
        """
        start = self.boxes[i][q].start
        return self.bank_range(i, q) if by_bank else (start, start + int(self.instance.size[i]))

    def interval(self, i: int, q: int) -> IntervalVar:
        """Return a CP-SAT interval of the banks that buffer `i` touches; it is present if the buffer is in pool `q`."""
        first, past = self.bank_range(i, q)
        # A buffer that starts and ends inside banks touches up to two banks more than its size fills, so add two.
        most = int(self.instance.size[i]) // self.instance.pools[q].bank + 2
        number = self.model.new_int_var(1, most, "")
        return self.model.new_optional_interval_var(first, number, past, self.boxes[i][q].is_here, "")


def partners_touch_no_common_bank(model: CpModel, instance: Instance, banks: Banks) -> None:
    """Require that the two buffers of each bank pair (a pair that must not share a bank) touch no common bank."""
    intervals = {}
    for i, j in pairs_of(instance.bank_first, instance.bank_with):
        for q in banks.common_pools(i, j):
            for k in (i, j):
                if (k, q) not in intervals:
                    intervals[k, q] = banks.interval(k, q)
            model.add_no_overlap([intervals[i, q], intervals[j, q]])


def priced_pairs_meet(model: CpModel, instance: Instance, banks: Banks) -> list[IntVar]:
    """Return one literal per priced pair, true if the two buffers share bytes (or banks), so that the price is paid."""
    clashes = []
    for (i, j), by_bank in zip(
        instance.priced_pairs.rows.tolist(), instance.priced_pairs.by_bank.tolist(), strict=True
    ):
        clash = model.new_bool_var("")
        for q in banks.common_pools(i, j, by_bank):
            below, above = model.new_bool_var(""), model.new_bool_var("")
            (first_i, past_i), (first_j, past_j) = (banks.meets(k, q, by_bank) for k in (i, j))
            model.add(past_i <= first_j).only_enforce_if(below)
            model.add(past_j <= first_i).only_enforce_if(above)
            both = [banks.boxes[k][q].is_here for k in (i, j)]
            model.add_bool_or([below, above, clash]).only_enforce_if(both)
        clashes.append(clash)
    return clashes
