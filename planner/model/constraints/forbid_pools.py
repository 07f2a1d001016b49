"""`forbid_pools`: pools that a buffer may not use."""

from memplan.planner.errors import excerpt
from memplan.planner.model.constraints.kept import Breaks
from memplan.planner.model.problem_fields import Pool, ProblemFields


def unknown_names(problem: ProblemFields) -> Breaks:
    """Yield a broken rule for each name in `forbid_pools` that does not belong to a pool."""
    for i, names in problem.buffers.rules["forbid_pools"].items():
        for k, pool in enumerate(names):
            if pool not in problem.pool_index:
                yield ("buffers", i, "forbid_pools", k), f"must name a pool of the problem, got {excerpt(pool)}"


def no_pool_left(problem: ProblemFields) -> Breaks:
    """Yield a broken rule for each buffer that `forbid_pools` leaves without a pool."""
    for i, names in problem.buffers.rules["forbid_pools"].items():
        if set(names) <= problem.pool_index.keys() and not problem.allowed_pools(i):
            yield ("buffers", i, "forbid_pools"), f"must leave a pool for the buffer, got {excerpt(names)}"


def excluded_buffers(problem: ProblemFields, pool: Pool) -> list[int]:
    """Return the positions of the buffers for which a pool is forbidden."""
    return [i for i, names in problem.buffers.rules["forbid_pools"].items() if pool.name in names]
