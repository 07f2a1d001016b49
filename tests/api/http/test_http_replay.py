"""Replays over HTTP: the same plan again, what differs, and bundles that contradict themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic_core import from_json

from memplan import Plan, Problem, solve, verify
from memplan.api.settings import Settings
from memplan.capabilities.registry import CAPABILITIES
from memplan.capabilities.verify.replay.bundle import write_bundle
from memplan.capabilities.verify.replay.source_file import SourceFile
from memplan.planner.formats import read_problem
from memplan.solvers.portfolio.options import SolveOptions
from tests.support.server import Running, running

ASKED: dict[str, Any] = dict(CAPABILITIES["replay"].example)
TABLE = b"id,lower,upper,size\na,0,2,4\nb,1,3,4\nc,2,4,6\n"


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running(Settings(max_jobs=5)) as found:
        yield found


def test_what_is_reproducible_is_made_again_to_the_byte(server: Running) -> None:
    problem = read_problem(TABLE, "p.csv")
    plan = solve(problem, deterministic=True, time_limit_s=5)
    options = SolveOptions(deterministic=True, time_limit_s=5)
    bundle = from_json(write_bundle(SourceFile(TABLE, "p.csv"), problem, options, plan))
    found = server.client.post("/v1/replay", json={"bundle": bundle, "options": {"with_plan": True}}).json()
    assert (found["same"], found["is_valid"], found["reproducible"], found["environment"]) == ("bytes", True, True, {})
    assert not verify(problem, Plan.model_validate(found["plan"]))


def test_the_example_is_a_bundle(server: Running) -> None:
    found = server.client.post("/v1/replay", json=ASKED).json()
    assert (found["same"], found["peak_before"], found["peak"]) == ("peak", 64, 64)


def test_a_bundle_that_contradicts_itself_is_refused(server: Running) -> None:
    bundle = {**ASKED["bundle"], "problem": {**ASKED["bundle"]["problem"], "content": "{}"}}
    refused = server.client.post("/v1/replay", json={"bundle": bundle})
    assert refused.status_code == 400
    assert "problem.sha256: must be that of the content" in refused.json()["detail"]
    assert Problem.model_validate(from_json(ASKED["bundle"]["problem"]["content"]))
