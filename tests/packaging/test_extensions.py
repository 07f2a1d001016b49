"""Extensions import only public names of memplan and of each other, and stay small."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from memplan.planner import __version__

ROOT = Path(__file__).parents[2]
EXTENSIONS = {file.parent.name: file.parent for file in (ROOT / "extensions").glob("*/__init__.py")}
MOST_LINES = 9_000


def modules(folder: Path) -> Iterator[ast.Module]:
    for path in folder.rglob("*.py"):
        if "tests" not in path.relative_to(ROOT).parts:
            yield ast.parse(path.read_text(encoding="utf-8"))


def imports(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield each import in a folder's modules as (module, imported name)."""
    for tree in modules(folder):
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                yield from ((node.module, each.name) for each in node.names)
            elif isinstance(node, ast.Import):
                yield from ((each.name, "") for each in node.names)


@pytest.mark.parametrize("name", EXTENSIONS)
def test_an_extension_imports_public_names_of_memplan_and_of_other_extensions(name: str) -> None:
    own = f"memplan.extensions.{name}"
    private = [
        f"{module}: {taken}"
        for module, taken in imports(EXTENSIONS[name])
        if module.startswith("memplan") and module != own and not module.startswith(f"{own}.")
        if any(part.startswith("_") and not part.endswith("__") for part in (*module.split("."), taken))
    ]
    assert private == []


@pytest.mark.parametrize("name", EXTENSIONS)
def test_an_extension_has_a_readme_of_at_most_40_lines_and_bounded_code_size(name: str) -> None:
    assert len((EXTENSIONS[name] / "README.md").read_text(encoding="utf-8").splitlines()) <= 40
    files = [path for path in EXTENSIONS[name].rglob("*.py") if "tests" not in path.relative_to(ROOT).parts]
    assert sum(path.read_text(encoding="utf-8").count("\n") for path in files) <= MOST_LINES


def test_the_certificate_checkers_import_only_the_standard_library() -> None:
    used = {module.partition(".")[0] for module, _ in imports(ROOT / "checkers")}
    local = {path.stem for path in (ROOT / "checkers").glob("*.py")}
    assert used - local <= sys.stdlib_module_names


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
def test_files_that_state_a_version_state_the_current_version(place: str, text: str) -> None:
    assert text.format(__version__) in (ROOT / place).read_text(encoding="utf-8")
