"""Where compiled kernels are kept: whole and sound, or passed by."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from memplan.solvers.kernels import cache

KERNELS = {"pack.entry": b"_pack", "pack.o": b"machine code"}


@pytest.fixture(autouse=True)
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Keep kernels in a place of the test's own, as a process that has not looked yet."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(cache, "_chosen", {})
    return tmp_path


def compile_all(folder: Path) -> None:
    for name, content in KERNELS.items():
        (folder / name).write_bytes(content)


def seen_by_another_process(monkeypatch: pytest.MonkeyPatch) -> Path | None:
    monkeypatch.setattr(cache, "_chosen", {})
    return cache.find()


def test_kernels_are_found_once_they_are_compiled(monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
    assert cache.find() is None
    cache.fill(compile_all)
    folder = seen_by_another_process(monkeypatch)
    assert folder == place / cache.folder_name()
    assert {name: (folder / name).read_bytes() for name in KERNELS} == KERNELS


@pytest.mark.parametrize(
    "spoil",
    [
        lambda folder: (folder / "pack.entry").write_bytes(bytes(5)),
        lambda folder: (folder / "pack.o").write_bytes(b"machine"),
        lambda folder: (folder / "pack.o").unlink(),
        lambda folder: (folder / "more.o").write_bytes(b""),
        lambda folder: (folder / "digests").write_bytes(b"\xff\x00"),
        lambda folder: (folder / "digests").unlink(),
    ],
    ids=["zeros", "cut off", "a file is missing", "a file too many", "digests are broken", "no digests"],
)
def test_a_folder_that_is_not_as_it_was_is_passed_by_and_made_anew(
    monkeypatch: pytest.MonkeyPatch, place: Path, spoil: Callable[[Path], None]
) -> None:
    cache.fill(compile_all)
    folder = place / cache.folder_name()
    spoil(folder)
    assert seen_by_another_process(monkeypatch) is None
    cache.fill(compile_all)
    assert seen_by_another_process(monkeypatch) == folder
    assert {file.name for file in folder.iterdir()} == {*KERNELS, "digests"}


def test_what_a_process_left_that_died_is_no_hindrance(monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
    def die(folder: Path) -> None:
        compile_all(folder)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cache.fill(die)
    assert seen_by_another_process(monkeypatch) is None
    cache.fill(compile_all)
    assert seen_by_another_process(monkeypatch) == place / cache.folder_name()


def test_of_several_processes_one_compiles(place: Path) -> None:
    program = """
import time
from pathlib import Path
from memplan.solvers.kernels import cache as kernel_cache

def compile_all(folder):
    with Path("compilers").open("a") as file:
        file.write("one\\n")
    time.sleep(0.3)

kernel_cache.fill(compile_all)
print(kernel_cache.find())
"""
    processes = [
        subprocess.Popen([sys.executable, "-c", program], cwd=place, stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    assert {process.communicate(timeout=60)[0] for process in processes} == {f"{place / cache.folder_name()}\n"}
    assert (place / "compilers").read_text() == "one\n"


def test_where_no_file_can_be_kept_none_is_found(monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
    (place / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(place / "file" / "below"))
    with pytest.raises(NotADirectoryError):
        cache.fill(compile_all)
    assert cache.find() is None


def test_where_the_first_place_cannot_take_it_the_next_one_does(monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
    full, free = place / "full", place / "free"
    monkeypatch.setattr(cache, "places", lambda: (full, free))

    def compile_where_there_is_space(folder: Path) -> None:
        if folder.parent == full:
            raise OSError("no space left on device")
        compile_all(folder)

    cache.fill(compile_where_there_is_space)
    assert seen_by_another_process(monkeypatch) == free / cache.folder_name()


@pytest.mark.parametrize("spoil", [Path.unlink, lambda file: file.write_bytes(b"other code")], ids=["gone", "changed"])
def test_what_changes_after_it_was_found_is_not_read(place: Path, spoil: Callable[[Path], None]) -> None:
    cache.fill(compile_all)
    assert cache.read("pack.o") == b"machine code"
    spoil(place / cache.folder_name() / "pack.o")
    assert cache.read("pack.o") is None


def test_without_a_place_of_its_own_the_cache_is_beside_the_sources_or_the_users(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", "/home/ada")
    beside = Path(cache.__file__).parent / "__pycache__"
    assert cache.places() == (beside, Path("/home/ada/.cache/memplan"))
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert cache.places() == (beside, Path("/caches/memplan"))
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("HOME")
    assert cache.places() == (beside,)


@pytest.mark.parametrize("source", ["abi.py", "packing/pack.py", "exact/sections.py"])
def test_kernels_are_compiled_anew_when_any_of_their_sources_changes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, source: str
) -> None:
    before = cache.folder_name()
    sources = Path(cache.__file__).parent
    shutil.copytree(sources, tmp_path / "kernels", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(cache, "_HERE", tmp_path / "kernels")
    assert cache.folder_name.__wrapped__() == before
    with (tmp_path / "kernels" / source).open("a") as file:
        file.write("# changed\n")
    assert cache.folder_name.__wrapped__() != before


def test_kernels_for_another_processor_have_a_folder_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {cache.folder_name()}
    for processor in ("generic", "znver3"):
        monkeypatch.setenv("NUMBA_CPU_NAME", processor)
        names.add(cache.folder_name.__wrapped__())
    assert len(names) == 3


def test_where_only_the_features_are_chosen_the_processor_still_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CPU_FEATURES", "+sse2")
    monkeypatch.setattr(Path, "read_text", lambda _: "model name\t: one\n\n")
    before = cache.folder_name.__wrapped__()
    monkeypatch.setattr(Path, "read_text", lambda _: "model name\t: another\n\n")
    assert cache.folder_name.__wrapped__() != before


def test_groups_have_folders_and_sources_of_their_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shutil.copytree(Path(cache.__file__).parent, tmp_path / "kernels", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(cache, "_HERE", tmp_path / "kernels")
    planning, order = (cache.folder_name.__wrapped__(group) for group in (cache.PLANNING, cache.ORDER))
    assert planning.startswith("memplan-kernels-")
    assert order.startswith("memplan-order-kernels-")
    with (tmp_path / "kernels" / "order" / "beam.py").open("a") as file:
        file.write("# changed\n")
    assert cache.folder_name.__wrapped__(cache.PLANNING) == planning
    assert cache.folder_name.__wrapped__(cache.ORDER) != order
