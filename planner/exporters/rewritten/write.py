"""Models written as cascades, in the formats that can be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from memplan.planner.errors import FormatError
from memplan.planner.exporters.rewritten.onnx import OnnxRewriting
from memplan.planner.importers import detect
from memplan.planner.operations.access.access_graph import AccessGraph, AccessOperation
from memplan.planner.operations.access.from_graph import access_graph
from memplan.planner.operations.access.window import whole
from memplan.planner.operations.cascade.unrolled import Unrolled
from memplan.planner.operations.graph import OperationGraph

WRITERS = ("onnx",)


@dataclass(frozen=True)
class RewritableModel:
    """The access maps of a model, in which what cannot be written in parts runs whole, and its writer."""

    access: AccessGraph
    write: Callable[[Unrolled], bytes]


def rewritable(
    data: bytes, name: str | None, graph: OperationGraph, dims: Mapping[str, int] | None = None
) -> RewritableModel:
    """Return what is needed to search for cascades of a model that can be written, and to write them.

    The graph is one that was read of this file. Raises FormatError for a format that is not written.
    """
    found = detect(data, name)
    if found not in WRITERS:
        raise FormatError(f"must be of a format that is written in parts ({', '.join(WRITERS)}), got {found or 'none'}")
    how = OnnxRewriting(data, graph, dims)
    access = access_graph(graph)
    rows = tuple(
        row if row.role == "striped" and how.runs_in_parts(v) else _run_whole(access, row)
        for v, row in enumerate(access.operations)
    )
    return RewritableModel(replace(access, operations=rows), how.write)


def _run_whole(access: AccessGraph, row: AccessOperation) -> AccessOperation:
    """Return an operation as one that runs whole."""
    if row.role == "barrier":
        return row
    reads = tuple(
        replace(
            read,
            rows=whole(access.tensors[read.tensor].rows),
            columns=whole(access.tensors[read.tensor].columns),
            channels="all",
        )
        for read in row.reads
    )
    out = access.tensors[row.outputs[0]]
    macs = row.macs * out.rows * out.columns if row.role == "striped" else row.macs
    why = "is not written in parts"
    return replace(row, reads=reads, role="barrier", macs=macs, sums=0, partial=0, reason=why)
