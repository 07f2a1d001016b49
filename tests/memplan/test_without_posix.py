"""memplan works without the POSIX-only parts of Python, as on Windows."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
AS_ON_WINDOWS = """
import os, signal, sys
for module in ("fcntl", "grp", "pwd", "resource", "termios"):
    sys.modules[module] = None
for name in ("fork", "getuid", "killpg", "nice", "register_at_fork", "sched_getaffinity", "setsid", "wait4"):
    delattr(os, name)
for name in ("SIGALRM", "SIGHUP", "SIGKILL", "SIGUSR1", "setitimer"):
    delattr(signal, name)
"""
SOLVES = """
from memplan import Problem, solve
rows = [(1, 1, 3), (2, 1, 5), (5, 0, 1), (3, 4, 7), (2, 1, 4), (4, 3, 7), (2, 2, 4), (5, 0, 2)]
problem = Problem(buffers=[{"id": i, "size": s, "start": a, "end": b} for i, (s, a, b) in enumerate(rows)])
print(solve(problem, solver="exact").model_dump_json())
"""
SERVES = """
from tempfile import mkdtemp
from fastapi.testclient import TestClient
from memplan.api.http.app import create_app
from memplan.api.settings import Settings
client = TestClient(create_app(Settings(data_folder=mkdtemp(), workers=0)))
print(client.get("/openapi.json").text)
"""
COMMANDS = 'from memplan.api.cli.main import main; main(["plan", "examples/mobilenet_v2.csv"])'


def plan_printed_by(program: str) -> dict[str, object]:
    """Return the JSON object that a program prints when run without the POSIX-only parts of Python."""
    command = [sys.executable, "-c", AS_ON_WINDOWS + program]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100, check=True)
    plan: dict[str, object] = json.loads(done.stdout)
    return plan


def test_solve_proves_a_plan_optimal_without_posix() -> None:
    plan = plan_printed_by(SOLVES)
    assert (plan["status"], plan["peak"]) == ("optimal", 11)


def test_the_command_plans_without_posix() -> None:
    assert plan_printed_by(COMMANDS)["status"] == "optimal"


def test_all_modules_of_planner_and_solvers_can_be_imported_without_posix() -> None:
    program = """
import json, pkgutil
from importlib import import_module
from memplan import planner, solvers
names = [row.name for room in (planner, solvers) for row in pkgutil.walk_packages(room.__path__, f"{room.__name__}.")]
for name in names:
    if ".bench" not in name:
        import_module(name)
print(json.dumps({"names": len(names)}))
"""
    assert plan_printed_by(program)["names"]


def test_the_service_writes_its_schema_without_posix() -> None:
    assert "/v1/plan" in str(plan_printed_by(SERVES)["paths"])
