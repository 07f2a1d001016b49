"""The checker that is proved in Coq: that the proof holds, and that it says the same as the two others."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from memplan import solve
from memplan.planner.formats import FORMATS
from memplan.planner.model.problem import Problem
from memplan.solvers.certificates.certify import certify
from tests.support.certificate_mutants import mutant
from tests.support.checkers import CHECKER
from tests.support.proved_checker import VERIFIED, built
from tests.support.random_problems import random_problem
from tests.support.tied_problems import tied_problem
from tests.support.tight_problems import FEATURES, tight_problem

Check = Callable[[str, list[str]], int]


@pytest.fixture(scope="module")
def in_proved(tmp_path_factory: pytest.TempPathFactory) -> Check:
    folder = tmp_path_factory.mktemp("proved")
    program = built()

    def status(text: str, lines: list[str]) -> int:
        problem, proof = folder / "problem", folder / "proof"
        problem.write_text(text)
        proof.write_text("\n".join(lines) + "\n")
        return subprocess.run([program, problem, proof], capture_output=True, check=False).returncode

    return status


def in_python(text: str, lines: list[str]) -> int:
    try:
        CHECKER.check(text, lines)
    except CHECKER.Refused:
        return 3
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError):
        return 2
    return 0


def problems() -> list[Problem]:
    several = (frozenset({"pools", name}) for name in ("reserved", "alignment", "holes", "conflicts"))
    return [
        *(tight_problem(seed, feature, capacity) for feature in FEATURES for seed, capacity in ((1, None), (4, 6))),
        *(random_problem(7, 5, features) for features in several),
        *(random_problem(seed, 5, frozenset({"pools", "cost", "reserved"})) for seed in range(3)),
        *(tied_problem(seed, 5).model_copy(update={"objective": "peak"}) for seed in range(5)),
    ]


@pytest.mark.slow
def test_the_proved_checker_says_the_same_of_certificates_and_mutants(in_proved: Check) -> None:
    rng, tally = random.Random(5), Counter[int]()
    for problem in problems():
        certificate = certify(problem, solve(problem))
        if certificate.kind == "none":
            continue
        text, lines = FORMATS["json"].write_problem(problem).decode(), certificate.text.splitlines()
        for proof in [lines, *(mutant(lines, rng) for _ in range(3))]:
            found = in_proved(text, proof)
            assert (found == 0) == (in_python(text, proof) == 0), (text, proof)
            tally[found] += 1
    assert min(tally[0], tally[2], tally[3]) > 0


TABLE = "id,lower,upper,size\na,0,1,9\nb,0,1,9\n"
LINES = ["memplan-lemmas/1", "sizes 17", "infeasible", "claim 17", "set time 0", "end @0"]


A = '"id":1,"size":9,"start":0,"end":1'


def json_of(*rows: str) -> str:
    return f'{{"buffers":[{",".join(f"{{{row}}}" for row in rows)}],"pools":[{{"size":17}}]}}'


@pytest.mark.parametrize(
    ("text", "is_read"),
    [
        (TABLE, True),
        (TABLE.replace("upper", "end"), True),
        (TABLE.replace("\n", "\r\n"), True),
        (TABLE + "\n", True),
        (TABLE.replace("b,0", "a,0"), False),
        (TABLE.replace("9", "+9"), False),
        (TABLE.replace("lower", "upper"), False),
        (json_of(A, A.replace("1", '"1"', 1)), True),
        (json_of(A, A.replace(":1,", ":2,", 1)).replace("17", "1.7e1"), False),
        (json_of(A.replace('"start"', '"size":9,"start"')), False),
        (json_of(A, '"id":2,"size":9,"alias\\u005fof":1'), False),
        (json_of('"id":1,"size":9,"alias_of":2', '"id":2,"size":9,"alias_of":1'), False),
        (json_of(A + ',"alignment":0'), False),
    ],
)
def test_it_reads_what_the_others_read(in_proved: Check, text: str, is_read: bool) -> None:
    assert in_proved(text, LINES) in ((0,) if is_read else (2, 3))
    assert (in_python(text, LINES) == 0) == is_read


def test_nothing_is_taken_for_granted_in_the_proof() -> None:
    texts = {path.name: path.read_text() for path in VERIFIED.glob("*.v")}
    assert not [name for name, text in texts.items() if re.search(r"\b(Admitted|admit|Axioms?|Parameters?)\b", text)]
    assert sum(text.count("\n") for text in texts.values()) <= 2500


@pytest.mark.slow
def test_the_proof_holds_and_the_program_is_what_was_extracted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if shutil.which("coqc") is None:
        pytest.skip("there is no Coq: what is proved in checkers/verified is not proved again")
    for path in [*VERIFIED.glob("*.v"), VERIFIED / "Makefile"]:
        shutil.copy(path, tmp_path)
    said = subprocess.run(["make", "proof"], cwd=tmp_path, capture_output=True, text=True, check=False)
    with capsys.disabled():
        print(f"\nPrint Assumptions check_sound: {said.stdout.splitlines()[-1:]}")
    assert said.returncode == 0, said.stderr
    assert said.stdout.count("Closed under the global context") == 1
    assert (tmp_path / "proved.ml").read_text() == (VERIFIED / "proved.ml").read_text()
