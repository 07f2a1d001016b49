"""`--solver module:function`: a user's planner, run in a separate process and verified like any solver."""

import json
from pathlib import Path

import numpy as np
import pytest

import memplan
from memplan.api.cli.main import main
from memplan.planner.errors import OptionError
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.one_search import OneSearch
from memplan.solvers.portfolio.options import SolveOptions
from memplan.solvers.reference.own import rows_of

ROWS = [{"id": "a", "size": 8, "start": 0, "end": 2}, {"id": "b", "size": 4, "start": 1, "end": 3}]
PROBLEM = Problem(buffers=ROWS)
TWO_POOLS = Problem(buffers=ROWS, pools=[{"name": "fast", "size": 8}, {"name": "slow"}])
SOURCE = """
import time
import numpy as np
from memplan import Plan

print("said while it is imported")

def stack(problem, time_limit_s):
    print("said while it runs")
    assert 19 < time_limit_s <= 20
    ends = np.cumsum(problem.buffers.size)
    return ends - problem.buffers.size

def listed(problem, time_limit_s):
    return [0, 8]

def by_name(problem, time_limit_s):
    return {"a": 4, "b": 0}

def in_pools(problem, time_limit_s):
    return {"a": ("fast", 0), "b": ("slow", 0)}

def as_plan(problem, time_limit_s):
    rows = [{"id": "a", "pool": "default", "offset": 0}, {"id": "b", "pool": "default", "offset": 8}]
    return Plan.model_validate({"placements": rows})

def overlapping(problem, time_limit_s):
    return [0, 0]

def one_only(problem, time_limit_s):
    return {"a": 0}

def sleepy(problem, time_limit_s):
    time.sleep(600)

def broken(problem, time_limit_s):
    return 1 // 0

def gone(problem, time_limit_s):
    import os
    os._exit(3)
"""


@pytest.fixture(autouse=True)
def _planners(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(("function", "problem", "peaks"), [("stack", PROBLEM, [12]), ("in_pools", TWO_POOLS, [8, 4])])
def test_user_planners_get_verification_and_lower_bounds(function: str, problem: Problem, peaks: list[int]) -> None:
    plan = memplan.solve(problem, solver=f"mine:{function}", time_limit_s=20)  # type: ignore[arg-type]
    assert (plan.status, [use.used for use in plan.pools], plan.solver) == ("optimal", peaks, f"mine:{function}")
    assert memplan.verify(problem, plan).valid


@pytest.mark.slow
def test_a_user_planner_that_breaks_rules_or_times_out_gives_no_plan() -> None:
    found = [
        memplan.solve(PROBLEM, solver=f"mine:{name}", time_limit_s=limit_s)  # type: ignore[arg-type]
        for name, limit_s in (("overlapping", 20), ("one_only", 20), ("sleepy", 0.5))
    ]
    assert [(plan.status, len(plan.placements)) for plan in found] == [("unknown", 0)] * 3
    messages = [plan.explanation.message for plan in found if plan.explanation]
    assert "mine:overlapping made a plan that breaks rules of the problem" in messages[0]
    assert 'mine:one_only: cannot fit buffer "b" (4 bytes)' in messages[1]
    assert "mine:sleepy was stopped before it had placed every buffer" in messages[2]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("mine:broken", "solver: mine:broken: ZeroDivisionError: "),
        ("mine:gone", "solver: mine:gone: the planner's process must return a plan, but ended without one"),
        ("no_such_module:plan", "got none named no_such_module"),
    ],
)
def test_errors_in_a_user_planner_are_reported(name: str, sentence: str) -> None:
    with pytest.raises(OptionError) as caught:
        memplan.solve(PROBLEM, solver=name, time_limit_s=20)  # type: ignore[arg-type]
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "rows"),
    [
        ([4, 0], [(0, 0, 4), (1, 0, 0)]),
        ({"b": 0, "a": 4}, [(1, 0, 0), (0, 0, 4)]),
        (np.array([4, 0]), [(0, 0, 4), (1, 0, 0)]),
        ((("default", np.int32(4)), 0), [(0, 0, 4), (1, 0, 0)]),
        (memplan.solve(PROBLEM, solver="greedy"), [(0, 0, 0), (1, 0, 8)]),
    ],
)
def test_a_user_planner_may_return_a_list_array_dict_or_plan(answer: object, rows: list[tuple[int, int, int]]) -> None:
    assert sorted(rows_of(PROBLEM, answer)) == sorted(rows)


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ([0], "must return an offset for each of 2 buffers, got 1"),
        ("0 8", "must return a list of offsets"),
        (None, "must return a list of offsets"),
        ([0.5, 8], 'must return whole numbers as offsets, got 0.5 for "a"'),
        ([-1, 8], 'must return offsets of at least 0 and below 2^63, got -1 for "a"'),
        ([2**63, 8], "below 2^63"),
        ({"c": 0}, 'must place buffers of the problem, got "c"'),
        ({"a": ("fast", 0)}, "must return an offset, or a pool and an offset"),
        ({"a": (["x"], 0)}, "must return an offset, or a pool and an offset"),
    ],
)
def test_invalid_return_values_of_a_user_planner_are_refused(answer: object, sentence: str) -> None:
    with pytest.raises(OptionError) as caught:
        rows_of(PROBLEM, answer)
    assert sentence in str(caught.value)


def test_a_planner_name_that_is_not_module_and_function_is_refused() -> None:
    for name in ("mine:", ":plan", "mine:a b", "a/b:c", "mine:a:b"):
        with pytest.raises(OptionError, match="must be MODULE:FUNCTION"):
            memplan.solve(PROBLEM, solver=name)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="deterministic"):
        memplan.solve(PROBLEM, solver="mine:stack", deterministic=True)  # type: ignore[arg-type]


def test_a_user_planner_is_refused_through_a_server(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="must be one of auto"):
        OneSearch(PROBLEM, SolveOptions(solver="mine:stack"))
    (tmp_path / "two.json").write_text(json.dumps({"buffers": ROWS}))
    assert main(["plan", "two.json", "--solver", "mine:listed", "--server", "http://127.0.0.1:1"]) == 2
    assert "server: must not be given with a planner of your own" in capfd.readouterr().err


@pytest.mark.slow
def test_plan_runs_a_user_planner_from_the_working_directory(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "two.json").write_text(json.dumps({"buffers": ROWS}))
    assert main(["plan", "two.json", "--solver", "mine:listed", "--time-limit", "20"]) == 0
    assert json.loads(capfd.readouterr().out)["solver"] == "mine:listed"
