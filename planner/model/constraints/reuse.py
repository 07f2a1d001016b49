"""`reuse`: pairs of buffers that incur a cost if they use common bytes of one pool, one after the other."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from memplan.planner.errors import count_text, excerpt
from memplan.planner.model.buffer_table import I64, Bool
from memplan.planner.model.columns import unique_values
from memplan.planner.model.constraints.kept import Breaks, Id, KeptBuffers, unknown_ids
from memplan.planner.model.finding import Finding
from memplan.planner.model.problem_fields import ProblemFields, counts_cost

MAX_PAIRS = 1_000_000
"""The maximum number of pairs in all entries of `reuse`."""


def unknown_names(problem: ProblemFields) -> Breaks:
    """Yield a broken rule for each id in `reuse` that does not belong to a buffer."""
    places = (
        (("reuse", k, "pairs", j), pair) for k, row in enumerate(problem.reuse) for j, pair in enumerate(row.pairs)
    )
    return unknown_ids(problem, places)


def pair_limit_breaks(problem: ProblemFields) -> Breaks:
    """Yield a broken rule if the entries of `reuse` have more than MAX_PAIRS pairs."""
    pairs = sum(len(row.pairs) for row in problem.reuse)
    if pairs > MAX_PAIRS:
        yield ("reuse",), f"must list at most {MAX_PAIRS} pairs, got {pairs}"


def contradictions(problem: ProblemFields) -> Breaks:
    """Yield a broken rule for each pair whose buffers are equal, or aliases of one buffer."""
    for k, row in enumerate(problem.reuse):
        for j, (a, b) in enumerate(row.pairs):
            if problem.root_of(a) == problem.root_of(b):
                yield (
                    ("reuse", k, "pairs", j),
                    f"must pair buffers that are not aliases of one buffer, got {excerpt((a, b))}",
                )


def columns(kept: KeptBuffers) -> dict[str, Any]:
    """Return `reuse_pairs`, and `reuse_price`, the sum of a pair's costs over all entries.

    Pairs that can never cost anything are left out: pairs alive together, in conflict or without a common pool, and all
    pairs if costs are not minimised.
    """
    problem, n = kept.problem, max(len(kept), 1)
    if not counts_cost(problem.objective):
        return {}
    rows = [np.sort(kept.rows(row.pairs), axis=1) for row in problem.reuse]
    prices = np.repeat([row.cost for row in problem.reuse], [len(members) for members in rows])
    i, j = np.concatenate(rows).T
    counts = (kept.allowed[:, i] & kept.allowed[:, j]).any(axis=0) & ~_are_alive_together(kept, i, j)
    conflicts = np.sort(kept.rows(problem.conflicts), axis=1)
    counts &= ~np.isin(n * i + j, unique_values(n * conflicts[:, 0] + conflicts[:, 1]))
    pairs, which = np.unique((n * i + j)[counts], return_inverse=True)
    price = np.bincount(which.ravel(), prices[counts], minlength=len(pairs)).astype(np.float64)
    return {"reuse_pairs": np.stack(np.divmod(pairs, n), axis=1), "reuse_price": price}


def _are_alive_together(kept: KeptBuffers, i: I64, j: I64) -> Bool:
    """Return a mask: True for each pair of kept buffers whose lifetimes overlap."""
    meets = np.zeros(len(i), dtype=np.bool_)
    count = np.diff(kept.first)
    # Compare each lifetime of one buffer with each lifetime of the other; most buffers have only one lifetime.
    for a in range(int(count[i].max(initial=0))):
        for b in range(int(count[j].max(initial=0))):
            there = np.flatnonzero((a < count[i]) & (b < count[j]))
            mine, other = kept.first[i[there]] + a, kept.first[j[there]] + b
            meets[there] |= (kept.start[mine] < kept.end[other]) & (kept.start[other] < kept.end[mine])
    return meets


def idle_price_findings(problem: ProblemFields) -> Iterator[Finding]:
    """Report `reuse` entries without effect, because costs are not minimised or a pair can never share bytes."""
    # Objective "peak" with several pools also minimises costs, in the profiles `balanced` (the default) and `speed`.
    if problem.objective == "fit" or (problem.objective == "peak" and len(problem.pools) == 1):
        got = f"{excerpt(problem.objective)} and {count_text(len(problem.pools), 'pool')}"
        rule = 'costs are minimised with objective "cost" or ["peak", "cost"], or "peak" of several pools'
        yield Finding("idle-prices", f"reuse: {rule}, got {got}")
        return
    table = problem.buffers
    spans = [list(table.intervals(i)) for i in range(len(table))]
    for i, (root, _) in problem.roots.items():
        spans[root] += spans[i]
    pools = [set(table.pool_choices[k]) for k in table.pool_choice.tolist()]
    apart = {frozenset((problem.root_of(a), problem.root_of(b))) for a, b in problem.conflicts}

    def is_idle(pair: tuple[Id, Id]) -> bool:
        i, j = (problem.root_of(name) for name in pair)
        is_alive = any(start < until and since < end for start, end in spans[i] for since, until in spans[j])
        is_elsewhere = bool(pools[i] and pools[j]) and pools[i].isdisjoint(pools[j])
        return is_alive or is_elsewhere or frozenset((i, j)) in apart

    for k, row in enumerate(problem.reuse):
        idle = [pair for pair in row.pairs if is_idle(pair)]
        if idle:
            named = f"{excerpt(idle[0])} and {len(idle) - 1} other pairs" if idle[1:] else excerpt(idle[0])
            why = "can never share bytes, because they conflict, are alive together or have no common pool"
            yield Finding("idle-prices", f"reuse[{k}]: {named} {why}", idle[0])
