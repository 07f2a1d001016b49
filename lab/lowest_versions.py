"""Install the lowest versions that `pyproject.toml` allows, and run tests with them.

`python -m lab.lowest_versions [--extra engines] [TESTS ...]` needs uv; the environment is in a temporary folder.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
_TESTS = (
    *("tests/api/http/test_heads.py", "tests/api/http/test_http.py", "tests/api/http/test_uvicorn.py"),
    *("tests/api/store", "tests/planner/model", "tests/solvers/mip", "tests/solvers/cp_sat"),
)
_TOOLS = ("pytest", "pytest-xdist", "hypothesis", "hatchling")


def main() -> None:
    """Make the environment, tell its versions, and run the tests; fail as they do."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--extra",
        action="append",
        help="an extra of the package; server, postgres, engines and jit, where none is named",
    )
    parser.add_argument("tests", nargs="*", default=_TESTS)
    asked = parser.parse_args()
    extras = ",".join(asked.extra or ["server", "postgres", "engines", "jit"])
    with tempfile.TemporaryDirectory(prefix="memplan-lowest-") as folder:
        python = Path(folder) / "bin" / "python"
        _run("uv", "venv", "--python", sys.executable, folder)
        install = ("uv", "pip", "install", "--python", str(python))
        _run(*install, "--resolution", "lowest-direct", "-e", f"{ROOT}[{extras}]")
        _run(*install, *_TOOLS)  # of which any version will do
        _run("uv", "pip", "list", "--python", str(python))
        _run(str(python), "-m", "pytest", "-q", "-m", "not slow", *asked.tests)


def _run(*command: str) -> None:
    status = subprocess.run(command, cwd=ROOT).returncode
    if status:
        sys.exit(status)


if __name__ == "__main__":
    main()
