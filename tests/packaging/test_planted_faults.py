"""Each check of packaging, documents and deployment fails for a planted fault: no check passes whatever it reads."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from memplan.solvers.core.build import HERE

ROOT = Path(__file__).parents[2]


@pytest.mark.deep
def test_every_check_fails_for_its_planted_fault(tmp_path: Path) -> None:
    """Plant all faults of the table: the file and start of the name of a test, a file, its text, and what replaces it.

    They are planted at once in a clone of the last commit, as no two are in one line.
    """
    clone, built = tmp_path / "clone", HERE / "built"
    subprocess.run(["git", "clone", "--quiet", "--shared", str(ROOT), str(clone)], check=True)
    shutil.copytree(built, clone / built.relative_to(ROOT), dirs_exist_ok=True)
    rows = (Path(__file__).parent / "planted_faults.txt").read_text("utf-8").splitlines()
    checks = []
    for check, place, *lines in (row.split(" | ") for row in rows):
        text, fault = (line.replace("\\n", "\n") for line in lines)
        before = (clone / place).read_text("utf-8")
        assert text in before, check
        (clone / place).write_text(before.replace(text, fault, 1), encoding="utf-8")
        checks.append(f"FAILED tests/packaging/test_{check}")
    names = " or ".join(check.partition("::")[2] for check in checks)
    files = sorted({check.removeprefix("FAILED ").partition("::")[0] for check in checks})
    command = [sys.executable, "-m", "pytest", "-rf", "-p", "no:cacheprovider", *files, "-k", names]
    done = subprocess.run(command, cwd=clone, env=os.environ | {"PYTHONPATH": "."}, capture_output=True, text=True)
    assert [check for check in checks if check not in done.stdout] == [], done.stdout[-3000:]
