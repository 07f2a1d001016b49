from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from memplan.solvers.kernels.cache import GROUPS

ROOT = Path(__file__).parents[3]


def warm_up(place: Path) -> list[str]:
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
    told = [line for line in done.stderr.splitlines() if line.startswith("memplan: ") and " s, " in line]
    return [re.sub(r"[0-9.]+ s,", "… s,", line) for line in told]


def test_kernels_are_compiled_once_and_loaded_from_then_on(tmp_path: Path) -> None:
    first, second = warm_up(tmp_path), warm_up(tmp_path)
    folders = {path.name: path for path in tmp_path.iterdir() if path.is_dir()}
    for done, told in (("compiled", first), ("loaded", second)):
        kept = [re.fullmatch(rf"memplan: (\w+) kernels {done} in … s, kept in (.+)", line) for line in told]
        assert [found and found[1] for found in kept] == [group.name for group in GROUPS]
        assert sorted(found[2] for found in kept if found) == sorted(map(str, folders.values()))


def test_where_nothing_can_be_kept_the_command_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    said = warm_up(tmp_path / "file" / "below")
    assert said == [
        f"memplan: {group} kernels compiled in … s, kept nowhere: no folder can be written"
        for group in (known.name for known in GROUPS)
    ]
