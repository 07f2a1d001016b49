"""Temporary folders of killed processes are removed by the next process; all other folders stay."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from memplan.solvers.processes.folders import make_temporary_folder, remove_leftover_folders

_MAKES = """
import sys, time
from memplan.solvers.processes.folders import make_temporary_folder
with make_temporary_folder() as name:
    open(f"{name}/content", "w").close()
    print(name, flush=True)
    time.sleep(600)
"""


def test_temporary_folders_of_a_killed_process_are_removed_by_the_next_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", _MAKES], stdout=subprocess.PIPE, env=environment, text=True) as maker:
        assert maker.stdout is not None
        left = Path(maker.stdout.readline().strip())
        remove_leftover_folders()
        assert (left / "content").exists(), "its process is there"
        maker.send_signal(signal.SIGKILL)
    others = [tmp_path / name for name in ("memplan-x", "memplan-99999999999999999999-x", "other-1-x", "memplan--1-x")]
    for folder in others:
        folder.mkdir()
    link, file = tmp_path / f"memplan-{maker.pid}-link", tmp_path / f"memplan-{maker.pid}-file"
    link.symlink_to(others[0])
    file.touch()
    with make_temporary_folder() as mine:
        remove_leftover_folders()
        assert not left.exists()
        assert all(path.exists() for path in (*others, link, file, Path(mine)))
