from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from memplan.solvers.kernels import built
from memplan.solvers.kernels.groups import kernel_groups

ROOT = Path(__file__).parents[3]


def warm_up(folder: Path) -> tuple[int, list[str]]:
    """Run the command with a folder for kernels; return its exit status and what it says."""
    command = [sys.executable, "-m", "memplan.api.cli.main", "warm-up"]
    environment = os.environ | {built.SWITCH: str(folder)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stderr.splitlines()


def test_the_command_that_went_still_sees_that_there_are_kernels_and_says_that_it_is_not_needed(tmp_path: Path) -> None:
    status, said = warm_up(tmp_path / "kernels")
    assert status == 0
    assert "no longer needed" in said[0]
    assert said[1:] == [f"memplan: {group.name} kernels are in {tmp_path / 'kernels'}" for group in kernel_groups()]
    assert all(built.look(group, tmp_path / "kernels")[1] for group in kernel_groups())


def test_where_nothing_can_be_written_the_command_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    place = tmp_path / "file" / "below"
    status, said = warm_up(place)
    assert (status, said[1:]) == (2, [f"memplan: error: {place}: kernels cannot be built there: Not a directory"])
