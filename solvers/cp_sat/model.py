"""The constraint program: address intervals in memories, one function a constraint, named as the sentence it enforces.

Times are fixed, so a NoOverlap2D of lifetimes and addresses falls into one NoOverlap of addresses per maximal live set;
that is what is posted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from planner.instance import Instance
from planner.table import I64
from solvers.costs import Costs

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, IntervalVar, IntVar, LiteralT

COST = -1
"""The goal that is no memory: the cost."""


@dataclass(frozen=True)
class Question:
    """Is there an assignment with all ends in memory `q` at `ends[q]` or below, and the cost at `steps` or below?

    What matters is the `goal`, a memory or COST: where it `is_minimised`, the least end there, or cost, is asked for.
    A question that `is_of_choice` is of memories only: whether the sizes alive fit, wherever they may lie.
    """

    ends: tuple[int, ...]
    steps: int | None
    goal: int
    is_minimised: bool
    is_of_choice: bool = False

    @property
    def limit(self) -> int:
        """The most that the goal may be."""
        return (self.steps or 0) if self.goal == COST else self.ends[self.goal]

    @property
    def has_fixed_search(self) -> bool:
        """Whether the search goes from the lowest address up, which is best where only addresses are to be chosen."""
        return not self.is_minimised and len(self.ends) == 1


@dataclass(frozen=True)
class Box:
    """A buffer in a memory that it may live in: the addresses it takes there, if it `is_here` (1: it must be)."""

    start: IntVar
    interval: IntervalVar
    is_here: LiteralT


Boxes = list[dict[int, Box]]
"""For each buffer, its box in each memory where it fits."""


def build(model: CpModel, instance: Instance, costs: Costs | None, question: Question, order: I64) -> Boxes:
    """Post the question to an empty model; return the boxes, which tell an assignment from a solution.

    `order` is that in which a fixed search prefers buffers at the same address.
    """
    boxes = _address_boxes(model, instance, question)
    _each_buffer_lives_in_one_memory(model, boxes)
    if not question.is_of_choice:
        _live_buffers_do_not_overlap(model, instance, boxes, question)
        _conflicting_buffers_do_not_overlap(model, instance, boxes)
    _identical_buffers_are_in_order(model, instance, boxes)
    if len(instance.memories) > 1:
        _live_sets_fit_by_size(model, instance, boxes, question)
    if costs is not None:
        _cost_is_at_most(model, boxes, costs, question)
    if question.is_minimised and question.goal != COST:
        _end_is_least(model, instance, boxes, question)
    if question.has_fixed_search:
        _search_goes_from_the_lowest_address_up(model, boxes, order)
    return boxes


def _address_boxes(model: CpModel, instance: Instance, question: Question) -> Boxes:
    """Make the boxes: optional ones only where a buffer has several memories to choose from."""
    boxes: Boxes = [{} for _ in range(len(instance))]
    for i in range(len(instance)):
        size = int(instance.size[i])
        homes = [
            q
            for q in np.flatnonzero(instance.allowed[:, i]).tolist()
            if _lowest(instance, q, i) + size <= question.ends[q]
        ]
        for q in homes:
            start = _address(model, instance, q, i, question.ends[q] - size)
            if len(homes) == 1:
                boxes[i][q] = Box(start, model.new_fixed_size_interval_var(start, size, ""), 1)
            else:
                is_here = model.new_bool_var("")
                interval = model.new_optional_fixed_size_interval_var(start, size, is_here, "")
                boxes[i][q] = Box(start, interval, is_here)
    return boxes


def _lowest(instance: Instance, q: int, i: int) -> int:
    return int(instance.pin[i]) if instance.pin[i] >= 0 else int(instance.residue[q, i])


def _address(model: CpModel, instance: Instance, q: int, i: int, most: int) -> IntVar:
    """Make the address of a buffer: its pin, or residue + k x alignment up to `most`."""
    lowest, step = _lowest(instance, q, i), int(instance.alignment[q, i])
    if instance.pin[i] >= 0:
        return model.new_int_var(lowest, lowest, "")
    count = (most - lowest) // step
    address = model.new_int_var(lowest, lowest + step * count, "")
    if step > 1:
        model.add(address == lowest + step * model.new_int_var(0, count, ""))
    return address


def _each_buffer_lives_in_one_memory(model: CpModel, boxes: Boxes) -> None:
    for homes in boxes:
        if len(homes) != 1:
            model.add_exactly_one([box.is_here for box in homes.values()])


def _live_buffers_do_not_overlap(model: CpModel, instance: Instance, boxes: Boxes, question: Question) -> None:
    """Post one NoOverlap per live set and memory; what is reserved takes part in each."""
    without_lifetime = [[i] for i in np.flatnonzero(np.diff(instance.first) == 0).tolist()]
    live_sets = [instance.members(t).tolist() for t in range(instance.n_live_sets)] + without_lifetime
    for q in range(len(instance.memories)):
        reserved = [
            model.new_fixed_size_interval_var(low, high - low, "") for low, high in _reserved(instance, q, question)
        ]
        before: set[int] = set()
        for members in live_sets:
            here = [i for i in members if q in boxes[i]]
            if len(here) + len(reserved) > 1 and not before.issuperset(here):
                model.add_no_overlap([boxes[i][q].interval for i in here] + reserved)
                before = set(here)


def _conflicting_buffers_do_not_overlap(model: CpModel, instance: Instance, boxes: Boxes) -> None:
    for i in range(len(instance)):
        for j in instance.conflict[instance.conflict_first[i] : instance.conflict_first[i + 1]].tolist():
            for q in boxes[i].keys() & boxes[j].keys() if i < j else ():
                model.add_no_overlap([boxes[i][q].interval, boxes[j][q].interval])


def _identical_buffers_are_in_order(model: CpModel, instance: Instance, boxes: Boxes) -> None:
    """Sort buffers that nothing tells apart by memory, and inside it by address; any assignment can be sorted so."""
    for alike in _identical(instance):
        size = int(instance.size[alike[0]])
        for i, j in pairwise(alike):
            if len(boxes[i]) > 1:
                first, second = (sum(q * box.is_here for q, box in boxes[k].items()) for k in (i, j))
                model.add(first <= second)
            for q in boxes[i]:
                both = [box.is_here for box in (boxes[i][q], boxes[j][q])]
                model.add(boxes[i][q].start + size <= boxes[j][q].start).only_enforce_if(both)


def _live_sets_fit_by_size(model: CpModel, instance: Instance, boxes: Boxes, question: Question) -> None:
    """Say again, by sizes alone, that a live set fits each memory: what the choice of memories is propagated by."""
    for q, end in enumerate(question.ends):
        room = end - sum(high - low for low, high in _reserved(instance, q, question))
        for t in range(instance.n_live_sets):
            here = [i for i in instance.members(t).tolist() if q in boxes[i]]
            if sum(int(instance.size[i]) for i in here) > room:
                model.add(sum(int(instance.size[i]) * boxes[i][q].is_here for i in here) <= room)


def _cost_is_at_most(model: CpModel, boxes: Boxes, costs: Costs, question: Question) -> None:
    """Bound the cost, in steps above the cheapest, and minimise it where that is the goal."""
    total = sum(costs.extra[i][q] * box.is_here for i, homes in enumerate(boxes) for q, box in homes.items())
    model.add(total <= question.steps)
    if question.is_minimised and question.goal == COST:
        model.minimize(total)


def _end_is_least(model: CpModel, instance: Instance, boxes: Boxes, question: Question) -> None:
    q = question.goal
    end = model.new_int_var(0, question.ends[q], "")
    for i, homes in enumerate(boxes):
        if q in homes:
            model.add(homes[q].start + int(instance.size[i]) <= end).only_enforce_if(homes[q].is_here)
    model.minimize(end)


def _search_goes_from_the_lowest_address_up(model: CpModel, boxes: Boxes, order: I64) -> None:
    from ortools.sat.python import cp_model

    starts = [box.start for i in order.tolist() for box in boxes[i].values()]
    model.add_decision_strategy(starts, cp_model.CHOOSE_LOWEST_MIN, cp_model.SELECT_MIN_VALUE)


def _reserved(instance: Instance, q: int, question: Question) -> list[tuple[int, int]]:
    """Return what is reserved in a memory below the end asked for."""
    end = question.ends[q]
    return [(low, min(high, end)) for low, high in instance.memories[q].reserved.tolist() if low < end]


def _identical(instance: Instance) -> Sequence[list[int]]:
    """Return groups of buffers that share a live set and may change places in any assignment."""
    groups: dict[tuple[object, ...], list[int]] = defaultdict(list)
    has_conflicts, has_lifetimes = np.diff(instance.conflict_first) > 0, np.diff(instance.first) > 0
    for i in np.flatnonzero(has_lifetimes & ~has_conflicts & (instance.pin < 0)).tolist():
        lives = slice(instance.first[i], instance.first[i + 1])
        columns = (instance.start[lives], instance.end[lives], instance.allowed[:, i])
        rules = (instance.alignment[:, i], instance.residue[:, i])
        what = tuple(column.tobytes() for column in (*columns, *rules))
        groups[int(instance.size[i]), int(instance.traffic[i]), what].append(i)
    return [group for group in groups.values() if len(group) > 1]
