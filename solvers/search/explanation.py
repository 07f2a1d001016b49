"""Explanations of why nothing fits: the pool, the missing bytes, the time, and the buffers alive then."""

from __future__ import annotations

from memplan.planner.bounds.lower_bound import Bound, Witness
from memplan.planner.errors import shown
from memplan.planner.instance.instance import Instance
from memplan.planner.instance.legal_offsets import last_end
from memplan.planner.lint.problems import lint
from memplan.planner.model.plan import Explanation
from memplan.planner.model.problem import Problem

_NAMED = 5
"""The number of pools that a sentence names."""


def explain(problem: Problem, instance: Instance, bound: Bound) -> Explanation:
    """Explain why there is no plan; where the lack is not known, say where it is tightest."""
    if instance.unplaceable:
        table = problem.buffers
        too_wide = (i for i in instance.unplaceable if table.size[i] > table.rules["no_cross"].get(i, table.size[i]))
        return _unplaceable(problem, next(too_wide, instance.unplaceable[0]))
    witness = bound.nothing_fits
    if witness is not None and witness.missing is not None:
        return _lack(problem, instance, witness)
    if witness is not None:
        for finding in lint(problem):
            if finding.rule == "pins-collide":
                return Explanation(message=finding.message, buffers=finding.buffers)
        message = f"nothing fits: {witness.by} searched everything"
    else:
        message = "nothing that fits was found in time"
    tightest = bound.witness
    if tightest.time is not None:
        message += f"; the most is alive at time {tightest.time}"
    pool = None if tightest.pool is None else problem.pools[tightest.pool].name
    return Explanation(message=message, pool=pool, time=tightest.time, buffers=_ids(problem, instance, tightest))


def _unplaceable(problem: Problem, i: int) -> Explanation:
    """Explain that a buffer fits no pool that it may use, even alone."""
    buffer, size = problem.buffers.ids[i], int(problem.buffers.size[i])
    pools = [problem.pools[q] for q in problem.allowed_pools(i)]
    names = ", ".join(shown(pool.name) for pool in pools[:_NAMED]) + ", ..." * (len(pools) > _NAMED)
    is_tied = i in problem.rigid or any(problem.root_of(name) == i for names in problem.together for name in names)
    alone = "even with only what must lie with it" if is_tied else "even alone"
    message = f"buffer {shown(buffer)} ({size} bytes) fits no pool that it may use ({names}), {alone}"
    page = problem.buffers.rules["no_cross"].get(i)
    if page is not None and size > page:
        message += f": it must not cross a multiple of {page} bytes"
    lacks = [size - pool.size for pool in pools if pool.size is not None and pool.size < size]
    starts = problem.buffers.start[problem.buffers.first[i] : problem.buffers.first[i + 1]]
    return Explanation(
        message=message,
        pool=pools[-1].name,
        missing_bytes=min(lacks) if len(lacks) == len(pools) else None,
        time=int(starts[0]) if len(starts) else None,
        buffers=(buffer,),
    )


def _lack(problem: Problem, instance: Instance, witness: Witness) -> Explanation:
    """Explain what is missing where buffers that must lie side by side do not fit."""
    assert witness.pool is not None
    assert witness.missing is not None
    pool = problem.pools[witness.pool]
    # Of the capacity, what is left over when it is divided into units, is there already.
    missing = witness.missing * instance.unit - last_end(pool) % instance.unit
    buffers = _ids(problem, instance, witness)
    message = f"pool {shown(pool.name)} lacks {missing} bytes"
    if witness.time is None:
        message += f" for {len(buffers)} buffers that conflict pairwise"
    else:
        message += f" at time {witness.time}, when {len(buffers)} buffers are alive"
    if pool.size is None:
        message += "; without a size it ends at 2^63 - 1 bytes"
    return Explanation(message=message, pool=pool.name, missing_bytes=missing, time=witness.time, buffers=buffers)


def _ids(problem: Problem, instance: Instance, witness: Witness) -> tuple[int | str, ...]:
    return tuple(problem.buffers.ids[int(instance.source[i])] for i in witness.buffers)
