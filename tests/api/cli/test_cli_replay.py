"""`memplan plan --bundle` and `memplan replay`: what they write, and their exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memplan.api.cli.main import main

Captured = pytest.CaptureFixture[str]
TABLE = "id,lower,upper,size\na,0,2,4\nb,1,3,4\nc,2,4,6\n"


@pytest.fixture
def bundle(tmp_path: Path, capfd: Captured) -> Path:
    (tmp_path / "p.csv").write_text(TABLE)
    target = tmp_path / "b.json"
    arguments = ["plan", str(tmp_path / "p.csv"), "--capacity", "16", "--deterministic", "--bundle", str(target)]
    assert main(arguments) == 0
    capfd.readouterr()
    return target


def test_a_bundle_is_replayed_to_the_byte(bundle: Path, capfd: Captured) -> None:
    assert str(bundle.parent) not in bundle.read_text()
    assert main(["replay", str(bundle), "-o", str(bundle.parent / "again.json")]) == 0
    told = capfd.readouterr()
    assert json.loads(told.out)["same"] == "bytes"
    assert told.err == "memplan: the same bytes\n"
    assert json.loads((bundle.parent / "again.json").read_text()) == json.loads(bundle.read_text())["answer"]


def test_a_search_that_was_not_deterministic_is_replayed_all_the_same(bundle: Path, capfd: Captured) -> None:
    arguments = ["plan", str(bundle.parent / "p.csv"), "--bundle", str(bundle), "-o", str(bundle.parent / "o.json")]
    assert main(arguments) == 0
    assert main(["replay", str(bundle)]) == 0
    assert "not said to be reproducible (the search was not deterministic)" in capfd.readouterr().err


def test_exit_statuses_tell_what_is_the_same(bundle: Path, capfd: Captured) -> None:
    import hashlib

    from memplan.planner.formats import memplan_json, read_problem
    from memplan.planner.model.plan import Plan

    whole = json.loads(bundle.read_text())
    problem = read_problem(TABLE.encode(), "p.csv")
    for part, status in (({"solver": "x"}, 4), ({"peak": 11}, 5)):
        answer = Plan.model_validate(whole["answer"] | part)
        digest = hashlib.sha256(memplan_json.write_plan(answer, problem)).hexdigest()
        bundle.write_text(json.dumps(whole | {"answer": whole["answer"] | part, "answer_sha256": digest}))
        assert main(["replay", str(bundle)]) == status
    assert "peak 11 (optimal) then, 10 (optimal) now" in capfd.readouterr().err


def test_what_makes_plans_in_other_ways_has_no_bundle(bundle: Path, capfd: Captured) -> None:
    table = str(bundle.parent / "p.csv")
    assert main(["plan", table, "--server", "http://127.0.0.1:1", "--bundle", str(bundle)]) == 2
    assert "bundle: must not be given with server" in capfd.readouterr().err
    assert main(["replay", table]) == 2


def test_that_nothing_fits_is_replayed_with_its_reason(bundle: Path, capfd: Captured) -> None:
    table = str(bundle.parent / "p.csv")
    assert main(["plan", table, "--capacity", "8", "--deterministic", "--bundle", str(bundle), "-q"]) == 1
    assert json.loads(bundle.read_text())["answer"]["explanation"]["irreducible"]
    assert main(["replay", str(bundle), "-q"]) == 0
