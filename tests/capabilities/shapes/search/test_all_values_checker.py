"""Proofs for all values, checked by `checkers/all_values.py`, which shares no code with what made them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from lab.symbolic_certificates import faults, said_of
from memplan.capabilities.shapes.shapes import ShapesOptions, lines, shapes
from memplan.checkers import all_values
from memplan.planner.symbols.problem import SymbolicProblem

ROOT = Path(__file__).parents[4]
CHECKER = ROOT / "checkers" / "all_values.py"


def answered(problem: dict[str, Any], **options: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        shapes(SymbolicProblem.model_validate(problem), options=ShapesOptions(**options)).model_dump_json()
    )
    return found


def problem_of(*sizes: str, **changes: Any) -> dict[str, Any]:
    lives = [(0, 3), (2, 4), (1, 5), (3, 6), (4, 7)]
    rows = [
        {"id": f"b{i}", "size": size, "start": start, "end": end}
        for i, (size, (start, end)) in enumerate(zip(sizes, lives, strict=False))
    ]
    return {
        "symbols": {"b": {"min": 1, "max": 9}, "n": {"min": 2, "max": 90}},
        "alignment": 16,
        "buffers": rows,
    } | changes


def test_drawn_answers_are_proved_and_no_false_mutant_is() -> None:
    counts: Counter[str] = Counter()
    assert [line for seed in range(8) for line in faults(seed, counts, mutants=4)] == []
    assert counts["answers proved"] >= 6
    assert counts["mutants refused"] > 10


@pytest.mark.parametrize("calls", [0, 1, 20])
def test_once_time_is_over_nothing_more_is_decided(calls: int) -> None:
    problem, left = problem_of("b*n", "max(n, 3*b)", "b*b", "n//2", "n"), iter(range(calls))
    answer = answered(problem)
    with pytest.raises(all_values.Undecided, match="time is over"):
        all_values.check(answer, problem, lambda: next(left, None) is None)  # type: ignore[no-untyped-call]  # a script without types


@pytest.mark.parametrize("name", ["bert_4l", "wav2vec2"])
def test_networks_are_proved_by_the_program_alone(name: str, tmp_path: Path) -> None:
    path = ROOT / "examples" / "symbolic" / f"{name}.json"
    answer, said = tmp_path / "answer.json", []
    answer.write_text(json.dumps(answered(json.loads(path.read_text()))))
    for arguments in ([answer, path], [answer], [path], [answer, ROOT / "examples" / "symbolic" / "llama_4l.json"]):
        done = subprocess.run([sys.executable, "-I", CHECKER, *arguments], capture_output=True, text=True, check=False)
        said.append((done.returncode, done.stdout.partition(":")[0]))
    assert said == [(0, "proved"), (0, "proved"), (2, "wrong input"), (3, "refused")]


def test_a_claim_that_fails_at_one_value_is_refused_with_it() -> None:
    problem = problem_of("64*n", "16*b*n", "4096", "16*n", "48*b")
    answer = answered(problem)
    assert said_of(answer, problem) == "proved"
    for change in (
        {"bound": ["64"]},
        {"alignment": 32},
        {"status": "feasible"},
        {"sizes": [*answer["sizes"][:-1], "48*b + 16"]},
        {"sizes": [*answer["sizes"][:-1], "-48*b"]},
        {"lifetimes": [[0, 9], *answer["lifetimes"][1:]]},
        {"symbols": answer["symbols"] | {"n": {"min": 2, "max": 91}}},
    ):
        assert said_of(answer | change, problem) == "refused", change


def test_symbols_without_a_bound_are_proved_by_powers() -> None:
    problem = problem_of("64*n", "16*b*n", "ceil_div(n, 3)*16", symbols={"b": {}, "n": {"min": 3, "multiple_of": 3}})
    assert said_of(answered(problem), problem) == "proved"


@pytest.mark.slow
def test_an_answer_that_the_checker_does_not_decide_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    content = json.loads((ROOT / "examples" / "symbolic" / "moe_2l.json").read_text())
    assert answered(content, time_limit_s=30)["unchecked"] is None
    monkeypatch.setattr(all_values.boxes, "MOST_BOXES", 0)
    found = shapes(SymbolicProblem.model_validate(content), options=ShapesOptions(time_limit_s=30))
    assert found.unchecked == "the proof for all values: checkers/all_values.py ended undecided, 1 boxes"
    assert f"not checked: {found.unchecked}" in list(lines(found))
