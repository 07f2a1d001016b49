"""The operations that no region goes across, and the bytes that are alive there whatever the regions are."""

from __future__ import annotations

from dataclasses import replace

from memplan.capabilities.cascade.access.access_graph import AccessGraph, barrier_of
from memplan.capabilities.cascade.answer import Barrier
from memplan.capabilities.cascade.kernels.access import FOUND_PEAK, Access
from memplan.planner.errors import OptionError, shown
from memplan.solvers.kernels.tables import Rows


def barriers_of(graph: AccessGraph, tables: Access, layers: Rows, least: int | None) -> tuple[Barrier, ...]:
    """Return the barriers of a graph, the most bytes first; `layers` are its operations run whole.

    An operation that is accumulated over all rows may end a region, and what is read behind it, too, is whole then.
    """
    found = []
    for v, row in enumerate(graph.operations):
        whole, behind = int(layers[v, FOUND_PEAK]), int(tables.live[v + 1])
        if row.role == "barrier":
            found.append(Barrier(graph.origin(v), row.kind, row.reason, whole, whole == least))
        elif row.role == "sum" and v + 1 < len(graph.operations):
            # A sum is only made when all rows were read, so whatever runs behind it needs it whole.
            bytes_ = min(whole, behind + int(tables.sums[v]))
            reason = "is accumulated over all rows: a region ends with it"
            found.append(Barrier(graph.origin(v), row.kind, reason, bytes_, bytes_ == least))
    return tuple(sorted(found, key=lambda barrier: (-barrier.bytes, barrier.operation)))


def with_barriers(graph: AccessGraph, names: tuple[str, ...]) -> AccessGraph:
    """Return a graph whose named operations run whole; raises OptionError for a name that none has."""
    rows = list(graph.operations)
    known = [{str(v), row.name, *(graph.tensors[t].name for t in row.outputs)} for v, row in enumerate(rows)]
    for name in names:
        meant = [v for v in range(len(rows)) if name in known[v]]
        if not meant:
            raise OptionError(f"barriers: must be positions, names or outputs of operations, got {shown(name)}")
        for v in meant:
            rows[v] = barrier_of(graph, v, "is one of the barriers that were named")
    return replace(graph, operations=tuple(rows))
