"""How places and values are spelled."""

from __future__ import annotations

from pathlib import PurePath

import pytest

from memplan.planner.errors import path_of, shown


@pytest.mark.parametrize(
    ("location", "path"),
    [
        ((), ""),
        (("buffers",), "buffers"),
        (("buffers", 3, "end"), "buffers[3].end"),
        ((0, 1), "[0][1]"),
        (("buffers", 3, "x" * 100), 'buffers[3]."' + "x" * 56 + "..."),
        (("buffers", 3, ""), 'buffers[3].""'),
        (("\x1b[2J",), '"\\u001b[2J"'),
    ],
)
def test_a_place_is_a_path(location: tuple[str | int, ...], path: str) -> None:
    assert path_of(location) == path


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        ("ä", '"ä"'),
        (1.5, "1.5"),
        ([1, "a"], '[1, "a"]'),
        ("x" * 100, '"' + "x" * 56 + "..."),
        ("\x9b2J\u2028", '"\\u009b2J\\u2028"'),
        (PurePath("a"), repr(PurePath("a"))),
    ],
)
def test_a_value_is_shown_as_json_on_one_short_line(value: object, text: str) -> None:
    assert shown(value) == text
