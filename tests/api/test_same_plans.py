"""Two features together on every entrance: the command and the service answer as Python does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memplan.api.cli.main import main
from memplan.planner.formats.memplan_json import write_problem
from memplan.planner.model.plan import Plan
from memplan.solvers.portfolio.solve import solve
from tests.support.feature_pairs import Case
from tests.support.server import Running

PAIRS = [
    *(("pools", "alias"), ("pools", "no bytes"), ("pools", "cost"), ("bank", "relative")),
    *(("sharing", "conflicts"), ("page", "alignment"), ("holes", "pin"), ("reserved", "profile")),
]


@pytest.mark.parametrize("pair", PAIRS, ids=" and ".join)
def test_every_entrance_gives_the_same_plan(
    pair: tuple[str, str], server: Running, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    case = Case(frozenset(pair), 24, seed=1)
    problem, options = case.problem(), {"solver": "greedy", "deterministic": True}
    if "profile" in pair:
        options |= {"profile": case.profile}
    expected = solve(problem, **options, time_limit_s=1)  # type: ignore[arg-type]
    assert expected.placements
    file = tmp_path / "problem.json"
    file.write_bytes(write_problem(problem))
    command = ["plan", str(file), "--solver", "greedy", "--deterministic", "--time-limit", "1", "--quiet"]
    assert main([*command, *(["--profile", str(case.profile)] if "profile" in pair else [])]) == 0
    asked = {"problem": json.loads(file.read_bytes()), "options": {**options, "time_limit_s": 1}}
    answer = server.client.post("/v1/plan", json=asked)
    assert answer.status_code == 200, answer.text
    for found in (json.loads(capfd.readouterr().out), answer.json()):
        plan = Plan.model_validate(found)
        assert (plan.status, plan.peak, plan.lower_bound) == (expected.status, expected.peak, expected.lower_bound)
        assert tuple(plan.placements) == tuple(expected.placements)
