"""What an installation gets: one package, and nothing else."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

from memplan.planner import __version__

ROOT = Path(__file__).resolve().parents[2]


def test_the_wheel_holds_one_package_and_the_command(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        about = f"memplan-{__version__}.dist-info"
        assert {name.partition("/")[0] for name in names} == {"memplan", about}
        assert {
            "memplan/py.typed",
            "memplan/solvers/kernels/packing.py",
            "memplan/api/cli/main.py",
            "memplan/api/store/migrations/env.py",
        } <= set(names)
        assert b"memplan = memplan.api.cli.main:main" in archive.read(f"{about}/entry_points.txt")
