"""What lint finds is in every answer: of the library, the command, checks, and the service."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import memplan
from memplan.api.cli.main import main
from memplan.planner.formats import memplan_json
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from tests.support.server import Running

CHAIN = [{"id": k, "size": 4 * k + 4, "start": 2 * k, "end": 2 * k + 1} for k in range(6)]
CLOSED: dict[str, Any] = {"buffers": CHAIN}
"""Nobody's ends touch the next start: surely the ends were meant to be inclusive."""
SOUND: dict[str, Any] = {"buffers": [row | {"end": row["end"] + 2} for row in CHAIN]}


def test_a_plan_tells_what_is_surely_not_meant() -> None:
    problem = Problem.model_validate(CLOSED)
    plan = memplan.solve(problem)
    assert [finding.rule for finding in plan.findings] == ["inclusive-ends"]
    assert "--inclusive" in plan.findings[0].message
    assert [finding.rule for finding in memplan.plan(problem, keep=plan).findings] == ["inclusive-ends"]


def test_findings_are_read_again_with_their_plan() -> None:
    problem = Problem.model_validate(CLOSED)
    plan = memplan.solve(problem)
    assert memplan_json.read_plan(memplan_json.write_plan(plan, problem), problem).findings == plan.findings
    for broken in ({"rule": 1, "message": ""}, {"rule": "x"}, {"rule": "x", "message": "y", "more": 1}, 7):
        with pytest.raises(memplan.PlanError, match=r"findings\[0\]"):
            Plan.model_validate({"findings": [broken]})


def test_where_nothing_is_found_nothing_is_written() -> None:
    problem = Problem.model_validate(SOUND)
    assert b"findings" not in memplan_json.write_plan(memplan.solve(problem), problem)


def test_checks_tell_findings_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "closed.json").write_text(json.dumps(CLOSED))
    assert main(["check", str(tmp_path / "closed.json"), "--deterministic", "--budget", "1MiB"]) == 0
    told, said = capsys.readouterr()
    answer = json.loads(told)
    assert [finding["rule"] for finding in answer["findings"]] == ["inclusive-ends"]
    assert answer["reproducible"] is True
    assert "warning: inclusive-ends" in said


def test_the_service_tells_findings_each_time_it_is_asked(server: Running) -> None:
    for _ in range(3):
        answer = server.client.post("/v1/plan", json=CLOSED).json()
        assert [finding["rule"] for finding in answer["findings"]] == ["inclusive-ends"]
    kept = server.client.post("/v1/plan", json={"problem": CLOSED, "keep": answer}).json()
    assert [finding["rule"] for finding in kept["findings"]] == ["inclusive-ends"]
    assert "findings" not in server.client.post("/v1/plan", json=SOUND).json()
