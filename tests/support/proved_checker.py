"""The checker that is proved in Coq, built of what was extracted."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

VERIFIED = Path(__file__).parents[2] / "checkers" / "verified"


def built(folder: Path) -> str:
    """Build the checker in a folder, or skip the test where there is no OCaml with zarith."""
    find = shutil.which("ocamlfind")
    if find is None or subprocess.run([find, "query", "zarith"], capture_output=True, check=False).returncode:
        pytest.skip("there is no OCaml with zarith to build the proved checker")
    for name in ("proved.ml", "check.ml", "Makefile"):
        shutil.copy(VERIFIED / name, folder)
    subprocess.run(["make", "check"], cwd=folder, check=True, capture_output=True)
    return str(folder / "check")
