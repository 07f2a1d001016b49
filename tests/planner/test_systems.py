"""Other systems: each is a row, and nothing else needs what it names."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from memplan.planner.systems import SYSTEMS, System, systems

ROOT = Path(__file__).parents[2]
WITHOUT = """
import sys
from pathlib import Path
from memplan.planner.systems import SYSTEMS

name, folder = sys.argv[1], Path(sys.argv[2])
package = SYSTEMS.pop(name).rpartition(".")[0]
if package.endswith(f".{name}"):
    sys.modules[package] = None
from memplan.api.cli.main import main

assert main(["plan", "examples/mobilenet_v2.csv", "-q", "-o", str(folder / "plan.json")]) == 0
assert main(["verify", "examples/mobilenet_v2.csv", str(folder / "plan.json")]) == 0
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", SYSTEMS)
def test_the_rest_plans_without_a_system(name: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", WITHOUT, name, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("system", systems(), ids=lambda system: system.name)
def test_what_a_row_names_is_there(system: System) -> None:
    assert SYSTEMS[system.name]
    for reader in system.readers:
        __import__(reader.where)
        assert reader.program is None or callable(_named(reader.program))
    for planner in system.planners:
        assert callable(planner.load())
    for where in (*system.writers.values(), system.reorders, system.rewrites):
        assert where is None or callable(_named(where))
    assert system.other_targets.keys() <= system.writers.keys()


def _named(where: str) -> object:
    module, name = where.split(":")
    return getattr(sys.modules.get(module) or __import__(module, fromlist=[name]), name)
