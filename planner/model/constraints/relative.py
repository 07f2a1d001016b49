"""`relative`: a buffer lies at a fixed distance from another one, in the same pool; together they are a rigid group."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, islice
from typing import Any

import numpy as np

from memplan.planner.errors import buffer_named, excerpt
from memplan.planner.model.constraints.kept import Breaks, KeptBuffers, common_times, cyclic_buffers
from memplan.planner.model.finding import Finding
from memplan.planner.model.problem_fields import ProblemFields

_PAIRS_LOOKED_AT = 100_000
"""The number of pairs of views in one buffer that lint looks at, in all."""


def unknown_names(problem: ProblemFields) -> Breaks:
    """Yield buffers relative to an unknown buffer."""
    for i, (name, _) in problem.buffers.rules["relative"].items():
        if name not in problem.index:
            yield ("buffers", i, "relative", "to"), buffer_named(name)


def contradictions(problem: ProblemFields) -> Breaks:
    """Yield invalid ties: buffers without bytes, and chains that form a cycle."""
    size, relatives = problem.buffers.size, problem.buffers.rules["relative"]
    for i, (name, _) in relatives.items():
        if size[i] == 0:
            yield ("buffers", i, "relative"), "must not be given for a buffer of no bytes"
        elif size[problem.root_of(name)] == 0:
            yield ("buffers", i, "relative", "to"), f"must be a buffer of some bytes, got {excerpt(name)}"
    for i in cyclic_buffers({i: problem.target(i)[0] for i in relatives}):
        yield ("buffers", i, "relative", "to"), f"must not lead back to itself, got {excerpt(relatives[i][0])}"


def columns(kept: KeptBuffers) -> dict[str, Any]:
    """Return `anchor` and `distance`, in bytes."""
    anchor, distance = np.arange(len(kept)), np.zeros(len(kept), dtype=np.int64)
    for i, (lead, above) in kept.problem.rigid_leads.items():
        # A distance too large for any pool is allowed nowhere, so its exact value does not matter.
        anchor[kept.position[i]], distance[kept.position[i]] = kept.position[lead], min(above, 2**63 - 1)
    return {"anchor": anchor, "distance": distance}


def views_that_cut_each_other(problem: ProblemFields) -> Iterator[Finding]:
    """Report views that share part of their bytes while both are alive; legal, since they are views.

    A view of a view lies inside it, and slices lie side by side. So a partial overlap is often a real conflict that a
    flag such as "may overlap" hides.
    """
    table = problem.buffers
    views: dict[int, list[tuple[int, int]]] = {}  # of each lowest buffer: (bytes from its start, view)
    for i, (root, distance) in problem.roots.items():
        lead, more = problem.rigid_leads.get(root, (root, 0))
        views.setdefault(lead, []).append((distance + more, i))
    for i, (lead, distance) in problem.rigid_leads.items():
        views.setdefault(lead, []).append((distance, i))
    pairs = (pair for members in views.values() for pair in combinations(sorted(members), 2))
    for (low, i), (high, j) in islice(pairs, _PAIRS_LOOKED_AT):
        end = low + int(table.size[i])
        if low < high < end < high + int(table.size[j]) and any(common_times(table.intervals(i), table.intervals(j))):
            both = f"buffers {excerpt(table.ids[i])} and {excerpt(table.ids[j])}"
            message = f"{both}: share {end - high} bytes while both are alive, which only a tie between them allows"
            yield Finding("hidden-overlap", message, (table.ids[i], table.ids[j]))
