"""The CP-SAT model of a question (can a plan keep certain limits?): constraints, objective and search order."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import I64
from memplan.solvers.cp_sat.boxes import (
    AddressBoxes,
    Banks,
    address_boxes,
    addresses_are_aligned,
    barred_offsets_are_left_out,
    choose_pools,
    colocated_buffers_live_in_one_pool,
    no_page_is_crossed,
    partners_touch_no_common_bank,
    priced_pairs_meet,
    rigid_groups_keep_their_distances,
)
from memplan.solvers.cp_sat.overlap import (
    live_buffers_do_not_overlap,
    named_pairs_keep_apart,
    partners_may_share_an_offset,
    reserved_ranges,
)
from memplan.solvers.formulation.costs import Costs
from memplan.solvers.formulation.sharing import Sharing
from memplan.solvers.formulation.subinstance import identical
from memplan.solvers.search.goals import COST

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, IntVar


@dataclass(frozen=True)
class CpSatQuestion:
    """A question to CP-SAT: does a plan exist whose pools end at or below `ends` and which costs at most `steps` steps?

    If `is_minimised`, CP-SAT also minimizes `goal`: the end of a pool, or COST.
    """

    ends: tuple[int, ...]
    steps: int | None
    goal: int
    is_minimised: bool

    @property
    def limit(self) -> int:
        """The upper limit of the goal: cost steps, or the end of the goal's pool in units."""
        return (self.steps or 0) if self.goal == COST else self.ends[self.goal]

    @property
    def has_fixed_search(self) -> bool:
        """True if the search assigns offsets from the lowest up, which is fastest if only offsets are undecided."""
        return not self.is_minimised and len(self.ends) == 1


def build_model(
    model: CpModel, instance: Instance, costs: Costs | None, question: CpSatQuestion, order: I64
) -> AddressBoxes:
    """Build the model of a question in an empty model, and return the boxes that convert solutions to assignments.

    In a fixed search, `order` decides between buffers with the same lowest offset.
    """
    boxes = address_boxes(model, instance, question.ends)
    choose_pools(model, boxes)
    colocated_buffers_live_in_one_pool(model, instance, boxes)
    clashes = priced_pairs_meet(model, instance, offsets_are_legal(model, instance, boxes, question.ends))
    _order_identical_buffers(model, instance, boxes)
    if len(instance.pools) > 1:
        _bound_live_set_sizes(model, instance, boxes, question)
    if costs is not None:
        _bound_cost(model, boxes, clashes, costs, question)
    if question.is_minimised and question.goal != COST:
        _minimise_end(model, instance, boxes, question)
    if question.has_fixed_search:
        _search_lowest_offsets_first(model, boxes, order)
    return boxes


def offsets_are_legal(model: CpModel, instance: Instance, boxes: AddressBoxes, ends: tuple[int, ...]) -> Banks:
    """Add all constraints on the offsets within a pool, and return the variables for banks."""
    addresses_are_aligned(model, instance, boxes)
    rigid_groups_keep_their_distances(model, instance, boxes)
    no_page_is_crossed(model, instance, boxes)
    barred_offsets_are_left_out(model, instance, boxes)
    shares = partners_may_share_an_offset(model, instance, boxes)
    live_buffers_do_not_overlap(model, instance, boxes, shares, ends)
    named_pairs_keep_apart(model, instance, boxes)
    banks = Banks(model, instance, boxes)
    partners_touch_no_common_bank(model, instance, banks)
    return banks


def _order_identical_buffers(model: CpModel, instance: Instance, boxes: AddressBoxes) -> None:
    """Require interchangeable buffers to be in ascending order of pool and offset, which excludes only permutations."""
    for alike in identical(instance):
        size = int(instance.size[alike[0]])
        for i, j in pairwise(alike):
            if len(boxes[i]) > 1:
                first, second = (sum(q * box.is_here for q, box in boxes[k].items()) for k in (i, j))
                model.add(first <= second)
            for q in boxes[i]:
                both = [box.is_here for box in (boxes[i][q], boxes[j][q])]
                model.add(boxes[i][q].start + size <= boxes[j][q].start).only_enforce_if(both)


def _bound_live_set_sizes(model: CpModel, instance: Instance, boxes: AddressBoxes, question: CpSatQuestion) -> None:
    sharing, size = Sharing(instance), instance.size.tolist()
    for q, end in enumerate(question.ends):
        free = end - sum(high - low for low, high in reserved_ranges(instance, q, end))
        for t in range(instance.n_live_sets):
            here = sharing.disjoint_buffers([i for i in instance.live_set_members(t).tolist() if q in boxes[i]])
            # A pool with space for the whole live set needs no constraint, so add none.
            if sum(size[i] for i in here) > free:
                model.add(sum(size[i] * boxes[i][q].is_here for i in here) <= free)


def _bound_cost(
    model: CpModel, boxes: AddressBoxes, clashes: list[IntVar], costs: Costs, question: CpSatQuestion
) -> None:
    total = sum(costs.extra[i][q] * box.is_here for i, homes in enumerate(boxes) for q, box in homes.items())
    total += sum(steps * clash for steps, clash in zip(costs.clash, clashes, strict=True))
    model.add(total <= question.steps)
    if question.is_minimised and question.goal == COST:
        model.minimize(total)


def _minimise_end(model: CpModel, instance: Instance, boxes: AddressBoxes, question: CpSatQuestion) -> None:
    q = question.goal
    end = model.new_int_var(0, question.ends[q], "")
    for i, homes in enumerate(boxes):
        if q in homes:
            model.add(homes[q].start + int(instance.size[i]) <= end).only_enforce_if(homes[q].is_here)
    model.minimize(end)


def _search_lowest_offsets_first(model: CpModel, boxes: AddressBoxes, order: I64) -> None:
    from ortools.sat.python import cp_model

    starts = [box.start for i in order.tolist() for box in boxes[i].values()]
    model.add_decision_strategy(starts, cp_model.CHOOSE_LOWEST_MIN, cp_model.SELECT_MIN_VALUE)
