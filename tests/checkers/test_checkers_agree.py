"""Tests that the Python checker and the Coq-verified checker agree, and that Coq accepts the latter's proof."""

import random
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from memplan import solve
from memplan.planner.formats import FORMATS
from memplan.planner.model.problem import Problem
from memplan.solvers.certificates.certify import certify
from tests.checkers.certificate_mutants import mutant
from tests.checkers.checkers import CHECKERS, answers
from tests.checkers.proved_checker import VERIFIED
from tests.support.random_problems import random_problem
from tests.support.tied_problems import tied_problem
from tests.support.tight_problems import FEATURES, full_load, tight_problem


def common_verdict(folder: Path, text: str, lines: list[str]) -> int:
    """Check that all checkers agree on a certificate, and return their common exit status."""
    problem, proof = folder / "problem", folder / "plan.proof"
    problem.write_text(text)
    proof.write_text("\n".join(lines) + "\n")
    return answers([problem, proof])[0]


def problems() -> list[Problem]:
    several = (frozenset({"pools", name}) for name in ("reserved", "alignment", "holes", "conflicts"))
    return [
        *(tight_problem(seed, feature, capacity) for feature in FEATURES for seed, capacity in ((1, None), (4, 6))),
        *(random_problem(7, 5, features) for features in several),
        *(random_problem(seed, 5, frozenset({"pools", "cost", "reserved"})) for seed in range(3)),
        *(tied_problem(seed, 5).model_copy(update={"objective": "peak"}) for seed in range(5)),
        full_load(3001, 30),
    ]


@pytest.mark.slow
def test_all_checkers_agree_on_certificates_and_on_certificates_with_a_changed_word(tmp_path: Path) -> None:
    rng, tally = random.Random(5), Counter[int]()
    for problem in problems():
        certificate = certify(problem, solve(problem))
        if certificate.kind == "none":
            continue
        text, lines = FORMATS["json"].write_problem(problem).decode(), certificate.text.splitlines()
        assert common_verdict(tmp_path, text, lines) == 0
        tally.update(common_verdict(tmp_path, text, mutant(lines, rng)) for _ in range(20))
    assert min(tally[2], tally[3]) > 0


def test_each_file_of_the_python_checkers_has_at_most_250_lines() -> None:
    assert max(len(file.read_text().splitlines()) for file in CHECKERS.glob("*.py")) <= 250


def test_the_coq_proof_has_no_axioms_and_no_admitted_lemmas() -> None:
    texts = {path.name: path.read_text() for path in VERIFIED.glob("*.v")}
    assert not [name for name, text in texts.items() if re.search(r"\b(Admitted|admit|Axioms?|Parameters?)\b", text)]
    assert sum(text.count("\n") for text in texts.values()) <= 2500


@pytest.mark.slow
def test_coq_accepts_the_proof_and_gives_the_same_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if shutil.which("coqc") is None:
        pytest.skip("Coq must be installed to check the proofs in proofs")
    for path in [*VERIFIED.glob("*.v"), VERIFIED / "Makefile"]:
        shutil.copy(path, tmp_path)
    said = subprocess.run(["make", "proof"], cwd=tmp_path, capture_output=True, text=True, check=False)
    with capsys.disabled():
        print(f"\nPrint Assumptions check_sound: {said.stdout.splitlines()[-1:]}")
    assert said.returncode == 0, said.stderr
    assert said.stdout.count("Closed under the global context") == 1
    assert (tmp_path / "proved.ml").read_text() == (VERIFIED / "proved.ml").read_text()
