"""The steps of a program with a link: runs of operations, and sends and fetches of tensors, with their start times.

Time is measured in units of cost. An operation takes its cost. A tensor of b bytes takes b / r units, rounded up, over
a link of r bytes per unit. Operations run one after another. Meanwhile, the link can send one tensor and fetch one.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import ceil
from typing import Literal, NamedTuple

from memplan.programs.operations.graph import OperationGraph

Kind = Literal["run", "send", "fetch"]
KINDS: tuple[Kind, ...] = ("run", "send", "fetch")


_LONGEST = 2**60


class Step(NamedTuple):
    """A run of operation `what`, or a send or fetch of tensor `what`, which starts at time `start`."""

    kind: Kind
    what: int
    start: int


class LinkedGraph(NamedTuple):
    """A graph with the cost of each operation, and the transfer time of each tensor (None if it cannot be sent)."""

    graph: OperationGraph
    costs: Sequence[int]
    transfer: Sequence[int | None]


def link_graph(graph: OperationGraph, costs: Sequence[int], link: float) -> LinkedGraph:
    """Return a graph with the transfer times over a link of `link` bytes per unit of cost (0: no link).

    A tensor cannot be sent if it is resident, empty or changed in place, because a copy would be useless or outdated.
    It cannot be sent either if its transfer would take longer than any sum of costs.
    """
    stays = {t for t, size in enumerate(graph.working_bytes) if not size}
    for v, row in enumerate(graph.ops):
        stays.update(set(row.outputs).difference(graph.new_tensors[v]))
    # The speed counts exactly as it is written in decimal, so that 0.1 is exactly a tenth.
    speed = Fraction(repr(link))
    transfer = [None if t in stays or not speed else ceil(size / speed) for t, size in enumerate(graph.working_bytes)]
    return LinkedGraph(graph, costs, [None if time is None or time > _LONGEST else time for time in transfer])


def runs_of(steps: Sequence[Step]) -> tuple[int, ...]:
    """Return the operations that steps run, in execution order."""
    return tuple(step.what for step in steps if step.kind == "run")
