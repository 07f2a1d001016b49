"""`relative`: a buffer at a fixed distance from another one in the same pool; such buffers form a rigid group."""

from collections.abc import Iterator
from itertools import combinations, islice
from typing import Any

import numpy as np

from memplan.planner.errors import buffer_name_rule, excerpt
from memplan.planner.model.constraints.kept import Breaks, KeptBuffers, common_times, cyclic_buffers
from memplan.planner.model.finding import Finding
from memplan.planner.model.problem_fields import ProblemFields

_COMPARED_AT_MOST = 100_000
"""The maximum number of pairs of views that lint compares."""


def unknown_names(problem: ProblemFields) -> Breaks:
    """Yield a broken rule for each `relative` buffer whose reference buffer is unknown."""
    for i, (name, _) in problem.buffers.rules["relative"].items():
        if name not in problem.index:
            yield ("buffers", i, "relative", "to"), buffer_name_rule(name)


def contradictions(problem: ProblemFields) -> Breaks:
    """Yield a broken rule for each `relative` buffer of size 0, reference buffer of size 0, and cycle of references."""
    size, relatives = problem.buffers.size, problem.buffers.rules["relative"]
    for i, (name, _) in relatives.items():
        if size[i] == 0:
            yield ("buffers", i, "relative"), "must not be given for a zero-size buffer"
        elif size[problem.root_of(name)] == 0:
            yield ("buffers", i, "relative", "to"), f"must be a buffer with bytes, got {excerpt(name)}"
    for i in cyclic_buffers({i: problem.target(i)[0] for i in relatives}):
        yield ("buffers", i, "relative", "to"), f"must not lead back to itself, got {excerpt(relatives[i][0])}"


def columns(kept: KeptBuffers) -> dict[str, Any]:
    """Return the columns `anchor` (the lowest buffer of each rigid group) and `distance` (bytes above the anchor)."""
    anchor, distance = np.arange(len(kept)), np.zeros(len(kept), dtype=np.int64)
    for i, (lead, above) in kept.problem.rigid_leads.items():
        # No pool is large enough for a distance beyond int64, so cap the distance.
        anchor[kept.position[i]], distance[kept.position[i]] = kept.position[lead], min(above, 2**63 - 1)
    return {"anchor": anchor, "distance": distance}


def partial_overlap_findings(problem: ProblemFields) -> Iterator[Finding]:
    """Report views that partly overlap while both are alive, which is legal for views.

    A view of a view is inside it, and slices are disjoint. A partial overlap is therefore often a real conflict that a
    flag such as "may overlap" hides.
    """
    table = problem.buffers
    views: dict[int, list[tuple[int, int]]] = {}  # for each lowest buffer, its views as (bytes from its start, view)
    for i, (root, distance) in problem.roots.items():
        lead, more = problem.rigid_leads.get(root, (root, 0))
        views.setdefault(lead, []).append((distance + more, i))
    for i, (lead, distance) in problem.rigid_leads.items():
        views.setdefault(lead, []).append((distance, i))
    pairs = (pair for members in views.values() for pair in combinations(sorted(members), 2))
    for (low, i), (high, j) in islice(pairs, _COMPARED_AT_MOST):
        end = low + int(table.size[i])
        if low < high < end < high + int(table.size[j]) and any(common_times(table.intervals(i), table.intervals(j))):
            both = f"buffers {excerpt(table.ids[i])} and {excerpt(table.ids[j])}"
            message = f"{both}: share {end - high} bytes while both are alive, which only their fixed distance allows"
            yield Finding("hidden-overlap", message, (table.ids[i], table.ids[j]))
