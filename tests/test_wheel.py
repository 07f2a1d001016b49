"""What an installation gets: three packages with plain names, and nothing else."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

from planner import __version__

ROOT = Path(__file__).resolve().parent.parent


def test_the_wheel_holds_three_packages_and_the_command(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        about = f"memplan-{__version__}.dist-info"
        assert {name.partition("/")[0] for name in names} == {"planner", "solvers", "api", about}
        assert {
            "planner/py.typed",
            "solvers/kernels/packing.py",
            "api/cli/main.py",
            "api/store/migrations/env.py",
        } <= set(names)
        assert b"memplan = api.cli.main:main" in archive.read(f"{about}/entry_points.txt")
