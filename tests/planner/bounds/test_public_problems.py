"""Real problems: live sets give the bounds that are recorded for them, and lint has nothing to say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memplan.planner.bounds.lower_bound import live_bytes, lower_bound
from memplan.planner.formats import read_problem
from memplan.planner.instance.compile import compile_problem
from memplan.planner.lint.problems import lint

FOLDER = Path(__file__).parents[4] / "shared" / "instances"
RECORDED = [
    (index.parent.name, row["file"], row["lower_bound"])
    for index in sorted(FOLDER.glob("*/index.json"))
    if index.parent.name not in ("graphs", "mlsys2026")  # which hold operations
    for row in json.loads(index.read_text())
]
PROBLEMS = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.glob("*/*.csv"))

pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="needs ../shared/instances, which are not part of the project"
)


@pytest.mark.parametrize(("folder", "file", "bound"), RECORDED)
def test_the_largest_live_set_is_the_recorded_bound(folder: str, file: str, bound: int) -> None:
    path = FOLDER / folder / file
    instance = compile_problem(read_problem(path.read_bytes(), path.name))
    assert max(size for _, size in live_bytes(instance)) == bound
    assert lower_bound(instance).total * instance.unit >= bound


@pytest.mark.parametrize("name", PROBLEMS)
def test_lint_has_nothing_to_say_of_real_problems(name: str) -> None:
    path = FOLDER / name
    assert lint(read_problem(path.read_bytes(), path.name)) == ()
