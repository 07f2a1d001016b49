"""`may_share`: pairs of buffers that may start at the same offset although they are alive together."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from memplan.planner.errors import excerpt
from memplan.planner.model.columns import unique_values
from memplan.planner.model.constraints.kept import Breaks, KeptBuffers, adjacency, common_times, group_of, unknown_ids
from memplan.planner.model.finding import Finding
from memplan.planner.model.problem_fields import ProblemFields


def unknown_names(problem: ProblemFields) -> Breaks:
    """Yield a broken rule for each id in `may_share` that does not belong to a buffer."""
    return unknown_ids(problem, ((("may_share", k), pair) for k, pair in enumerate(problem.may_share)))


def contradictions(problem: ProblemFields) -> Breaks:
    """Yield a broken rule for each contradictory `may_share` pair.

    A pair is contradictory if one of its buffers is only a part of another buffer, if its buffers are the same or are
    connected by `alias_of` or `relative`, or if they conflict explicitly.
    """
    apart = {frozenset((problem.root_of(a), problem.root_of(b))) for a, b in problem.conflicts}
    for k, pair in enumerate(problem.may_share):
        a, b = pair
        for side, name in enumerate(pair):
            i = problem.index[name]
            root, distance = problem.roots.get(i, (i, 0))
            if distance or problem.buffers.size[i] != problem.buffers.size[root]:
                whole = excerpt(problem.buffers.ids[root])
                yield ("may_share", k, side), f"must be a whole buffer, not a part of {whole}, got {excerpt(name)}"
        if a == b and type(a) is type(b):
            yield ("may_share", k), f"must pair two buffers, got {excerpt(pair)}"
        elif group_of(problem, a) == group_of(problem, b):
            yield (
                ("may_share", k),
                f"must not pair buffers that alias_of or relative ties together, got {excerpt(pair)}",
            )
        elif frozenset((problem.root_of(a), problem.root_of(b))) in apart:
            yield ("may_share", k), f"must not pair buffers that conflicts keep apart, got {excerpt(pair)}"


def columns(kept: KeptBuffers) -> dict[str, Any]:
    """Return the lists `share`: for each kept buffer, its `may_share` partners that are alive together with it.

    Pairs that are never alive together are left out, because they may share bytes in any case.
    """

    def lives(i: int) -> list[tuple[int, int]]:
        rows = slice(int(kept.first[i]), int(kept.first[i + 1]))
        return list(zip(kept.start[rows].tolist(), kept.end[rows].tolist(), strict=True))

    pairs = kept.rows(kept.problem.may_share)
    meet = np.array([any(common_times(lives(i), lives(j))) for i, j in pairs.tolist()], dtype=np.bool_)
    first, share = adjacency(pairs[meet], len(kept))
    return {"share_first": first, "share": share}


def long_sharing_findings(problem: ProblemFields) -> Iterator[Finding]:
    """Report pairs that are alive together for several steps, although an in-place operation needs only one."""
    births = unique_values(problem.buffers.start)
    lifetimes = _lifetimes_of_families(problem, {problem.root_of(name) for pair in problem.may_share for name in pair})
    for k, (a, b) in enumerate(problem.may_share):
        for first, last in common_times(lifetimes[problem.root_of(a)], lifetimes[problem.root_of(b)]):
            at = int(np.searchsorted(births, first, side="right"))
            if at < len(births) and births[at] < last:
                message = (
                    f"may_share[{k}]: {excerpt((a, b))} are alive together in [{first}, {last}), which is more than "
                    f"one step: other buffers are born at {births[at]}"
                )
                yield Finding("long-sharing", message, (a, b))


def _lifetimes_of_families(problem: ProblemFields, roots: set[int]) -> dict[int, list[tuple[int, int]]]:
    lifetimes: dict[int, list[tuple[int, int]]] = {i: [] for i in roots}
    for i in (*roots, *problem.roots):
        root, _ = problem.roots.get(i, (i, 0))
        if root in lifetimes:
            lifetimes[root] += problem.buffers.intervals(i)
    return lifetimes
