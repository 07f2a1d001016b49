"""The Coq-verified certificate checker, built from its extracted OCaml code."""

import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

VERIFIED = Path(__file__).resolve().parents[2] / "proofs"


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory()


@cache
def program() -> str | None:
    """Build the checker once per process, and return its path, or None if OCaml or zarith is not installed."""
    find = shutil.which("ocamlfind")
    if find is None or subprocess.run([find, "query", "zarith"], capture_output=True, check=False).returncode:
        return None
    folder = Path(_folder().name)
    for file in (*VERIFIED.glob("*.ml"), VERIFIED / "Makefile"):
        shutil.copy(file, folder)
    subprocess.run(["make", "check"], cwd=folder, check=True, capture_output=True)
    return str(folder / "check")
