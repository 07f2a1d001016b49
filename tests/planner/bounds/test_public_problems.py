"""Real problems: live sets give the bounds that are recorded for them, and lint has nothing to say."""

from __future__ import annotations

import pytest

from memplan.planner.bounds.lower_bound import live_bytes, lower_bound
from memplan.planner.instance.compile import compile_problem
from memplan.planner.lint.problems import lint
from tests.support import public_problems

RECORDED = {
    f"{folder.name}/{row['file']}": row
    for folder in sorted(public_problems.FOLDER.iterdir())
    if folder.is_dir()
    for row in public_problems.recorded(folder.name)
}


def test_the_listings_name_every_file() -> None:
    folder = public_problems.FOLDER
    assert sorted(RECORDED) == sorted(path.relative_to(folder).as_posix() for path in folder.glob("*/*.csv"))


@pytest.mark.parametrize("name", RECORDED)
def test_the_largest_live_set_is_the_recorded_bound(name: str) -> None:
    problem, recorded = public_problems.problem(name), RECORDED[name]
    instance = compile_problem(problem)
    assert (len(problem.buffers), sum(row.size for row in problem.buffers)) == (
        recorded["n_buffers"],
        recorded["total_bytes"],
    )
    assert max(size for _, size in live_bytes(instance)) == recorded["lower_bound"]
    assert lower_bound(instance).total * instance.unit >= recorded["lower_bound"]


@pytest.mark.parametrize("name", RECORDED)
def test_lint_has_nothing_to_say_of_real_problems(name: str) -> None:
    assert lint(public_problems.problem(name)) == ()
