"""The allocator that replays a plan, on a fake CUDA driver: live bytes are never shared, and streams wait as needed."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
REPLAY = HERE.parents[1] / "replay"
pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
TRACES = int(os.environ.get("MEMPLAN_REPLAY_TRACES", "300"))


def build(folder: Path, *flags: str, tests: Path = HERE, replay: Path = REPLAY) -> Path:
    """Compile the fake CUDA driver, and the trace program together with the allocator, using compiler `flags`."""
    fake = ["gcc", "-O1", "-shared", "-fPIC", "-o", "libfake.so", str(tests / "fake_cuda.c"), "-lpthread"]
    libraries = ["-L.", "-lfake", f"-Wl,-rpath,{folder}", "-ldl", "-lpthread"]
    sources = [str(tests / "drive.c"), str(replay / "replay.c")]
    subprocess.run(fake, cwd=folder, check=True)
    subprocess.run(["gcc", "-O1", "-g", *flags, "-o", "drive", *sources, *libraries], cwd=folder, check=True)
    return folder


def drive(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"MEMPLAN_LIBCUDA": str(folder / "libfake.so")}
    command = [str(folder / "drive"), *words, str(folder / "drawn.plan")]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


@pytest.fixture(scope="module")
def library_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("replay"))


@pytest.mark.parametrize("threads", ["1", "4"])
def test_random_traces_never_overwrite_live_bytes(library_path: Path, threads: str) -> None:
    ran = drive(library_path, "11", str(TRACES), threads)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    counts = dict(zip(ran.stdout.split()[::2], map(int, ran.stdout.split()[1::2]), strict=True))
    assert counts["lost"] == counts["hasty"] == counts["left"] == 0
    assert counts["planned"] > counts["busy"] > 0
    assert counts["unmatched"] > 0


@pytest.mark.parametrize(
    ("line", "fault", "threads"),
    [
        ("block->address < low + entry->size", "0", "1"),
        ("if (scope->entries[scope->before[entry->first + k]].is_live) return 0;", ";", "1"),
        ("cuda.wait(stream, arena->event, 0)", "0", "1"),
        ("cuda.wait(stream, arena->event, 0)", "0", "4"),
    ],
)
def test_random_traces_detect_a_fault_injected_into_the_allocator(
    tmp_path: Path, line: str, fault: str, threads: str
) -> None:
    source = (REPLAY / "replay.c").read_text()
    assert line in source
    (tmp_path / "replay").mkdir()
    (tmp_path / "tests" / "replay").mkdir(parents=True)
    (tmp_path / "replay" / "replay.c").write_text(source.replace(line, fault))
    shutil.copy(REPLAY / "replay.h", tmp_path / "replay")
    for name in ("drive.c", "fake_cuda.c"):
        shutil.copy(HERE / name, tmp_path / "tests" / "replay")
    build(tmp_path, "-w", tests=tmp_path / "tests" / "replay", replay=tmp_path / "replay")
    assert drive(tmp_path, "11", "60", threads).returncode != 0


def test_threads_of_the_allocator_have_no_data_race(tmp_path: Path) -> None:
    try:
        folder = build(tmp_path, "-fsanitize=thread")
    except subprocess.CalledProcessError:
        pytest.skip("this gcc has no ThreadSanitizer")
    ran = drive(folder, "5", "10", "4")
    if "unexpected memory mapping" in ran.stderr:
        pytest.skip("ThreadSanitizer does not run on this kernel")
    assert "data race" not in ran.stderr, ran.stderr[:3000]
    assert ran.returncode == 0, ran.stdout + ran.stderr


PROGRAM = """
import ctypes, sys, warnings
from memplan.extensions.torch.replay.library import ReplayLibrary
from memplan.extensions.torch.replay.session import record, use_plan
from memplan.planner.errors import InputError
MIB = 1 << 20
fake = ctypes.CDLL({fake!r})
fake.fake_bytes.restype = ctypes.c_uint64
library = ReplayLibrary()
weights = library.allocate(2 * MIB)
kept = []
def step(extra=0, wrong=False):
    a = library.allocate(10 * MIB); b = library.allocate(6 * MIB, 0, 16)
    kept.append(library.allocate(MIB))
    if extra: library.free(library.allocate(extra))
    library.free(a)
    if wrong: raise KeyError("in the middle")
    c = library.allocate(12 * MIB)
    library.free(b, 0, 0, 16); library.free(c)
plan = record(step, library=library)
assert (plan.live, plan.arena) == (18 * MIB, 18 * MIB), plan
library.release()
for _ in range(3):
    with use_plan(plan, library=library) as counts: step()
    assert (counts["planned"], counts["kept"], counts["unmatched"], counts["busy"]) == (3, 1, 0, 0), counts
    assert counts["arena"] == 18 * MIB
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    with use_plan(plan, library=library) as counts: step(extra=3 * MIB)
    assert counts["planned"] == 3 and counts["unmatched"] == 1, counts
    assert "allocation 3 of 3145728 bytes is not in the plan" in str(said[0].message), said
try:
    with use_plan(plan, library=library): step(wrong=True)
except KeyError: pass
with use_plan(plan, library=library) as counts: step()  # one of the last step is still there
assert counts["planned"] == 2 and counts["busy"] == 1, counts
for scope, words in (("eval", "must be one of step"),):
    try:
        with use_plan(plan, scope, library=library): pass
        raise SystemExit("no error")
    except InputError as error: assert words in str(error), error
try:
    with use_plan(plan, library=library):
        with use_plan(plan, library=library): pass
    raise SystemExit("no error")
except InputError as error: assert "must begin where the one before has ended" in str(error), error
fake.fake_limit(ctypes.c_uint64(fake.fake_bytes() + MIB))
try:
    with use_plan(plan, library=library): library.functions.memplan_alloc(40 * MIB, 0, None)
    raise SystemExit("no error")
except MemoryError as error: assert "the driver has no 41943040 bytes" in str(error), error
fake.fake_limit(ctypes.c_uint64(1 << 50))
fake.fake_break(1)  # without events the host waits
with use_plan(plan, library=library) as counts: step()
print("done")
"""


def test_a_step_is_recorded_planned_and_replayed(library_path: Path, tmp_path: Path) -> None:
    environment = os.environ | {"MEMPLAN_LIBCUDA": str(library_path / "libfake.so"), "XDG_CACHE_HOME": str(tmp_path)}
    program = PROGRAM.format(fake=str(library_path / "libfake.so"))
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=False)
    assert ran.stdout == "done\n", ran.stdout + ran.stderr


@pytest.mark.parametrize(
    ("said", "way"),
    [
        ("CUDAPluggableAllocator does not yet support cacheInfo. If", "got cacheInfo: set torch.backends.cudnn.bench"),
        ("CUDAPluggableAllocator does not yet support getDeviceStats. If", "got getDeviceStats: read memplan.torch"),
        (
            "pluggable does not yet support checkPoolLiveAllocations. If",
            "checkPoolLiveAllocations: capture no CUDA graphs",
        ),
        ("CUDAPluggableAllocator does not yet support recordHistory. If", "recordHistory: record memory snapshots"),
        ("CUDAPluggableAllocator does not yet support setMemoryFraction. If", "setMemoryFraction: run that part"),
        ("the size of tensor a must match", None),
    ],
)
def test_the_error_for_a_function_that_torch_refuses_names_it_and_a_remedy(said: str, way: str | None) -> None:
    from memplan.extensions.torch.replay.session import record
    from memplan.planner.errors import InputError

    class Library:
        """The part of a library that a recording begins and ends."""

        ended = 0

        def record(self) -> None:
            self.ended -= 1

        def end(self) -> None:
            self.ended += 1

    def step() -> None:
        raise RuntimeError(said)

    library: Any = Library()
    expected = RuntimeError if way is None else InputError
    with pytest.raises(expected, match=way or said):
        record(step, library=library)
    assert library.ended == 0


def test_settings_of_torch_s_allocator_are_refused_for_planned_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch.fx", reason="needs torch")
    from memplan.extensions.torch.replay.session import install
    from memplan.planner.errors import InputError

    monkeypatch.setenv("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")
    with pytest.raises(InputError, match=r"PYTORCH_CUDA_ALLOC_CONF: must be unset, .*got .expandable_segments:True"):
        install()


@pytest.fixture(scope="module")
def compiled_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("own") / "own.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", path, REPLAY / "replay.c", "-ldl"], check=True)
    return path


@pytest.mark.parametrize(
    "text",
    [
        "",
        "memplan-replay 2\nend\n",
        "memplan-replay 1\nscope a 2\n1 0 0 0\nend\n",
        "memplan-replay 1\nscope a 1\n1 0 0 5\nend\n",
        "memplan-replay 1\nscope a 1\n1 99 0 0\nend\n",
        "memplan-replay 1\nscope a 99999999999\n",
        "memplan-replay 1\nscope a 1\n0 0 0 0\nend\n",
    ],
)
def test_malformed_plan_files_are_refused(compiled_library: Path, tmp_path: Path, text: str) -> None:
    from memplan.extensions.torch.replay.library import ReplayLibrary
    from memplan.planner.errors import InputError

    (tmp_path / "wrong.plan").write_text(text)
    library = ReplayLibrary(str(compiled_library))
    with pytest.raises(InputError, match="must be a plan of version 1"):
        library.load(tmp_path / "wrong.plan")
    with pytest.raises(InputError, match=r"wrong\.none: cannot be read"):
        library.load(tmp_path / "wrong.none")
    assert ctypes.sizeof(ctypes.c_void_p) == 8
