from __future__ import annotations

import random
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from memplan import solve
from memplan.checkers import check as untyped
from memplan.planner.formats import FORMATS
from memplan.planner.model.problem import Problem
from memplan.solvers.certificates.certify import certify
from tests.support.certificate_mutants import mutant
from tests.support.checkers import CHECKERS
from tests.support.random_problems import random_problem
from tests.support.tied_problems import tied_problem
from tests.support.tight_problems import full_load, tight_problem

CHECKER: Any = untyped
WRONG_INPUT = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError)


def in_python(text: str, lines: list[str]) -> int:
    try:
        CHECKER.check(text, lines)
    except CHECKER.Refused:
        return 3
    except WRONG_INPUT:
        return 2
    return 0


def status(program: str, *files: Path) -> int:
    return subprocess.run([program, *map(str, files)], capture_output=True, check=False).returncode


def agreed(program: str, folder: Path, text: str, lines: list[str]) -> int:
    """Return the status of both checkers, which must be the same but for the kind of what is wrong."""
    problem, proof = folder / "problem", folder / "plan.proof"
    problem.write_text(text)
    proof.write_text("\n".join(lines) + "\n")
    expected, found = in_python(text, lines), status(program, problem, proof)
    assert found in (0, 2, 3)
    assert (found == 0) == (expected == 0), lines
    return found


def problems() -> list[Problem]:
    features = ("alignment", "reserved", "pins", "holes", "conflicts", "everything")
    several = (frozenset({"pools", name}) for name in ("reserved", "alignment", "holes"))
    return [
        *(tight_problem(1, feature) for feature in features),
        *(tight_problem(4, feature, 6) for feature in features),
        *(random_problem(7, 5, features) for features in several),
        *(random_problem(seed, 5, frozenset({"pools", "cost", "reserved"})) for seed in range(3)),
        *(tied_problem(seed, 5).model_copy(update={"objective": "peak"}) for seed in range(5)),
        full_load(3001, 30),
    ]


@pytest.mark.slow
def test_both_checkers_say_the_same_of_certificates_and_of_their_mutants(program: str, tmp_path: Path) -> None:
    rng, tally = random.Random(5), Counter[int]()
    for problem in problems():
        certificate = certify(problem, solve(problem))
        if certificate.kind == "none":
            continue
        text, lines = FORMATS["json"].write_problem(problem).decode(), certificate.text.splitlines()
        assert agreed(program, tmp_path, text, lines) == 0
        tally.update(agreed(program, tmp_path, text, mutant(lines, rng)) for _ in range(3))
    assert min(tally[0], tally[2], tally[3]) > 0


def test_the_checker_in_c_reads_csv(program: str, tmp_path: Path) -> None:
    problem = tight_problem(2, "alignment").model_copy(update={"pools": (type(full_load(1, 5).pools[0])(),)})
    lines = certify(problem, solve(problem)).text.splitlines()
    assert agreed(program, tmp_path, FORMATS["csv"].write_problem(problem).decode(), lines) == 0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        '{"buffers": [',
        '{"buffers": 1}',
        '{"buffers": [{"size": 1}]}',
        '{"buffers": [{"id": 1, "size": -1}]}',
        '{"buffers": [{"id": 1, "size": 1, "alias_of": 1}]}',
        '{"buffers": [{"id": "a',
        "id,size\n1,x",
        "[" * 200,
    ],
)
def test_what_is_no_problem_is_wrong_input(program: str, tmp_path: Path, text: str) -> None:
    problem, proof = tmp_path / "problem", tmp_path / "plan.proof"
    problem.write_text(text)
    proof.write_text("memplan-lemmas/1\nsizes -\nused 1\nclaim 0\nset time 0\nend @0\n")
    assert status(program, problem, proof) in (2, 3)
    assert status(program, problem, tmp_path / "none") == 2


def test_files_of_checkers_have_at_most_250_lines() -> None:
    files = [file for file in CHECKERS.iterdir() if file.suffix in (".py", ".c", ".h")]
    assert max(len(file.read_text().splitlines()) for file in files) <= 250
