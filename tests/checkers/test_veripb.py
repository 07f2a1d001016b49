import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memplan import Problem, solve
from memplan.api.cli.main import main
from memplan.checkers import check, opb, veripb
from memplan.planner.formats.memplan_json import write_problem
from memplan.solvers.certificates.certify import certify
from tests.checkers.pseudo_boolean import WrongProofError, holds, prove
from tests.support import public_problems
from tests.support.tight_problems import mixed_alignments

CHECKER: Any = check
VERIPB: Any = veripb
OPB: Any = opb
"""The checker module opb, typed as Any because the checkers have no type annotations."""
LEMMAS = ((6, 14), (7, 6), (7, 11), (8, 0), (8, 20), (9, 11), (9, 20), (10, 0), (10, 9), (10, 11))
"""Pairs (number of buffers, seed) of drawn mixed-alignment problems whose proofs need lemmas."""
HARD = Problem(
    buffers=[
        {"id": "a", "start": 0, "end": 2, "size": 3},
        {"id": "b", "start": 1, "end": 4, "size": 2, "alignment": 4},
        {"id": "c", "start": 3, "end": 6, "size": 3, "alignment": 2},
        {"id": "d", "start": 0, "end": 1, "size": 5},
        {"id": "e", "start": 5, "end": 7, "size": 2, "alignment": 4},
    ]
)


def text_of(problem: Problem) -> str:
    return write_problem(problem).decode()


def proof_of(problem: Problem) -> tuple[str, str, int]:
    certificate = certify(problem, solve(problem))
    assert certificate.reason is None
    return (*VERIPB.translate(text_of(problem), certificate.text), certificate.lemmas)


def is_proved(formula: str, proof: str) -> bool:
    try:
        prove(formula, proof)
    except WrongProofError:
        return False
    return True


@pytest.mark.parametrize(("n", "seed"), LEMMAS)
def test_translated_proofs_with_lemmas_refute_formulas_of_mixed_alignments(n: int, seed: int) -> None:
    formula, proof, lemmas = proof_of(mixed_alignments(seed, n))
    assert lemmas > 0
    prove(formula, proof)


def test_a_translated_proof_refutes_a_problem_with_holes_conflicts_and_a_base_address() -> None:
    pool = {"name": "only", "size": 17, "base_address": 3, "alignment": 2}
    rows: list[dict[str, Any]] = [
        {"id": 0, "size": 5, "lifetimes": [[0, 1], [4, 6]], "alignment": 4},
        {"id": 1, "size": 6, "start": 0, "end": 3},
        {"id": 2, "size": 6, "start": 2, "end": 5, "offset_mod": {"modulus": 4, "remainder": 1}},
        {"id": 3, "size": 3},
    ]
    problem = Problem(buffers=rows, pools=[pool], conflicts=[[3, 0], [3, 1], [3, 2]])
    plan = solve(problem)
    while plan.status != "infeasible":
        pool["size"] = int(str(pool["size"])) - 1
        problem = Problem(buffers=rows, pools=[pool], conflicts=[[3, 0], [3, 1], [3, 2]])
        plan = solve(problem)
    prove(*VERIPB.translate(text_of(problem), certify(problem, plan).text))


def test_plan_satisfies_the_formula_of_a_sufficient_capacity_which_has_no_proof() -> None:
    for n, seed in LEMMAS[:6]:
        problem = mixed_alignments(seed, n)
        plan, (_, proof, _) = solve(problem), proof_of(problem)
        assert plan.peak is not None
        formula = OPB.Formula(CHECKER.Problem(text_of(problem), [(None, None)]), plan.peak)
        at = {row.id: row.offset for row in plan.placements}
        size = [row.size for row in problem.buffers]
        true = {f"s{i}_{j}": at[i] + size[i] <= at[j] for i, j in formula.below}
        for i, (step, rest, _, bits) in formula.grid.items():
            true |= {f"b{i}_{k}": bool((at[i] - rest) // step >> k & 1) for k in range(bits)}
        assert holds(formula.text(), true)
        assert not is_proved(formula.text(), proof)


def test_a_translated_proof_does_not_refute_a_weaker_formula() -> None:
    formula, proof, _ = proof_of(HARD)
    prove(formula, proof)
    rows = formula.splitlines()
    pairs = [at for at, row in enumerate(rows) if re.fullmatch(r"\+1 s\d+_\d+ \+1 s\d+_\d+ >= 1 ;", row)]
    weaker = ["\n".join([*rows[:at], rows[at].replace(">= 1", ">= 0"), *rows[at + 1 :]]) for at in pairs]
    assert not all(is_proved(each, proof) for each in weaker)
    assert not is_proved(formula.replace(" >= 1 ;", " >= 0 ;"), proof)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"pools": [{"name": "x", "size": 30}, {"name": "y"}]}, "only certificates of one pool"),
        ({"pools": [{"name": "x", "reserved": [[0, 2]]}]}, "pins, reserved ranges and pages"),
        ({"buffers": [{"id": i, "start": 0, "end": 1, "size": 1} for i in range(41)]}, "41 buffers, and at most 40"),
        (
            {"buffers": [{"id": i, "start": 0, "end": 1, "size": 1} for i in range(13)]},
            "all orders of at most 12 buffers, got 13",
        ),
        ({"buffers": []}, "claims nothing"),
    ],
)
def test_translate_refuses_certificates_it_does_not_cover_with_reasons(changed: dict[str, Any], sentence: str) -> None:
    data = {"buffers": [{"id": i, "start": 0, "end": 2, "size": 3 + i} for i in range(3)]} | changed
    problem = Problem.model_validate(data)
    certificate = certify(problem, solve(problem))
    with pytest.raises(VERIPB.NotCoveredError, match=sentence):
        VERIPB.translate(text_of(problem), certificate.text)


def test_certify_writes_the_formula_and_the_proof_for_veripb(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    problem, several = tmp_path / "problem.json", tmp_path / "several.json"
    problem.write_bytes(write_problem(HARD))
    assert main(["certify", str(problem), "-o", str(tmp_path / "plan.opb")]) == 0
    prove((tmp_path / "plan.opb").read_text(), (tmp_path / "plan.pbp").read_text())
    several.write_text('{"buffers": [{"id": 1, "size": 2}], "pools": [{"name": "x", "size": 9}, {"name": "y"}]}')
    assert main(["certify", str(several), "-o", str(tmp_path / "none.opb")]) == 2
    assert "only certificates of one pool" in capfd.readouterr().err
    assert not (tmp_path / "none.opb").exists()


def test_veripb_script_writes_the_same_files_without_importing_memplan(tmp_path: Path) -> None:
    problem, certificate = tmp_path / "problem.json", tmp_path / "plan.proof"
    problem.write_bytes(write_problem(HARD))
    certificate.write_text(certify(HARD, solve(HARD)).text)
    made = [tmp_path / f"plan{suffix}" for suffix in (".opb", ".pbp")]
    command = [sys.executable, "-I", str(Path(VERIPB.__file__)), str(problem), str(certificate), *map(str, made)]
    assert subprocess.run(command, cwd=tmp_path, check=False).returncode == 0
    formula, proof = (file.read_text() for file in made)
    assert (formula, proof) == VERIPB.translate(problem.read_text(), certificate.read_text())
    certificate.write_text(certificate.read_text().replace("memplan", "nothing", 1))
    assert subprocess.run(command, cwd=tmp_path, check=False, capture_output=True).returncode in (2, 3)


def test_formula_of_a_large_problem_contains_only_the_buffers_of_its_core(tmp_path: Path) -> None:
    model = str(public_problems.FOLDER / "executorch" / "mobilenet_v2.csv")
    assert main(["certify", model, "-o", str(tmp_path / "plan.opb")]) == 0
    formula, proof = ((tmp_path / f"plan{suffix}").read_text() for suffix in (".opb", ".pbp"))
    prove(formula, proof)
    assert len({name.split("_")[0] for name in re.findall(r"b\d+_\d+", formula)}) < 40
