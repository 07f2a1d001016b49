"""The subproblems of a re-plan: pools limited to an end, and buffers pinned to their old places."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from memplan.planner.errors import OptionError, excerpt
from memplan.planner.instance.legal_offsets import last_end
from memplan.planner.model.buffer_table import Bool, column
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.questions.plan.replanning.old_places import OldPlaces


def read_eps(value: str | float) -> Fraction:
    """Return the share of the peak that a number (0.02) or a percentage ("2%") denotes; raises OptionError."""
    try:
        text = str(value).strip()
        eps = Fraction(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except (ValueError, ZeroDivisionError):
        eps = Fraction(-1)
    if not 0 <= eps <= 1000:
        raise OptionError(
            f"eps: must be a share of the peak such as 0.02, or a percentage such as 2%, got {excerpt(value)}"
        )
    return eps


def ends_for(problem: Problem, best: Plan, eps: Fraction, *, any_end: bool = False) -> tuple[int, ...]:
    """Return the end in bytes up to which each pool may be filled: its use in the best plan, raised by `eps`.

    If any plan that fits is accepted, by the objective or by `any_end`, a pool may be filled up to its size.
    """
    ends = []
    for pool, use in zip(problem.pools, best.pools, strict=True):
        most = last_end(pool)
        is_free = (any_end or problem.objective == "fit") and pool.size is not None
        # If any plan that fits is accepted, keeping places matters more than the peak.
        ends.append(most if is_free else min(most, int((use.used or 0) * (1 + eps))))
    return tuple(ends)


def limit_pools(problem: Problem, ends: Sequence[int], best: Plan) -> Problem:
    """Return the problem with the size of each pool set to its end in `ends`, in bytes, and with the objective `fit`.

    For the objective `cost`, each buffer is also confined to the pool that it has in the best plan.
    """
    pools = tuple(pool.model_copy(update={"size": end}) for pool, end in zip(problem.pools, ends, strict=True))
    limited_problem = problem.model_copy(update={"pools": pools, "objective": "fit"})
    return limited_problem if problem.objective != "cost" else _confine_to_pools(limited_problem, best)


def _confine_to_pools(problem: Problem, best: Plan) -> Problem:
    names = best.placements.pool_names
    table = problem.buffers
    choices = (*table.pool_choices, *((name,) for name in names))
    choice = column(best.placements.pool + len(table.pool_choices))
    return problem.model_copy(update={"buffers": replace(table, pool_choice=choice, pool_choices=choices)})


def pin_buffers(problem: Problem, old: OldPlaces, stays: Bool) -> Problem:
    """Return the problem with the buffers in the mask `stays` pinned to their old pools and offsets."""
    table = problem.buffers
    choices = (*table.pool_choices, *((pool.name,) for pool in problem.pools))
    rows = stays.copy()
    rows[list(table.aliases)] = False  # An alias's offset follows from the buffer that contains it, so pin no alias.
    offset = column(np.where(rows, old.offset, table.offset))
    choice = column(np.where(rows, old.pool + len(table.pool_choices), table.pool_choice))
    return problem.model_copy(
        update={"buffers": replace(table, offset=offset, pool_choice=choice, pool_choices=choices)}
    )
