"""Tests of the modes of `plan` (heaps, shared objects, re-planning) in calls, jobs and the command."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memplan.api.cli.main import main
from memplan.api.settings import Settings
from tests.support.server import RunningServer, run_server

ROWS = [{"id": "a", "size": 64, "start": 0, "end": 3}, {"id": "b", "size": 48, "start": 2, "end": 5}]
PROBLEM: dict[str, Any] = {"buffers": ROWS}
OLD = {"placements": [{"id": "a", "pool": "default", "offset": 48}, {"id": "b", "pool": "default", "offset": 0}]}
OBJECTS = {"kind": "objects", "alignment": 32, "buffers": ROWS}
MODES: list[tuple[str, dict[str, Any], Any]] = [
    ("heaps", {"problem": PROBLEM, "options": {"heaps": "80B"}}, ["heap 1", "heap 2"]),
    ("objects", {"problem": OBJECTS}, [["a"], ["b"]]),
    ("a bare problem of objects", OBJECTS, [["a"], ["b"]]),
    ("an old plan", {"problem": PROBLEM, "keep": OLD}, [48, 0]),
]


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with run_server(Settings()) as found:
        yield found


def mode_fields(answer: Any) -> Any:
    """Return the part of an answer that shows its mode: objects, heaps, or offsets."""
    if "objects" in answer:
        return [each["buffers"] for each in answer["objects"]]
    if answer.get("heaps"):
        return [each["pool"] for each in answer["placements"]]
    return [each["offset"] for each in answer["placements"]]


@pytest.mark.parametrize(("body", "expected"), [row[1:] for row in MODES], ids=[row[0] for row in MODES])
def test_plan_calls_and_plan_jobs_answer_in_each_mode(
    body: dict[str, Any], expected: Any, server: RunningServer
) -> None:
    answer = server.client.post("/v1/plan", json=body)
    assert (answer.status_code, mode_fields(answer.json())) == (200, expected), answer.text
    submitted = server.client.post("/v1/jobs", json=body)
    assert submitted.status_code == 202, submitted.text
    links = server.wait_for_end(submitted.json())["links"]
    for link in ("result", "plan"):
        assert mode_fields(server.client.get(links[link]).json()) == expected
    assert server.client.get(f"{links['self']}/request").json() == body
    assert server.client.get(f"{links['self']}/problem").status_code == 404


def test_memplan_plan_draws_heaps_and_memplan_verify_accepts_them(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    problem, plan, picture = (str(tmp_path / name) for name in ("problem.json", "plan.json", "plan.svg"))
    Path(problem).write_text(json.dumps(PROBLEM))
    assert main(["plan", problem, "--heaps", "80", "-o", plan, "-o", picture]) == 0
    assert "2 heaps of at most 80 bytes, no fewer are enough" in capfd.readouterr().err
    assert "heap 2: peak 48 bytes" in Path(picture).read_text()
    assert main(["verify", problem, plan, "--quiet"]) == 0


def test_memplan_converts_a_problem_to_shared_objects_and_plans_it(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    problem, objects = str(tmp_path / "problem.json"), str(tmp_path / "objects.json")
    Path(problem).write_text(json.dumps(PROBLEM))
    assert main(["convert", problem, "--to", "objects", "-o", objects, "--quiet"]) == 0
    assert main(["plan", objects, "--format", "table"]) == 0
    assert capfd.readouterr().out.startswith("optimal: 112 in 2 objects")
    assert main(["plan", objects, "-o", str(tmp_path / "plan.html")]) == 2
    assert "output: must be JSON for shared objects" in capfd.readouterr().err
