"""Child processes: answers, environment, privileges, limits, termination, and removed temporary folders."""

import math
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from memplan.solvers.processes.child import ChildProcess, memory_in_use
from memplan.solvers.processes.folders import make_temporary_folder, remove_leftover_folders
from memplan.solvers.processes.threads import processors
from tests.support.answering import ARRAYS
from tests.support.values import require_value

_WHERE = {"PYTHONPATH": str(Path(__file__).parents[3])}
_MODULE = "tests.support.answering"


def test_an_answer_of_a_child_process_keeps_its_arrays() -> None:
    with ChildProcess(_MODULE, environment=_WHERE) as child:
        child.give("arrays")
        number, found = child.answer()
        arrays, pair = found["deep"]
        assert (number, pair) == (1, (2**70, "x"))
        assert {name: array.dtype for name, array in arrays.items()} == {name: a.dtype for name, a in ARRAYS.items()}
        assert all(np.array_equal(arrays[name], array) for name, array in ARRAYS.items())
        assert child.answer() == math.inf
        with pytest.raises(EOFError):
            child.answer()
        assert child.wait() == 0


def test_a_pickle_from_a_child_process_is_never_unpickled(tmp_path: Path) -> None:
    with ChildProcess(_MODULE, environment=_WHERE) as child:
        child.give(tmp_path / "harm")
        with pytest.raises(ValueError, match="expected value"):
            child.answer()
    assert not (tmp_path / "harm").exists()


def test_a_child_that_exceeds_its_memory_limit_is_killed() -> None:
    with ChildProcess(_MODULE, most_bytes=1, environment=_WHERE) as child:
        child.give("sleep")
        with pytest.raises(EOFError):
            child.answer()
        assert (child.stopped_by, child.wait()) == ("memory", -signal.SIGKILL)


def test_a_child_process_is_killed_when_its_search_is_over_and_its_peak_memory_is_known() -> None:
    with ChildProcess(_MODULE, lambda: True, environment=_WHERE) as child:
        with pytest.raises(EOFError):
            child.answer()
        assert (child.stopped_by, child.wait()) == ("over", -signal.SIGKILL)
        assert child.peak_rss_bytes > 0


def test_process_modules_import_on_systems_without_resource_limits() -> None:
    missing = "import sys; sys.modules.update(dict.fromkeys(('resource', 'fcntl', 'pwd', 'grp')))"
    modules = ["child", "harden", "parent"]
    code = "; ".join([missing, *(f"import memplan.solvers.processes.{name}" for name in modules)])
    subprocess.run([sys.executable, "-P", "-c", code], check=True)


_SECRETS = ("MEMPLAN_ADMIN_KEY", "MEMPLAN_DATABASE_URL", "PGPASSWORD", "AWS_SECRET")


def test_a_child_has_no_secrets_or_privileges_or_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in _SECRETS:
        monkeypatch.setenv(name, "x" * 40)
    with ChildProcess("tests.support.fenced", environment=_WHERE) as child:
        child.give(tmp_path / "written")
        names, rights, errors, is_enough = child.answer()
    assert set(_SECRETS).isdisjoint(names)
    assert "PATH" in names
    assert rights == "1"
    assert errors == ("OSError", "MemoryError")
    assert is_enough
    assert (tmp_path / "written").read_bytes() == b""


@pytest.mark.parametrize(
    ("files", "most"),
    [
        ({"cpu.max": "100000 100000"}, 1),
        ({"cpu.max": "50000 100000"}, 1),
        ({"cpu.max": "150000 100000"}, 2),
        ({"cpu.max": "max 100000"}, None),
        ({"cpu/cpu.cfs_quota_us": "100000", "cpu/cpu.cfs_period_us": "100000"}, 1),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, None),
        ({"cpu.max": "of another kind"}, None),
        ({}, None),
    ],
)
def test_the_processor_count_respects_a_cpu_quota(tmp_path: Path, files: dict[str, str], most: int | None) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text + "\n")
    there = len(os.sched_getaffinity(0))
    assert processors(tmp_path) == (there if most is None else min(there, most))


_HOLDS = "held = bytearray(80_000_000); print(flush=True); input()"
_FORKS = """
import os, time
held = bytearray(80_000_000)
fork = os.fork() or time.sleep(600)
print(flush=True)
input()
os.kill(fork, 9)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not list the children of a process")
@pytest.mark.parametrize("program", [_HOLDS, _FORKS])
def test_memory_in_use_includes_child_programs_and_counts_forks_once(program: str) -> None:
    before, command = memory_in_use(os.getpid()), [sys.executable, "-c", program]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        require_value(child.stdout).readline()
        assert 80e6 < memory_in_use(os.getpid()) - before < 150e6
        child.communicate(b"\n")


_MAKES = """
import sys, time
from memplan.solvers.processes.folders import make_temporary_folder
with make_temporary_folder() as name:
    open(f"{name}/content", "w").close()
    print(name, flush=True)
    time.sleep(600)
"""


def test_folders_of_a_killed_process_are_removed_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", _MAKES], stdout=subprocess.PIPE, env=environment, text=True) as maker:
        left = Path(require_value(maker.stdout).readline().strip())
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
