"""The distributions of `packages`: memplan stands without them, and they on what it offers to others alone."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from memplan.planner import __version__

ROOT = Path(__file__).parents[2]
PACKAGES = {folder.name: folder for folder in (ROOT / "packages").iterdir() if (folder / "pyproject.toml").exists()}
OFFERED = ROOT / "docs" / "adding.md"
INSIDE = {
    path.resolve().parent.name for path in (ROOT / "memplan").iterdir() if path.resolve().parent in PACKAGES.values()
}
"""The packages that memplan has a link to: they are distributions of their own, and come with memplan as well."""
HIDDEN = {f"memplan_{name}": None for name in PACKAGES}
"""Modules that are missing in an installation of memplan alone."""
MOST_LINES = 9_000


def imports(folder: Path) -> Iterator[str]:
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                yield node.module
            elif isinstance(node, ast.Import):
                yield from (each.name for each in node.names)


@pytest.mark.parametrize("name", PACKAGES)
def test_packages_import_only_documented_modules_of_memplan(name: str) -> None:
    used = {each for each in imports(PACKAGES[name] / f"memplan_{name}") if each.partition(".")[0] == "memplan"}
    text = OFFERED.read_text(encoding="utf-8")
    assert sorted(each for each in used if f"`{each}`" not in text) == []


def test_the_checkers_need_only_the_standard_library() -> None:
    used = {each.partition(".")[0] for each in imports(PACKAGES["checkers"] / "memplan.extensions.checkers")}
    assert used <= sys.stdlib_module_names
    about = tomllib.loads((PACKAGES["checkers"] / "pyproject.toml").read_text(encoding="utf-8"))
    assert about["project"]["dependencies"] == []


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("CITATION.cff", "\nversion: {}\n"),
        ("CHANGELOG.md", "\n## {} ("),
        ("bazel/MODULE.bazel", 'version = "{}"'),
        ("docs/builds.md", 'name = "memplan_rules", version = "{}"'),
        ("docs/formats.md", '"version": "{}"'),
    ],
)
def test_texts_have_the_version_of_memplan(place: str, text: str) -> None:
    assert text.format(__version__) in (ROOT / place).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_has_the_version_of_memplan_and_needs_its_first_number(name: str) -> None:
    about = tomllib.loads((PACKAGES[name] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    first = int(__version__.partition(".")[0])
    assert about["version"] == __version__
    own = [each for each in about["dependencies"] if each.startswith("memplan")]
    assert [each.partition(">")[2] for each in own] == [f"={first}.0,<{first + 1}"] * len(own)


def test_memplan_imports_no_package() -> None:
    folders = [ROOT / name for name in ("memplan", "planner", "solvers", "systems", "capabilities", "api")]
    used = {each.partition(".")[0] for folder in folders for each in imports(folder)}
    assert used.isdisjoint(f"memplan_{name}" for name in PACKAGES)


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_has_a_readme_of_one_screen_and_an_extra(name: str) -> None:
    assert len((PACKAGES[name] / "README.md").read_text(encoding="utf-8").splitlines()) <= 40
    lines = (path.read_text(encoding="utf-8").count("\n") for path in PACKAGES[name].glob(f"memplan_{name}/**/*.py"))
    assert sum(lines) <= MOST_LINES
    if name in INSIDE:
        return
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    brought, whole = ([Requirement(line) for line in extras[each]] for each in (name, "all"))
    assert [each.name for each in brought if each.name.startswith("memplan-")] == [f"memplan-{name}"]
    assert any(name in each.extras or each.name == f"memplan-{name}" for each in whole)


@pytest.mark.parametrize(
    "command",
    [
        ["plan", "tests/dumps/attention.stablehlo.mlir"],
        ["plan", "examples/mobilenet_v2.csv", "--solver", "reference:ggml-allocator"],
        ["schedule", "examples/schedules/attention.json"],
        ["library", "list"],
        ["bench", "examples/mobilenet_v2.csv"],
        ["plan", *2 * ["examples/mobilenet_v2.csv"], "-o", "examples/", "--on", "dask://127.0.0.1:8786"],
        ["plan", "examples/mobilenet_v2.csv", "-o", "plan.html"],
        ["plan", "tests/models/exported.pt2"],
        ["plan", "tests/models/recorded/kws_dscnn_int8.tflite"],
        ["plan", "tests/models/thirds.pte"],
        ["convert", "examples/mobilenet_v2.csv", "--to", "tflite"],
        ["cascade", "examples/networks/mobilenet_v1.json", "-o", "examples/"],
        ["fits", "examples/torch_steps.py:gpt2"],
        ["convert", "examples/mobilenet_v2.csv", "--to", "pto"],
        ["mcp"],
        ["plan", "examples/mobilenet_v2.csv", "--heaps", "2MiB"],
        ["cascade", "examples/networks/mobilenet_v1.json", "-o", "front.svg"],
        ["plan", "tests/dumps/wrong/tilelang-ascend-1765.tir"],
        ["order", "examples/graphs/torch_resnet18_b1_sgd.json", "--recompute"],
    ],
)
def test_files_of_a_missing_package_are_refused_with_the_line_that_installs_it(command: list[str]) -> None:
    assert_refused(command)


def test_objects_are_refused_with_the_line_that_installs_their_search(tmp_path: Path) -> None:
    (tmp_path / "objects.json").write_text(
        '{"kind": "objects", "buffers": [{"id": 1, "size": 8, "start": 0, "end": 1}]}'
    )
    assert_refused(["plan", str(tmp_path / "objects.json")])


def assert_refused(command: list[str]) -> None:
    script = f"import sys; sys.modules.update({HIDDEN!r}); from memplan.api.cli.main import main; main({command!r})"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )
    line = r"memplan_\w+, which (is|are) not installed.*: pip install 'memplan\[[\w,]+\]'"
    assert re.search(line, done.stderr), done.stderr


@pytest.mark.parametrize(("name", "taken"), [("torch", "fits"), ("tvm", "install")])
def test_a_module_whose_names_a_package_has_is_refused_with_the_line_that_installs_it(name: str, taken: str) -> None:
    script = f"import sys; sys.modules.update({HIDDEN!r}); from memplan.{name} import {taken}"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert f"memplan_{name}, which is not installed: pip install 'memplan[{name}]'" in done.stderr


@pytest.mark.slow
def test_the_rows_of_the_sources_pass_with_memplan_alone(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(f"import sys\nsys.modules.update({HIDDEN!r})\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-W", "ignore"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    done = subprocess.run(
        [*command, "tests/seeds"], cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=900
    )
    assert done.returncode == 0, done.stdout[-4000:]
