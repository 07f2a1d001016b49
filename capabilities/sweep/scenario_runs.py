"""Scenarios: a problem with each combination of some changes, planned one after the other."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import prod
from typing import Any

from memplan.planner.errors import OptionError, shown
from memplan.planner.model.entries import entries_among
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import Buffer
from memplan.solvers.portfolio.options import SolveControl
from memplan.solvers.portfolio.solve import solve

MOST_SCENARIOS = 10_000


@dataclass(frozen=True)
class Change:
    """One change: `fields` of a buffer or of a pool get other values; a buffer of which they are None is dropped."""

    buffer: int | str | None = None
    pool: str | None = None
    fields: tuple[tuple[str, Any], ...] | None = None


@dataclass(frozen=True)
class Scenario:
    """The changes of one combination, and the best plan of its repetitions."""

    changes: tuple[Change, ...]
    plan: Plan


def scenarios(
    problem: Problem,
    grid: Sequence[Sequence[Change]],
    *,
    repetitions: int = 1,
    time_limit_s: float = 1.0,
    deterministic: bool = False,
    control: SolveControl | None = None,
) -> Iterator[Scenario]:
    """Yield a plan for each combination of one change from each list of the grid, in the order of itertools.product.

    Each is solved `repetitions` times, with seeds from 0 on, or until a plan is proved to be the best. Raises
    OptionError for too many combinations, or for changes of what does not exist; ProblemError where a change makes the
    problem wrong.
    """
    count = prod(len(axis) for axis in grid)
    if count > MOST_SCENARIOS:
        raise OptionError(f"scenarios: must be at most {MOST_SCENARIOS} combinations, got {count}")
    if repetitions < 1:
        raise OptionError(f"repetitions: must be at least 1, got {shown(repetitions)}")
    for change in (change for axis in grid for change in axis):
        _refuse_unknown(problem, change)
    chosen = control or SolveControl()
    plan_one = partial(solve, time_limit_s=time_limit_s, deterministic=deterministic, control=chosen)
    return _planned(problem, grid, repetitions, plan_one, chosen.cancelled)


def _planned(
    problem: Problem,
    grid: Sequence[Sequence[Change]],
    repetitions: int,
    plan_one: Callable[..., Plan],
    cancelled: threading.Event | None,
) -> Iterator[Scenario]:
    for changes in product(*grid):
        changed = with_changes(problem, changes)
        best: Plan | None = None
        for seed in range(repetitions):
            plan = plan_one(changed, seed=seed)
            best = plan if best is None else min(best, plan, key=_rank)
            if best.status in ("optimal", "infeasible"):
                break
        if best is not None:
            yield Scenario(changes, best)
        if cancelled is not None and cancelled.is_set():
            return


def with_changes(problem: Problem, changes: Sequence[Change]) -> Problem:
    """Return the problem with some changes; pairs and entries of dropped buffers go with them."""
    rows = {row.id: dict(row) for row in problem.buffers}
    pools = {row.name: dict(row) for row in problem.pools}
    gone: set[int | str] = set()
    for change in changes:
        if change.pool is not None:
            pools[change.pool] |= dict(change.fields or ())
        elif change.buffer is not None and change.fields is None:
            gone.add(change.buffer)
        elif change.buffer is not None:
            rows[change.buffer] |= dict(change.fields or ())
    kept = rows.keys() - gone
    fields = {name: getattr(problem, name) for name in Problem.model_fields}
    fields |= {
        "buffers": [Buffer.model_validate(row) for name, row in rows.items() if name not in gone],
        "pools": list(pools.values()),
        **entries_among(problem, kept),
    }
    return Problem.model_validate(fields)


def _refuse_unknown(problem: Problem, change: Change) -> None:
    if (change.buffer is None) == (change.pool is None):
        raise OptionError("change: must name a buffer or a pool")
    if change.buffer is not None and change.buffer not in problem.index:
        raise OptionError(f"change: must name a buffer of the problem, got {shown(change.buffer)}")
    if change.pool is not None and change.pool not in problem.pool_index:
        raise OptionError(f"change: must name a pool of the problem, got {shown(change.pool)}")


def _rank(plan: Plan) -> tuple[bool, float, float]:
    return plan.peak is None, plan.cost or 0.0, float(plan.peak or 0)
