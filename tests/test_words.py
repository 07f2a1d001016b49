"""The check of words finds what it looks for."""

from __future__ import annotations

import ast

from tests.words import docstrings, forbidden, without_messages, without_words, words_of


def test_marked_words_of_the_right_column_are_forbidden() -> None:
    glossary = (
        "| word | meaning | not |\n|---|---|---|\n| pool | A memory! | place, sea bed!, bowl! |\n| plan | It. | |\n"
    )
    assert forbidden(glossary) == ["bowl", "sea bed"]


def test_identifiers_are_taken_apart() -> None:
    assert words_of("HTTPServer.run_all(SeaBed)") == "http server.run all(sea bed)"


def test_docstrings_of_attributes_count() -> None:
    tree = ast.parse('"""One."""\nX = 1\n"""Two."""\ndef f():\n    """Three."""\n    "four"\n')
    assert [found.text for found in docstrings(tree)] == ["One.", "Two.", "Three."]


def test_the_words_of_a_page_are_no_use_of_them() -> None:
    page = "# Pools\n\nA bowl.\n\n## Words\n\n| pool | It. | bowl! |\n\n## Limits\n\nNone.\n"
    assert without_words(page) == "# Pools\n\nA bowl.\n\n## Words\n\n\n\n## Limits\n\nNone.\n"


def test_verbs_of_messages_are_free_and_those_of_docstrings_are_not() -> None:
    module = 'def tell() -> str:\n    """Ask."""\n    return "told"  # asked\n'
    assert without_messages(module) == 'def tell() -> str:\n    """Ask."""\n    return   # asked\n'
