"""Plans of changed problems as warm starts: their placements that are still valid are kept."""

from dataclasses import replace

import numpy as np
import pytest

from memplan.planner.instance.compile import compile_problem, lift
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify
from memplan.solvers.portfolio.one_search import OneSearch
from memplan.solvers.portfolio.options import SolveOptions
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.portfolio.warm_start import mended_assignment
from memplan.solvers.search.control import Control
from tests.support import public_problems
from tests.support.changed_problems import change_problem
from tests.support.depth import seeds
from tests.support.random_problems import random_problem
from tests.support.values import require_value

FEATURES = frozenset({"holes", "conflicts", "pools", "alignment", "reserved", "pins"})


def peak(problem: Problem, plan: Plan) -> int | None:
    """Return the peak of the warm start made from a plan's placements; None if none can be made."""
    instance = compile_problem(problem)
    found = mended_assignment(problem, instance, plan.placements)
    if found is None:
        return None
    made = lift(problem, instance, *found)
    assert [entry for entry in verify(problem, Plan(placements=made)) if entry.rule != "false-claim"] == []
    ends = made.offset + problem.buffers.size
    return sum(int(ends[made.pool == q].max(initial=0)) for q in range(len(problem.pools)))


def test_a_plan_of_a_changed_problem_is_repaired_into_a_good_warm_start() -> None:
    old_problem = public_problems.problem("minimalloc/C.1048576.csv")
    old = solve(old_problem, time_limit_s=5)
    problem = change_problem(old_problem, 3, 0.03)
    assert require_value(peak(problem, old)) <= 1.6 * (old.peak or 0)
    offers: list[str] = []
    started = OneSearch(problem, SolveOptions(), Control(report=lambda now: offers.append(now.by)), start=old)
    result = started.begin()
    assert result is None or result.plan.peak is not None
    assert "start" in offers


@pytest.mark.drawn
@pytest.mark.parametrize("seed", seeds(6))
def test_fragments_of_a_plan_become_a_valid_warm_start_or_none(seed: int) -> None:
    problem = random_problem(seed, 14, FEATURES)
    plan = solve(problem, time_limit_s=0.5)
    rng = np.random.default_rng(seed)
    rows = plan.placements
    kept = rng.permutation(len(rows))[: int(rng.integers(0, len(rows) + 1))]
    wrong = replace(
        rows,
        ids=tuple(rows.ids[k] if rng.random() < 0.9 else f"no {k}" for k in kept.tolist()),
        pool_names=tuple(name if rng.random() < 0.8 else "nowhere" for name in rows.pool_names),
        pool=rows.pool[kept],
        offset=rows.offset[kept] + rng.integers(0, 3, len(kept)),
    )
    peak(problem, plan.model_copy(update={"placements": wrong}))


def test_an_empty_plan_gives_no_warm_start_and_no_error() -> None:
    problem = random_problem(1, 5)
    assert peak(problem, Plan()) is None
    assert solve(problem, start=Plan()).status == "optimal"
