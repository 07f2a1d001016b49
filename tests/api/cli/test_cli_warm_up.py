from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def warm_up(place: Path) -> str:
    """Run the command with kernels that are not compiled, which changes nothing but the time; return what it says."""
    done = subprocess.run(
        [sys.executable, "-m", "memplan.api.cli.main", "warm-up"],
        cwd=ROOT,
        env=os.environ | {"NUMBA_CACHE_DIR": str(place), "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return re.sub(r"[0-9.]+ s,", "… s,", done.stderr.splitlines()[-1])


def test_kernels_are_compiled_once_and_loaded_from_then_on(tmp_path: Path) -> None:
    first, second = warm_up(tmp_path), warm_up(tmp_path)
    (folder,) = (path for path in tmp_path.iterdir() if path.is_dir())
    assert first == f"memplan: kernels compiled in … s, kept in {folder}"
    assert second == f"memplan: kernels loaded in … s, kept in {folder}"


def test_where_nothing_can_be_kept_the_command_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    said = warm_up(tmp_path / "file" / "below")
    assert said == "memplan: kernels compiled in … s, kept nowhere: no folder can be written"
