"""Files with operations in a better order: models, programs and graphs, with the problem that they then pose."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from memplan.capabilities.inputs import read_operations_field
from memplan.capabilities.order.order import answer_of
from memplan.capabilities.order.placement.joint import PlacedOrder, order_and_place
from memplan.capabilities.order.placement.programs import reorder_program
from memplan.planner.errors import FormatError, OptionError
from memplan.planner.formats import memplan_json
from memplan.planner.operations.graph import OperationGraph, read_graph
from memplan.planner.operations.operations import Operations
from memplan.solvers.search.control import Control
from memplan.systems import reading as importers
from memplan.systems.imported import ModelOptions


@dataclass(frozen=True)
class Reordered:
    """A file's operations in a better order: the graph of them, the order with its plan, and the program, if any."""

    graph: OperationGraph
    placed: PlacedOrder
    operations: Operations | None

    def facts(self) -> dict[str, Any]:
        """Return what a program is told: the order, and the operations in it where the file has a program."""
        told = answer_of(self.graph, self.placed).model_dump()
        if self.operations is not None:
            told["operations"] = self.operations.model_dump(mode="json", exclude_defaults=True)
        return told

    def lines(self) -> Iterator[str]:
        """Yield what people are told."""
        result, n = self.placed.result, len(self.graph.ops)
        yield f"reordered: {result.moves:,} of {n:,} operations are moved; at most {result.peak:,} bytes are alive, "
        yield f"{result.given_peak:,} in the given order"


def reorder(
    data: bytes,
    name: str,
    *,
    time_limit_s: float,
    options: ModelOptions | None = None,
    deterministic: bool = False,
    cancelled: threading.Event | None = None,
) -> Reordered:
    """Reorder the operations of a model, a program or a graph, so that the plan needs fewer bytes.

    Raises FormatError and OperationsError for what cannot be read, OptionError for a file without operations.
    """
    operations, facts = None, None
    if importers.detect(data, name) is not None:
        imported = importers.read_model(data, name, options)
        operations, facts = imported.operations, imported.facts
        if operations is None:
            raise OptionError("reorder: must be asked for a file that has operations, got one that has lifetimes")
    else:
        fields = _fields(data)
        if "ops" in fields:
            graph = read_graph(data)
            control = Control.of(time_limit_s, deterministic, cancelled)
            placed = order_and_place(graph, time_limit_s=time_limit_s, control=control, goal="placed")
            return Reordered(graph, placed, None)
        if "functions" not in fields:
            raise OptionError("reorder: must be asked for a model, operations or a graph of them, got another file")
        operations = read_operations_field(fields)
    found = reorder_program(
        operations,
        time_limit_s=time_limit_s,
        deterministic=deterministic,
        cancelled=cancelled,
        facts=facts,
    )
    return Reordered(found.drawn.graph, found.placed, found.operations)


def _fields(data: bytes) -> dict[str, Any]:
    """Return the object that a JSON file is; none of its fields where it is another file."""
    try:
        value = memplan_json.parse(data)
    except FormatError:
        return {}
    return value if isinstance(value, dict) else {}
