"""`conflicts`: pairs of buffers that must not share bytes, whatever their lifetimes."""

from typing import Any

from memplan.planner.errors import excerpt
from memplan.planner.model.constraints import relative
from memplan.planner.model.constraints.kept import Breaks, KeptBuffers, adjacency, group_of, unknown_ids
from memplan.planner.model.problem_fields import ProblemFields


def unknown_names(problem: ProblemFields) -> Breaks:
    """Yield a broken rule for each id in `conflicts` that does not belong to a buffer."""
    return unknown_ids(problem, ((("conflicts", k), pair) for k, pair in enumerate(problem.conflicts)))


def contradictions(problem: ProblemFields) -> Breaks:
    """Yield a broken rule for each conflict of two buffers that `alias_of` or `relative` forces to share bytes."""
    if not problem.buffers.aliases and not problem.rigid_leads:
        return
    size = problem.buffers.size
    for k, (a, b) in enumerate(problem.conflicts):
        i, j = problem.root_of(a), problem.root_of(b)
        if a != b and i == j:
            yield ("conflicts", k), f"must not pair a buffer with its own alias, got {excerpt((a, b))}"
        elif i != j and i in problem.rigid_leads and group_of(problem, a) == group_of(problem, b):
            apart = problem.rigid_leads[j][1] - problem.rigid_leads[i][1]
            if -size[j] < apart < size[i]:
                rule = "must not pair buffers that share bytes by relative"
                yield ("conflicts", k), f"{rule}, got {excerpt((a, b))}"


def columns(kept: KeptBuffers) -> dict[str, Any]:
    """Return the lists `conflict`. Pairs at a fixed distance never share bytes, so they are left out."""
    pairs = kept.rows(kept.problem.conflicts)
    if len(pairs):
        anchor = relative.columns(kept)["anchor"]
        pairs = pairs[anchor[pairs[:, 0]] != anchor[pairs[:, 1]]]
    first, conflict = adjacency(pairs, len(kept))
    return {"conflict_first": first, "conflict": conflict}
