"""Models written as cascades, in the formats that can be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from memplan.capabilities.cascade.access.access_graph import AccessGraph, barrier_of
from memplan.capabilities.cascade.access.from_graph import access_graph
from memplan.capabilities.cascade.regions.unrolled import Unrolled
from memplan.planner.errors import FormatError
from memplan.planner.errors.extras import imported
from memplan.planner.operations.graph import OperationGraph
from memplan.planner.systems import system_of, systems
from memplan.systems.imported import ModelOptions
from memplan.systems.reading import detect

OPERATION_BYTES = 200
"""The bytes that TFLite Micro keeps in its arena of each operator, as measured."""
_VALUE_BYTES = 24
_CHANNEL_BYTES = 8
"""For each byte of a pixel that an operator makes: kernels keep numbers for each channel."""


@dataclass(frozen=True)
class RewritableModel:
    """The access maps of a model, where what is not written in parts runs whole, and its writer."""

    access: AccessGraph
    write: Callable[[Unrolled], bytes]


def arena_estimate(found: Unrolled) -> int:
    """Return the bytes that TFLite Micro needs for an unrolled cascade: values alive at once, and what it keeps."""
    graph = found.graph
    made = [t for step in found.steps if step.kind == "run" for t in graph.operations[step.operation].outputs]
    channels = sum(graph.tensors[tensor].pixel for tensor in made)
    kept = OPERATION_BYTES * len(found.steps) + _VALUE_BYTES * len(found.values) + _CHANNEL_BYTES * channels
    return found.live_peak + kept


def rewritable(
    data: bytes, name: str | None, graph: OperationGraph, options: ModelOptions | None = None
) -> RewritableModel:
    """Return what is needed to search for cascades of a model that can be written, and to write them.

    The graph is one that was read of this file. Raises FormatError for a format that is not written.
    """
    found = system_of(detect(data, name))
    if found is None or found.rewrites is None:
        known = ", ".join(each.name for each in systems() if each.rewrites)
        raise FormatError(
            f"must be of a format that is written in parts ({known}), got {found.name if found else 'none'}"
        )
    how = imported(found.rewrites)(data, graph, options)
    access = access_graph(graph)
    rows = tuple(
        row if row.role == "striped" and how.runs_in_parts(v) else barrier_of(access, v, "is not written in parts")
        for v, row in enumerate(access.operations)
    )
    return RewritableModel(replace(access, operations=rows, is_coarse=True), how.write)
