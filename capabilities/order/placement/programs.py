"""Programs in a better order: their statements are reordered, and the problem that they then pose is planned."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from memplan.capabilities.order.placement.joint import PlacedOrder, order_and_pose
from memplan.capabilities.order.search.solve import TIME_LIMIT_S
from memplan.planner.liveness.analysis import analyse
from memplan.planner.model.problem import Problem
from memplan.planner.operations.operations import Operations
from memplan.planner.operations.program_facts import ProgramFacts
from memplan.planner.operations.program_graph import ProgramGraph, program_graph
from memplan.planner.operations.statements import Alloc, Branches, Free, Operation, Repetition, Statement
from memplan.solvers.search.control import Control


@dataclass(frozen=True)
class ReorderedProgram:
    """A program in its new order, what it was drawn from, and the plan of the problem that it poses."""

    operations: Operations
    drawn: ProgramGraph
    placed: PlacedOrder


def reorder_program(
    operations: Operations,
    *,
    time_limit_s: float = TIME_LIMIT_S,
    deterministic: bool = False,
    cancelled: threading.Event | None = None,
    facts: ProgramFacts | None = None,
) -> ReorderedProgram:
    """Reorder the statements of a program's entry so that its buffers need fewer bytes, and plan them.

    Buffers are alive from their first to their last use then, whatever `alloc` and `free` said before.
    Branches, loops and called functions keep their order inside, and so do operations that have effects. Nothing is
    written over an input, as the program does not say that it may be. Raises OptionError for a time limit below 0,
    OperationsError for one that has no graph.
    """
    drawn = program_graph(_without_scopes(operations), facts)

    def pose(order: Sequence[int]) -> Problem:
        return analyse(drawn.reordered(order)).problem

    control = Control.of(time_limit_s, deterministic, cancelled)
    placed = order_and_pose(drawn.graph, pose, time_limit_s, control, "placed")
    return ReorderedProgram(drawn.reordered(placed.result.order), drawn, placed)


def _without_scopes(operations: Operations) -> Operations:
    """Return a program without `alloc` and `free`, which belong to the given order."""
    functions = {
        name: function.model_copy(update={"body": _unscoped(function.body)})
        for name, function in operations.functions.items()
    }
    return operations.model_copy(update={"functions": functions})


def _unscoped(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    found: list[Statement] = []
    for row in body:
        if isinstance(row, Repetition):
            found.append(row.model_copy(update={"loop": _unscoped(row.loop)}))
        elif isinstance(row, Branches):
            found.append(row.model_copy(update={"branches": tuple(map(_unscoped, row.branches))}))
        elif isinstance(row, Operation) and row.body:
            found.append(row.model_copy(update={"body": _unscoped(row.body)}))
        elif not isinstance(row, Alloc | Free):
            found.append(row)
    return tuple(found)
