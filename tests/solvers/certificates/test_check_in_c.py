from __future__ import annotations

import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from memplan import certify, solve
from memplan.planner.formats import FORMATS
from tests.support.tight_problems import full_load, tight_problem

CHECKERS = Path(__file__).parents[3] / "checkers"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    found = tmp_path_factory.mktemp("checker") / "check"
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1"]
    subprocess.run([compiler, *strict, "-o", str(found), str(CHECKERS / "check.c")], check=True)
    return str(found)


def status(command: list[str], *files: Path) -> int:
    return subprocess.run([*command, *map(str, files)], capture_output=True, check=False).returncode


def test_both_checkers_say_the_same(program: str, tmp_path: Path) -> None:
    rng = random.Random(5)
    table, proof = tmp_path / "problem.csv", tmp_path / "plan.lemmas"
    found = []
    for problem in [full_load(3001, 30), *(tight_problem(seed, "alignment") for seed in range(3))]:
        problem = problem.model_copy(update={"pools": (type(problem.pools[0])(),)})
        table.write_bytes(FORMATS["csv"].write_problem(problem))
        lines = certify(problem, solve(problem)).text.splitlines()
        for k in range(6):
            changed = list(lines)
            if k > 0:
                at = rng.randrange(4, len(lines))
                digits = [j for j, letter in enumerate(lines[at]) if letter.isdecimal()]
                j = rng.choice(digits)
                changed[at] = lines[at][:j] + str(rng.randrange(10)) + lines[at][j + 1 :]
            proof.write_text("\n".join(changed) + "\n")
            in_python = status([sys.executable, str(CHECKERS / "check.py")], table, proof)
            assert (status([program], table, proof) == 0) == (in_python == 0)
            found.append(in_python)
            assert k > 0 or in_python == 0
    assert 0 < found.count(0) < len(found)
    assert status([program], table, tmp_path / "none") == 2


def test_checkers_have_at_most_200_lines() -> None:
    assert max(len((CHECKERS / name).read_text().splitlines()) for name in ("check.py", "check.c")) <= 200
