"""Operations that run again: the search for such programs, which a distribution brings, and the answer without one."""

from __future__ import annotations

from memplan.capabilities.capability import Control
from memplan.capabilities.order.answer import OrderAnswer, Recomputed
from memplan.capabilities.order.options import OrderOptions
from memplan.capabilities.searches import search
from memplan.planner.operations.costs import costs_of
from memplan.planner.operations.graph import OperationGraph


def recompute(graph: OperationGraph, options: OrderOptions, control: Control) -> OrderAnswer:
    """Return the programs that a distribution finds, each ordered, planned and checked; see `OrderOptions`.

    Raises MissingPackageError where none that does so is installed.
    """
    found: OrderAnswer = search("recompute")(graph, options, control)
    return found


def unplanned(answer: OrderAnswer, options: OrderOptions) -> OrderAnswer:
    """Return an order as the answer where the time ends before any program was planned."""
    cost = sum(costs_of(answer.ordered)) if answer.ordered is not None else 0
    recomputed = Recomputed(extra_cost=0, cost=cost, is_within=options.within is None, points=())
    return answer.model_copy(update={"recomputed": recomputed})
