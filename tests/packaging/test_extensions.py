"""Extensions import only public names, stay small, and are called only by the hooks that the base declares."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from memplan.planner import __version__
from memplan.planner.extensions import extensions, import_object

ROOT = Path(__file__).parents[2]
EXTENSIONS = {file.parent.name: file.parent for file in (ROOT / "extensions").glob("*/__init__.py")}
MOST_LINES = 9_000


def modules(folder: Path) -> Iterator[ast.Module]:
    for path in folder.rglob("*.py"):
        if "tests" not in path.relative_to(ROOT).parts:
            yield ast.parse(path.read_text(encoding="utf-8"))


def imports(folder: Path) -> Iterator[tuple[str, str]]:
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
    assert used - {path.stem for path in (ROOT / "checkers").glob("*.py")} <= sys.stdlib_module_names


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


BASE = ("checkers", "planner", "solvers", "questions", "api", "programs", "runtimes")
ABOVE = ("extensions",)
TREES = {
    path.relative_to(ROOT).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
    for room in (*BASE, *ABOVE)
    for path in (ROOT / room).rglob("*.py")
    if "tests" not in path.relative_to(ROOT).parts
}


def texts_in(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def calls_of(tree: ast.AST, name: str) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
            yield node


def functions_by_text(tree: ast.Module) -> list[str]:
    """Return the texts by which a module reaches a function of an extension without a hook."""
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    modules = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs
        if node.value.startswith(tuple(f"memplan.{room}." for room in ABOVE))
    ]
    rows = [text for call in calls_of(tree, "import_object") for text in texts_in(call)]
    return modules + rows + [one for call in calls_of(tree, "extensions") for one in texts_in(call) if one == "hooks"]


def test_each_declared_hook_has_one_function_and_each_function_a_hook() -> None:
    declared = [text for tree in TREES.values() for call in calls_of(tree, "Hook") for text in texts_in(call)]
    assert sorted(declared) == sorted(extensions("hooks"))


@pytest.mark.parametrize("where", extensions("hooks").values())
def test_each_function_of_a_hook_can_be_imported(where: str) -> None:
    assert callable(import_object(where))


def test_the_base_reaches_no_function_of_an_extension_by_text() -> None:
    own = "planner/extensions.py"
    found = {path: functions_by_text(tree) for path, tree in TREES.items() if path.startswith(BASE) and path != own}
    assert {path: texts for path, texts in found.items() if texts} == {}


@pytest.mark.parametrize(
    "planted",
    [
        'import_object(extensions("searches")["cascade-hint"])(problem)',
        'hint = extensions("hooks")["cascade-hint"]',
        'import_module("memplan.extensions.cascade.hint").cascade_hint(problem)',
    ],
)
def test_a_planted_call_by_text_is_found(planted: str) -> None:
    assert functions_by_text(ast.parse(planted)) != []
