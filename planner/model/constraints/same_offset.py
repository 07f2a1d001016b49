"""`same_offset`: buffers of several pools at one offset, as for a multicast; `equal_use`: pools used up to one end.

Both require that the pools are alike, and that each buffer names one pool. All pools are then planned as a single pool,
with a separate time range per pool. Buffers at one offset become one buffer that is alive in several ranges.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from memplan.planner.errors import excerpt
from memplan.planner.model.constraints.kept import Breaks, KeptBuffers, unknown_ids
from memplan.planner.model.problem_fields import ProblemFields

_ALIKE = ("alignment", "base_address", "cost", "reserved", "bank_size")
_REASON = "if pools have equal use"


def unknown_names(problem: ProblemFields) -> Breaks:
    """Yield a broken rule for each id in `same_offset` that does not belong to a buffer."""
    return unknown_ids(problem, ((("same_offset", k), names) for k, names in enumerate(problem.same_offset)))


def contradictions(problem: ProblemFields) -> Breaks:
    """Yield a broken rule for each pool that differs from the first, and for each buffer that has no single pool."""
    if not problem.equal_use:
        yield ("equal_use",), "must be true where buffers have the same offset, got false"
        return
    for q, pool in enumerate(problem.pools):
        for field in _ALIKE:
            mine, first = getattr(pool, field), getattr(problem.pools[0], field)
            if mine != first:
                yield (
                    ("pools", q, field),
                    f"must equal the first pool's value ({excerpt(first)}) {_REASON}, got {excerpt(mine)}",
                )
    choices = [problem.allowed_pools(i) for i in range(len(problem.buffers))]
    roots = {i: root for i, (root, _) in problem.roots.items()}
    wrong = [i for i, pools in enumerate(choices) if len(pools) != 1 and i not in roots]
    for i in wrong:
        yield ("buffers", i, "pools"), f"must allow exactly one pool {_REASON}, got {len(choices[i])}"
    if not wrong:
        yield from _breaks_between_pools(problem, lambda i: choices[roots.get(i, i)][0], choices)


def _breaks_between_pools(
    problem: ProblemFields, pool_of: Callable[[int], int], choices: list[tuple[int, ...]]
) -> Breaks:
    """Yield a broken rule for each constraint between buffers of several pools and each wrong `same_offset` set."""
    table, names = problem.buffers, [excerpt(pool.name) for pool in problem.pools]
    for i in problem.roots:
        if pool_of(i) not in choices[i]:
            yield (
                ("buffers", i, "pools"),
                f"must allow the pool of the buffer that contains this alias ({names[pool_of(i)]}), got others",
            )
    for i in table.rules["relative"]:
        if pool_of(i) != pool_of(problem.target(i)[0]):
            yield ("buffers", i, "relative"), f"must refer to a buffer of the same pool ({names[pool_of(i)]}) {_REASON}"
    for k, ids in enumerate(problem.together):
        for side, name in enumerate(ids):
            if pool_of(problem.index[name]) != pool_of(problem.index[ids[0]]):
                yield ("together", k, side), f"must be in the pool of the first buffer {_REASON}, got {excerpt(name)}"
    seen: dict[int, int] = {}
    for k, ids in enumerate(problem.same_offset):
        pools: set[int] = set()
        for side, name in enumerate(ids):
            i, first = problem.index[name], problem.index[ids[0]]
            rule = None
            if i in problem.roots or i in problem.rigid_leads:
                rule = "must not be tied to another buffer by alias_of or relative"
            elif i in seen:
                rule = f"must be in only one set (it is also in same_offset[{seen[i]}])"
            elif table.size[i] != table.size[first]:
                rule = f"must have the first buffer's size ({table.size[first]}), got {table.size[i]}"
            elif table.rules["no_cross"].get(i) != table.rules["no_cross"].get(first):
                rule = f"must have the first buffer's no_cross ({excerpt(table.rules['no_cross'].get(first))})"
            elif pool_of(i) in pools:
                rule = f"must be the only buffer of its set in its pool ({names[pool_of(i)]})"
            if rule is not None:
                yield ("same_offset", k, side), f"{rule}, got {excerpt(name)}"
            seen[i] = k
            pools.add(pool_of(i))


def columns(kept: KeptBuffers) -> dict[str, Any]:
    """Return the columns of both fields: `offset_group` and `has_equal_use`.

    `offset_group` has, for each kept buffer, the first kept buffer of its set.
    """
    group = np.arange(len(kept))
    for names in kept.problem.same_offset:
        members = kept.position[[kept.problem.index[name] for name in names]]
        group[members[members >= 0]] = members.min()
    return {"offset_group": group, "has_equal_use": kept.problem.equal_use}
