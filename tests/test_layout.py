"""Rules for the test files themselves, and unit tests of the word check."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.__main__ import FAST_LANE
from tests.words import forbidden, remove_messages, remove_words_section, words_of

TESTS = Path(__file__).parent
ROOMS = sorted(
    folder.relative_to(TESTS)
    for package in ("checkers", "planner", "solvers", "questions", "api", "programs", "runtimes")
    for folder in (TESTS / package).rglob("*")
    if any(folder.glob("test_*.py"))
)


@cache
def parse_tests() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text()) for path in sorted(TESTS.rglob("*.py"))}


def imported_names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def names_of_tests(tree: ast.Module) -> list[str]:
    return [node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]


def test_no_test_file_imports_from_a_test_module() -> None:
    taken = [
        f"{path.relative_to(TESTS)}: {name}"
        for path, tree in parse_tests().items()
        for name in imported_names(tree)
        if name.startswith("tests.") and any(part.startswith(("test_", "conftest")) for part in name.split("."))
    ]
    assert taken == []


@pytest.mark.parametrize("folder", ROOMS, ids=lambda folder: folder.as_posix())
def test_folders_of_tests_mirror_the_packages_under_test(folder: Path) -> None:
    assert (TESTS.parent / folder / "__init__.py").is_file()


def test_the_fast_lane_names_existing_tests() -> None:
    assert [room for room in FAST_LANE if not (TESTS.parent / room).exists()] == []


def test_the_readme_of_the_lab_lists_its_programs() -> None:
    lab = TESTS.parent / "lab"
    listed = re.findall(r"^\| `(\w+)` \|", (lab / "README.md").read_text(), re.MULTILINE)
    programs = [*lab.glob("[a-z]*.py"), *(path.parent for path in lab.glob("*/__main__.py"))]
    assert sorted(listed) == sorted(path.stem for path in programs)


def test_the_readme_of_test_support_lists_each_module_once() -> None:
    support = TESTS / "support"
    rows = re.findall(r"^\| (`.+?) \|", (support / "README.md").read_text(), re.MULTILINE)
    assert sorted(re.findall(r"`(\w+)`", " ".join(rows))) == sorted(path.stem for path in support.glob("[a-z]*.py"))


def test_test_names_contain_no_pronouns_for_people() -> None:
    words = {"who", "whom", "whoever", "nobody", "everybody", "somebody", "anybody"}
    names = (name for tree in parse_tests().values() for name in names_of_tests(tree))
    assert [name for name in names if words & set(name.split("_"))] == []


def test_no_test_reads_files_outside_the_repository() -> None:
    outside = "/".join(("shared", "instances"))
    assert [path.name for path in TESTS.rglob("*.py") if outside in path.read_text().replace('" / "', "/")] == []


def test_words_marked_in_the_right_column_of_the_glossary_are_forbidden() -> None:
    glossary = (
        "| word | meaning | not |\n|---|---|---|\n| pool | A memory! | place, sea bed!, bowl! |\n| plan | It. | |\n"
    )
    assert forbidden(glossary) == ["bowl", "sea bed"]


def test_the_word_check_splits_identifiers_into_words() -> None:
    assert words_of("HTTPServer.run_all(SeaBed)") == "http server.run all(sea bed)"


def test_the_word_check_ignores_a_pages_own_list_of_forbidden_words() -> None:
    page = "# Pools\n\nA bowl.\n\n## Words\n\n| pool | It. | bowl! |\n\n## Limits\n\nNone.\n"
    assert remove_words_section(page) == "# Pools\n\nA bowl.\n\n## Words\n\n\n\n## Limits\n\nNone.\n"


def test_the_verb_check_ignores_string_literals_but_not_docstrings() -> None:
    module = 'def tell() -> str:\n    """Ask."""\n    return "told"  # asked\n'
    assert remove_messages(module) == 'def tell() -> str:\n    """Ask."""\n    return   # asked\n'
