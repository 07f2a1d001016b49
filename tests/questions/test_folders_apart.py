"""Each question and each system is a folder with one row: without it, the rest plans, verifies and serves."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from memplan.planner.systems import SYSTEMS
from memplan.questions import questions
from tests.support.house_copies import PACKAGES, ROOT, copy_packages

pytestmark = pytest.mark.slow

FOLDERS = (*(f"questions/{name}" for name in questions()), *(f"planner/foreign/{name}" for name in SYSTEMS))
STAY = {"questions/plan", "questions/verify"}
"""The questions that the rest is tried with; `verify` stands on `plan`, and neither on any other."""
WRITTEN = {".c", ".cpp", ".css", ".h", ".hpp", ".html", ".js", ".md", ".py", ".pyi", ".txt"}
OTHER_MEANINGS = {
    # A sweep over times or offsets, the option of `cascade`, and its flag.
    "sweep": (
        "planner/verify/",
        "extensions/tvm/files/usmp/",
        "questions/plan/objects.py",
        "extensions/cascade/",
        "api/cli/flags.py",
    ),
    # The module that writes certificates, of Python and of the core.
    "certify": (
        "solvers/certificates/",
        "solvers/core/",
        "questions/explain/reasons/reasoning.py",
        "api/cli/solvers/core.py",
        "memplan/__init__.py",
        "extensions/checkers/",
    ),
}
"""For a question the files where its name is a word for something else."""
HOUSES = """
import os
import sys
from pathlib import Path

import fastapi.testclient
import memplan.api.cli.main
import memplan.api.http.app

for name in [name for name in sys.modules if name.partition(".")[0] == "memplan"]:
    del sys.modules[name]


def served(folder, root):
    from fastapi.testclient import TestClient

    import memplan
    from memplan.api.cli.main import main
    from memplan.api.http.app import create_app
    from memplan.api.settings import Settings
    from memplan.questions import questions
    from memplan.questions.capability.registry import CAPABILITIES

    assert Path(memplan.__file__).is_relative_to(folder)
    assert all(CAPABILITIES[name].name == name for name in questions())
    assert all(getattr(memplan, name) for name in dir(memplan))
    assert main(["-h"]) == 0
    model, plan = str(root / "examples" / "mobilenet_v2.csv"), str(folder / "plan.json")
    assert main(["plan", model, "-q", "-o", plan]) == 0
    assert main(["verify", model, plan]) == 0
    assert main(["plan", model, "-q", "--capacity", "1MB"]) == 1
    with TestClient(create_app(Settings(data_folder=folder / "data", workers=0))) as client:
        problem = {"buffers": [{"id": 0, "size": 8, "start": 0, "end": 2}]}
        found = client.post("/v1/plan", json=problem).json()
        assert (found["status"], found["peak"]) == ("optimal", 8)
        assert client.post("/v1/verify", json={"problem": problem, "plan": found}).json()["valid"]
        paths = client.get("/openapi.json").json()["paths"]
        assert {f"/v1/{name}" for name in questions()} <= paths.keys()


for line in sys.stdin:
    folder = Path(line.rstrip())
    if (child := os.fork()) == 0:
        said = os.open(folder / "said.txt", os.O_WRONLY | os.O_CREAT)
        os.dup2(said, 1)
        os.dup2(said, 2)
        sys.path.insert(0, str(folder))
        os.chdir(folder)
        served(folder, Path(sys.argv[1]))
        print("served")
        sys.exit()
    os.waitpid(child, 0)
    print("done", flush=True)
"""
"""A process that has imported what the packages stand on, and imports each copy of them in a child of its own."""


@pytest.fixture(scope="module")
def houses() -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", HOUSES, str(ROOT)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.communicate(timeout=60)


def standing_on(folder: str) -> set[str]:
    """Return the folders, `questions/NAME` or `planner/foreign/NAME`, that import a folder, or one that does; and itself."""
    found, grown = set[str](), {folder}
    while grown - found:
        found |= grown
        grown = {each for each in FOLDERS if found & imports_of(each)} | found
    return found


@cache
def imports_of(folder: str) -> set[str]:
    """Return the folders that the modules of a folder import as they are imported."""
    imported = set[str]()
    for path in (ROOT / folder).rglob("*.py"):
        tree = ast.parse(path.read_text())
        inside = {id(node) for each in ast.walk(tree) if isinstance(each, ast.FunctionDef) for node in ast.walk(each)}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and id(node) not in inside:
                found = "/".join(f"{node.module}.".removeprefix("memplan.").split(".")[:2])
                if found != folder and found in FOLDERS:
                    imported.add(found)
    return imported


def without_questions(folder: Path, names: set[str]) -> None:
    """Remove the rows of some questions from a copy of the packages, and what each row names of the command."""
    file = folder / "questions/__init__.py"
    lines = file.read_text().splitlines(keepends=True)
    table = next(each for each in ast.parse("".join(lines)).body if isinstance(each, ast.AnnAssign))
    assert isinstance(table.value, ast.Dict)
    for key, value in zip(table.value.keys, table.value.values, strict=True):
        if isinstance(key, ast.Constant) and key.value in names:
            lines[key.lineno - 1 : value.end_lineno] = [""] * ((value.end_lineno or 0) - key.lineno + 1)
            if (command := questions()[str(key.value)].command) is not None:
                (folder / f"api/cli/local/{command}.py").unlink()
    file.write_text("".join(lines))


def without_rows(file: Path, beginnings: set[str]) -> None:
    """Remove the rows of a table of modules that name one of some folders."""
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(line for line in lines if not any(f': "{each}.' in line for each in beginnings)))


def sets_of_folders() -> list[set[str]]:
    """Return sets to take away: each folder is gone once while any other one, that does not stand on it, is there.

    With a folder goes what stands on it. A set for each folder would be three times as many.
    """
    gone = {folder: standing_on(folder) for folder in FOLDERS if folder not in STAY}
    left = {(stays, away) for away in gone for stays in gone.keys() - gone[away]}
    found = []
    while left:
        chosen, parted = set[str](), 0
        for others in gone.values():
            grown = chosen | others
            count = sum(away in grown and stays not in grown for stays, away in left)
            if count > parted:
                chosen, parted = grown, count
        found.append(chosen)
        left = {(stays, away) for stays, away in left if away not in chosen or stays in chosen}
    return found


def test_memplan_plans_verifies_and_serves_without_any_of_the_optional_folders(
    houses: subprocess.Popen[str], tmp_path: Path
) -> None:
    sets = sets_of_folders()
    assert {*FOLDERS} - set[str]().union(*sets) == STAY
    for k, gone in enumerate(sets):
        copy = tmp_path / str(k)
        copy_packages(copy)
        for each in gone:
            shutil.rmtree(copy / each)
        names = [each.split("/") for each in gone]
        without_questions(copy, {name for kind, name in names if kind == "capabilities"})
        rows = {f"memplan.planner.foreign.{name}" for kind, name in names if kind == "systems"}
        without_rows(copy / "planner/systems.py", rows)
        assert houses.stdin is not None
        assert houses.stdout is not None
        print(copy, file=houses.stdin, flush=True)
        assert houses.stdout.readline() == "done\n"
        said = (copy / "said.txt").read_text()
        assert said.endswith("served\n"), f"without {', '.join(sorted(gone))}: {said}"


@pytest.mark.parametrize("name", OTHER_MEANINGS)
def test_no_file_names_a_question_that_was_taken_away(name: str, tmp_path: Path) -> None:
    copy_packages(tmp_path)
    shutil.rmtree(tmp_path / "capabilities" / name)
    (tmp_path / "memplan/__init__.pyi").unlink()  # which is made of rows, as these are:
    shutil.rmtree(tmp_path / "api/cli/texts")
    without_questions(tmp_path, {name})
    named = {
        f"{path.relative_to(tmp_path)}"
        for package in PACKAGES
        for path in (tmp_path / package).rglob("*")
        if path.suffix in WRITTEN and re.search(rf"(?<![a-z_]){name}(?![a-z_])", path.read_text(), re.IGNORECASE)
    }
    strange = {each for each in named if not each.startswith(OTHER_MEANINGS[name])}
    assert strange == set()
    assert all(any(each.startswith(one) for each in named) for one in OTHER_MEANINGS[name])


@pytest.mark.parametrize("name", ["sweep", "certify", "liveness", "compare"])
def test_nothing_names_a_question_but_its_folder_and_what_its_row_names(name: str) -> None:
    row, named = questions()[name], re.compile(rf"(capabilities|local)[./]{name}\b")
    own = {f"questions/{name}", f"api/cli/local/{row.command}.py", "memplan/__init__.pyi"}  # which is made of rows
    others = {
        f"{path.relative_to(ROOT)}"
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py*")
        if path.suffix in (".py", ".pyi") and not any(f"{path.relative_to(ROOT)}".startswith(each) for each in own)
        if named.search(path.read_text())
    }
    assert others == set()
    assert (ROOT / "docs" / row.document).is_file()
