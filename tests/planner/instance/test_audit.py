"""`verify` detects false claims: the fields of valid plans are forged one at a time."""

import json
from pathlib import Path
from typing import Any

import pytest

from memplan.api.cli.main import main
from memplan.planner.instance.audit import verify
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.solve import solve
from tests.support.tiny import CONSTRAINED, FEATURES
from tests.support.values import buffer_rows

BUFFERS = buffer_rows(a=(6, 0, 2), b=(4, 1, 3), late=(5, 3, 4), twin=(3, 2, 3))
PAIRS = {"may_share": [["b", "twin"]], "bank": [{"buffers": ["a", "b"], "weight": 1}]}
ONE_POOL = {"pools": [{"name": "p", "size": 64, "bank_size": 64, "cost": 2}]}
ONE = Problem.model_validate({"buffers": [*BUFFERS[:3], BUFFERS[3] | {"size": 7}]} | ONE_POOL | PAIRS)
TWO = Problem.model_validate({"buffers": BUFFERS, "pools": [{"name": "p", "size": 6}, {"name": "q"}]})
SMALL = Problem.model_validate({"buffers": BUFFERS, "pools": [{"name": "p", "size": 9}]})
ALIGNED = Problem.model_validate({"buffers": [row | {"alignment": 8} for row in BUFFERS]})
ROWS = [*({"id": name, "size": 4} for name in "abc"), {"id": "d", "size": 4, "start": 0, "end": 1}]
CLIQUE = Problem.model_validate({"buffers": ROWS, "conflicts": [["a", "b"], ["b", "c"], ["a", "c"]]})
PINNED = Problem.model_validate({"buffers": [BUFFERS[0] | {"offset": 9}, BUFFERS[1]]})
LARGE = Problem.model_validate({"buffers": [BUFFERS[0] | {"offset_mod": {"modulus": 32, "remainder": 8}}, BUFFERS[2]]})


def forged_findings(problem: Problem, change: dict[str, Any]) -> list[str]:
    """Solve a problem, set the plan's values at paths such as `pools.0.used`, and return `verify`'s messages."""
    data = json.loads(solve(problem, time_limit_s=2, profile="size").model_dump_json())
    assert verify(problem, Plan.model_validate(data)) == ()
    for path, value in change.items():
        *steps, last = [int(step) if step.isdigit() else step for step in path.split(".")]
        target: Any = data
        for step in steps:
            target = target[step]
        assert target[last] != value
        target[last] = value
    return [violation.message for violation in verify(problem, Plan.model_validate(data))]


MAY_SHARE = 'proof.buffers: must be buffers that may not share bytes, got ["b", "twin"]'
NO_CLIQUE = 'proof.buffers: must be buffers that conflict pairwise, got ["a", "late"]'
FITTING = 'explanation.buffers: must be buffers that do not fit the pool, got ["a"]'


@pytest.mark.parametrize(
    ("problem", "change", "sentence"),
    [
        (ONE, {"lower_bound": 9}, "lower_bound: must be the peak (10) if the status is optimal, got 9"),
        (ONE, {"cost": 1.0}, "cost: must be 45.0, the sum of traffic x cost and of prices of pairs, got 1.0"),
        (ONE, {"problem_hash": "sha256:00"}, "problem_hash: must be sha256:"),
        (ONE, {"proof.time": 3}, 'proof.buffers: must be buffers that are alive at 3, got ["a", "b"]'),
        (ONE, {"proof.time": None}, "proof.time: must be the time step of the live set, got null"),
        (ONE, {"proof.buffers": ["a"]}, "lower_bound: must be at most 6, which the proof gives, got 10"),
        (ONE, {"proof.buffers": []}, "lower_bound: must be at most 0, which the proof gives, got 10"),
        (ONE, {"proof.buffers": ["a", "x"]}, 'proof.buffers: must be buffers of the problem, got ["x"]'),
        (ONE, {"proof.buffers": ["a", "late"]}, 'proof.buffers: must be buffers that are alive at 1, got ["late"]'),
        (ONE, {"proof.buffers": ["b", "twin"], "proof.time": 2}, MAY_SHARE),
        (ONE, {"proof.kind": "empty", "proof.buffers": []}, "lower_bound: must be at most 0, which the proof gives"),
        (ONE, {"proof.kind": "empty"}, 'proof.buffers: must be none, got ["a", "b"]'),
        (ONE, {"proof.kind": "capacity"}, 'proof.kind: must be the kind of a lower bound, got "capacity"'),
        (ONE, {"proof.kind": "pinned"}, 'proof.buffers: must be one buffer, got ["a", "b"]'),
        (ONE, {"proof.kind": "pinned", "proof.buffers": ["a"]}, 'proof.buffers: must be a pinned buffer, got ["a"]'),
        (ONE, {"proof.kind": "clique", "proof.buffers": ["a", "late"]}, NO_CLIQUE),
        (ALIGNED, {"proof.kind": "live-set"}, "lower_bound: must be at most 10, which the proof gives, got 12"),
        (CLIQUE, {"proof.buffers": ["a", "b"]}, "lower_bound: must be at most 8, which the proof gives, got 12"),
        (PINNED, {"proof.kind": "largest-buffer"}, "lower_bound: must be at most 6, which the proof gives, got 15"),
        (LARGE, {"proof.buffers": ["late"]}, "lower_bound: must be at most 5, which the proof gives, got 14"),
        (TWO, {"proof.buffers": ["late"]}, "proof.buffers: must be buffers that are alive at "),
        (SMALL, {"proof": {"kind": "search"}}, "proof: must be null if nothing is placed"),
        (SMALL, {"pools.0.size": 8}, "pools[0].size: must be 9 as in the problem, got 8"),
        (SMALL, {"explanation.pool": "q"}, 'explanation.pool: must be a pool of the problem, got "q"'),
        (SMALL, {"explanation.time": 3}, 'explanation.buffers: must be buffers that are alive at 3, got ["a", "b"]'),
        (SMALL, {"explanation.buffers": ["x"]}, 'explanation.buffers: must be buffers of the problem, got ["x"]'),
        (SMALL, {"explanation.buffers": ["a"]}, FITTING),
    ],
)
def test_verify_names_each_forged_field_of_a_plan(problem: Problem, change: dict[str, Any], sentence: str) -> None:
    assert any(message.startswith(sentence) for message in forged_findings(problem, change))


@pytest.mark.parametrize("kind", ["search", "engines"])
def test_verify_checks_only_the_bound_of_a_proof_by_search(kind: str) -> None:
    assert forged_findings(ONE, {"proof.kind": kind, "proof.buffers": []}) == []
    assert forged_findings(ONE, {"proof.kind": kind, "lower_bound": 11}) != []


@pytest.mark.parametrize("name", [*FEATURES, *CONSTRAINED])
def test_verify_accepts_every_plan_that_solve_returns(name: str) -> None:
    problem = (FEATURES | CONSTRAINED)[name]
    assert verify(problem, solve(problem, time_limit_s=0.3)) == ()


def test_the_verify_command_names_a_forged_claim(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    plan = solve(ONE).model_copy(update={"problem_hash": "sha256:00"})
    (tmp_path / "problem.json").write_text(ONE.model_dump_json(exclude_defaults=True))
    (tmp_path / "plan.json").write_text(plan.model_dump_json())
    assert main(["verify", str(tmp_path / "problem.json"), str(tmp_path / "plan.json")]) == 3
    assert "memplan: false-claim: problem_hash: must be sha256:" in capfd.readouterr().err
