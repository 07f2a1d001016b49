"""memplan inside a project whose own modules are named `api`, `questions`, `planner` and `solvers`."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

OWN = """
import api, questions, planner, solvers
names = [module.NAME for module in (api, questions, planner, solvers)]
assert names == ["their api", "their questions", "their planner", "their solvers"]
"""
THROUGH_THE_FACE = """
from memplan import Buffer, Problem, read_problem, solve, verify, write_problem

problem = Problem(buffers=[Buffer(id=k, size=64 * k, start=k, end=k + 3) for k in range(1, 40)])
problem = read_problem(write_problem(problem))
plan = solve(problem, time_limit_s=2)
assert plan.status == "optimal" and verify(problem, plan).valid
"""


@pytest.fixture
def their_project(tmp_path: Path) -> Path:
    (tmp_path / "api").mkdir()
    (tmp_path / "api" / "__init__.py").write_text("NAME = 'their api'\n")
    for name in ("checkers", "extensions", "planner", "programs", "questions", "runtimes", "solvers"):
        (tmp_path / f"{name}.py").write_text(f"NAME = 'their {name}'\n")
    return tmp_path


def run_in(project: Path, program: str) -> None:
    """Run a script in the project's folder, which is then first in `sys.path`, and assert success."""
    (project / "script.py").write_text(program)
    tried = subprocess.run([sys.executable, "script.py"], cwd=project, capture_output=True, text=True, timeout=200)
    assert (tried.returncode, tried.stderr[-2000:] if tried.returncode else "") == (0, "")


@pytest.mark.parametrize("order", [(OWN, THROUGH_THE_FACE), (THROUGH_THE_FACE, OWN)])
def test_memplan_and_a_foreign_project_import_in_either_order(their_project: Path, order: tuple[str, str]) -> None:
    run_in(their_project, "".join(order))
