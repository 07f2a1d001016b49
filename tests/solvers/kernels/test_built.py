"""Libraries that are used, those that are not, and what runs then."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memplan.solvers.kernels import built, groups
from memplan.solvers.kernels.groups import PLANNING, kernel_groups

ROOT = Path(__file__).parents[3]
NOTICE = "memplan: kernels run as Python, a hundred times slower"


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """Return a folder with the package's libraries."""
    return Path(shutil.copytree(built.OF_PACKAGE, tmp_path / "copied"))


def answer(program: str, folder: Path = built.OF_PACKAGE) -> tuple[list[str], str]:
    """Return the words that a process prints which takes kernels from a folder, and what it says beside."""
    environment = os.environ | {built.SWITCH: str(folder)}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.split(), done.stderr


def changed(folder: Path, **facts: Any) -> None:
    """Change facts in the manifest of what plans."""
    manifest = folder / "planning.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | facts))


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda folder: changed(folder, sources="of another day"), "their sources were changed since they were built"),
        (
            lambda folder: changed(folder, machine="solaris-sparc"),
            f"they are for solaris-sparc, this is {built.machine()}",
        ),
        (lambda folder: (folder / "planning.json").write_text("{"), "the manifest in {folder} cannot be read"),
        (lambda folder: (folder / "planning.so").write_bytes(b"code"), "{folder}/planning.so is damaged"),
        (lambda folder: (folder / "planning.so").unlink(), "none were built in {folder}"),
        (shutil.rmtree, "none were built in {folder}"),
    ],
    ids=["stale", "other machine", "torn manifest", "damaged", "no library", "nothing"],
)
def test_a_library_that_is_not_of_these_sources_and_this_machine_is_not_used(
    copied: Path, spoil: Callable[[Path], Any], reason: str
) -> None:
    spoil(copied)
    assert built.look(PLANNING, copied) == (reason.format(folder=copied), None)


def test_what_no_loader_takes_is_not_used(copied: Path) -> None:
    (copied / "planning.so").write_bytes(b"no library")
    changed(copied, digest=hashlib.sha256(b"no library").hexdigest())
    assert built.look(PLANNING, copied)[0].startswith("they cannot be loaded: ")


@pytest.mark.parametrize("group", kernel_groups(), ids=lambda group: group.name)
def test_a_digest_covers_all_that_the_kernels_of_a_group_import(group: groups.KernelGroup) -> None:
    imports = f"from memplan.solvers.kernels.kernel import kernel_named; [*map(kernel_named, {group.kernels})]"
    words, _ = answer(f"import sys; {imports}; print(*sys.modules)")
    modules = [name.split(".")[1:-1] for name in words if name.startswith("memplan.")]
    folders = {groups._PACKAGE.joinpath(*parts) for parts in modules if "kernels" in parts}
    assert folders - {groups._HERE} == {*group.folders}


def test_a_changed_source_changes_the_digest_of_a_group(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before, folder = groups.source_digest(PLANNING), "solvers/kernels"
    shutil.copytree(groups._PACKAGE / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__", "built"))
    monkeypatch.setattr(groups, "_HERE", tmp_path / folder)
    monkeypatch.setattr(groups, "_PACKAGE", tmp_path)
    with (tmp_path / folder / "abi.py").open("a") as file:
        file.write("# changed\n")
    assert groups.source_digest(PLANNING) != before


def test_without_machine_code_searches_find_the_same_and_say_once_that_they_take_long(tmp_path: Path) -> None:
    # Ten bytes are alive at once, but no plan needs less than eleven: a search has to prove it.
    program = """
from memplan import Problem, order_operations, read_graph, solve
rows = [(1, 1, 3), (2, 1, 5), (5, 0, 1), (3, 4, 7), (2, 1, 4), (4, 3, 7), (2, 2, 4), (5, 0, 2)]
problem = Problem(buffers=[{"id": i, "size": s, "start": a, "end": b} for i, (s, a, b) in enumerate(rows)])
print(solve(problem, deterministic=True).model_dump_json())
graph = read_graph("examples/graphs/synth_grid10x10.json")
print(order_operations(graph, deterministic=True, time_limit_s=0.01).order)
"""
    words, said = answer(program)
    assert said == ""
    again, said = answer(program, tmp_path)
    assert words == again
    assert [line.startswith(f"{NOTICE}, as none were built in {tmp_path}") for line in said.splitlines()] == [True]


def test_without_machine_code_a_search_ends_in_time(tmp_path: Path) -> None:
    program = """
import numpy as np
from memplan import Problem, solve
from memplan.planner.model.buffer_table import BufferTable
n = 20_000
table = BufferTable.from_columns(range(n), np.arange(1, n + 1), np.arange(n) // 2, np.arange(n) // 2 + 3)
plan = solve(Problem(buffers=table), time_limit_s=0.5)
print(plan.stop_reason)
"""
    words, said = answer(program, tmp_path)
    assert words == ["time_limit"]
    assert NOTICE in said
