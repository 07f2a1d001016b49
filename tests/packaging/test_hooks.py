"""The base calls extensions by the hooks that it declares with types, and by no text that names their functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from memplan.planner.extensions import extensions, import_object

ROOT = Path(__file__).parents[2]
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
    return (
        modules + rows + [text for call in calls_of(tree, "extensions") for text in texts_in(call) if text == "hooks"]
    )


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
