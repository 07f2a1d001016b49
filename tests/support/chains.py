"""Graphs that are chains of operations, made from shapes."""

from __future__ import annotations

from math import prod
from typing import Any

from memplan.extensions.cascade.access.access_graph import AccessGraph
from memplan.extensions.cascade.access.from_graph import access_graph
from memplan.extensions.networks.operations.graph import graph_from


def graph_of(shapes: list[list[int]], *ops: dict[str, Any]) -> AccessGraph:
    """Return the graph of a chain of operations, one from each shape to the next."""
    rows = [{"in": [k], "out": [k + 1], **op} for k, op in enumerate(ops)]
    facts = [{"shape": shape, "dtype": "int8"} for shape in shapes]
    sizes = [prod(shape) for shape in shapes]
    return access_graph(graph_from({"size": sizes, "kept": [len(ops)], "tensors": facts, "ops": rows}))
