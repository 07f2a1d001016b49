"""Plans of one definition in all modes: heaps, shared objects, and an old plan that is kept."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

import memplan
from memplan.api.cli.main import main
from memplan.api.settings import Settings
from memplan.capabilities.capability import Control
from memplan.capabilities.plan.answers import plan_lines
from memplan.capabilities.plan.plan import CAPABILITY, PlanOptions, plan
from memplan.planner.errors import OptionError
from memplan.planner.model.plan import Plan, problem_of
from memplan.planner.model.problem import Problem
from tests.support.server import Running, running

BUFFERS = [{"id": "a", "size": 64, "start": 0, "end": 3}, {"id": "b", "size": 48, "start": 2, "end": 5}]
ROOMY = Problem.model_validate({"buffers": BUFFERS})
TIGHT = Problem.model_validate({"buffers": BUFFERS, "pools": [{"name": "sram", "size": 100}]})
STEADY = PlanOptions(deterministic=True)


@pytest.mark.parametrize("problem", [ROOMY, TIGHT])
def test_a_solve_is_a_plan_with_options_by_name(problem: Problem) -> None:
    answer = plan(problem, options=STEADY)
    assert CAPABILITY.write(memplan.solve(problem, deterministic=True)) == CAPABILITY.write(answer)
    assert memplan.solve is memplan.plan
    assert inspect.unwrap(memplan.plan) is plan
    assert problem_of(answer) == problem


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"profile": "heaps:128MiB"}, "profile: must not be heaps, which are an option of their own, as heaps=128"),
        ({"plans": "5@2"}, "plans: must be a number, beside the option distance: plans 5, distance 2"),
    ],
)
def test_modes_that_were_words_of_other_options_are_refused_with_the_option(options: Any, sentence: str) -> None:
    with pytest.raises(OptionError, match=sentence):
        memplan.plan(ROOMY, **options)
    flags = [word for name, value in options.items() for word in (f"--{name}", value)]
    assert main(["plan", "--capacity", "1MiB", *flags, "examples/mobilenet_v2.csv"]) == 2


def test_where_nothing_fits_the_reason_is_looked_into() -> None:
    found = plan(TIGHT, options=STEADY)
    assert found.explanation is not None
    assert (found.explanation.kind, found.explanation.irreducible) == ("live-set", True)


def test_progress_and_stages_are_reported() -> None:
    told: list[str | None] = []
    plan(TIGHT, options=STEADY, control=Control(report=lambda event: told.append(CAPABILITY.progress(event))))
    assert 'pool "sram" lacks 12 bytes' in str(told[-1])
    plan(ROOMY, options=STEADY, control=Control(report=lambda event: told.append(CAPABILITY.progress(event))))
    assert str(told[-1]).startswith("best peak 112  bound 112  gap 0.00%")


def test_a_plan_to_start_from_is_no_worse_than_the_answer() -> None:
    start = plan(ROOMY, options=STEADY)
    assert plan(ROOMY, start, options=STEADY).peak == start.peak


def test_only_a_local_caller_may_name_code_of_his_own() -> None:
    with pytest.raises(OptionError, match="solver: must not be a planner of your own on a service"):
        plan(ROOMY, options=PlanOptions(solver="os:getpid"))


def test_what_was_written_says_the_same_to_people() -> None:
    for problem in (ROOMY, TIGHT):
        found = plan(problem, options=STEADY)
        read = TypeAdapter(Plan).validate_json(CAPABILITY.write(found))
        assert list(plan_lines(read)) == list(plan_lines(found))
    assert list(plan_lines(plan(ROOMY, options=STEADY)))[1] == "default: 112 bytes (112 B), lower bound 112"


Captured = pytest.CaptureFixture[str]
ROWS = [{"id": "a", "size": 64, "start": 0, "end": 3}, {"id": "b", "size": 48, "start": 2, "end": 5}]
PROBLEM: dict[str, Any] = {"buffers": ROWS}
OLD = {"placements": [{"id": "a", "pool": "default", "offset": 48}, {"id": "b", "pool": "default", "offset": 0}]}
OBJECTS = {"kind": "objects", "alignment": 32, "buffers": ROWS}
PRICED = {
    "buffers": [{"id": k, "size": 4, "start": k, "end": k + 1} for k in range(3)],
    "reuse": [{"pairs": [[0, 1]], "cost": 1}, {"pairs": [[0, 2], [1, 2]], "cost": 2}],
    "pools": [{"name": "ub", "size": 8}],
    "objective": "cost",
}
MODES: list[tuple[str, dict[str, Any], Any]] = [
    ("heaps", {"problem": PROBLEM, "options": {"heaps": "80B"}}, ["heap 1", "heap 2"]),
    ("objects", {"problem": OBJECTS}, [["a"], ["b"]]),
    ("a bare problem of objects", OBJECTS, [["a"], ["b"]]),
    ("plans that differ", {"problem": PRICED, "options": {"plans": 9, "distance": 2}}, [2, 2, 5]),
    ("an old plan", {"problem": PROBLEM, "keep": OLD}, [48, 0]),
]


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running(Settings()) as found:
        yield found


def told(answer: Any) -> Any:
    """Return what of an answer shows its mode."""
    if "objects" in answer:
        return [each["buffers"] for each in answer["objects"]]
    if answer.get("others"):
        return [each["cost"] for each in answer["others"]["plans"]]
    if answer.get("heaps"):
        return [each["pool"] for each in answer["placements"]]
    return [each["offset"] for each in answer["placements"]]


@pytest.mark.parametrize(("body", "expected"), [row[1:] for row in MODES], ids=[row[0] for row in MODES])
def test_calls_and_jobs_answer_in_each_mode(body: dict[str, Any], expected: Any, server: Running) -> None:
    answer = server.client.post("/v1/plan", json=body)
    assert (answer.status_code, told(answer.json())) == (200, expected), answer.text
    submitted = server.client.post("/v1/jobs", json=body)
    assert submitted.status_code == 202, submitted.text
    links = server.ended(submitted.json())["links"]
    for link in ("result", "plan"):
        assert told(server.client.get(links[link]).json()) == expected
    assert server.client.get(f"{links['self']}/request").json() == body
    assert server.client.get(f"{links['self']}/problem").status_code == 404


def test_the_command_draws_heaps_and_verifies_them(tmp_path: Path, capfd: Captured) -> None:
    problem, plan, picture = (str(tmp_path / name) for name in ("problem.json", "plan.json", "plan.svg"))
    Path(problem).write_text(json.dumps(PROBLEM))
    assert main(["plan", problem, "--heaps", "80", "-o", plan, "-o", picture]) == 0
    assert "2 heaps of at most 80 bytes, no fewer are enough" in capfd.readouterr().err
    assert "heap 2: peak 48 bytes" in Path(picture).read_text()
    assert main(["verify", problem, plan, "--quiet"]) == 0


def test_the_command_shares_objects_and_makes_problems_of_them(tmp_path: Path, capfd: Captured) -> None:
    problem, objects = str(tmp_path / "problem.json"), str(tmp_path / "objects.json")
    Path(problem).write_text(json.dumps(PROBLEM))
    assert main(["convert", problem, "--to", "objects", "-o", objects, "--quiet"]) == 0
    assert main(["plan", objects, "--format", "table"]) == 0
    assert capfd.readouterr().out.startswith("optimal: 112 in 2 objects")
    assert main(["plan", objects, "-o", str(tmp_path / "plan.html")]) == 2
    assert "output: must be JSON for shared objects" in capfd.readouterr().err
