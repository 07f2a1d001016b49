"""`memplan schema`: the wire format and a corpus of it, without a server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import memplan
from memplan.api.cli.main import main
from memplan.capabilities.registry import CAPABILITIES
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem


def test_the_schema_describes_problems_plans_operations_and_graphs(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert found["version"] == memplan.__version__
    assert {"Problem", "Plan", "Operations", "OperationGraph"} <= found["$defs"].keys()
    assert found["$defs"]["Problem"]["required"] == ["buffers"]


@pytest.mark.slow
def test_the_corpus_has_a_body_and_its_answer_of_each_capability(tmp_path: Path) -> None:
    assert main(["schema", "-o", str(tmp_path / "schema.json"), "--corpus", str(tmp_path / "corpus")]) == 0
    cases = {path.stem: json.loads(path.read_text()) for path in (tmp_path / "corpus").iterdir()}
    assert cases.keys() == CAPABILITIES.keys()
    planned = cases["plan"]
    problem, plan = Problem.model_validate(planned["body"]["problem"]), Plan.model_validate(planned["answer"])
    assert memplan.verify(problem, plan).valid
    assert cases["verify"]["answer"]["valid"] is True
