"""Error messages: locations, value excerpts, unknown fields, and documents of the wrong kind."""

from pathlib import PurePath
from typing import Any

import pytest

from memplan.planner.errors import InputError, excerpt, path_of
from memplan.planner.model.problem import Problem


@pytest.mark.parametrize(
    ("location", "path"),
    [
        ((), ""),
        (("buffers",), "buffers"),
        (("buffers", 3, "end"), "buffers[3].end"),
        ((0, 1), "[0][1]"),
        (("buffers", 3, "x" * 100), 'buffers[3]."' + "x" * 28 + "..." + "x" * 27 + '"'),
        (("buffers", 3, ""), 'buffers[3].""'),
        (("\x1b[2J",), '"\\u001b[2J"'),
    ],
)
def test_path_of_formats_an_error_location_as_a_path(location: tuple[str | int, ...], path: str) -> None:
    assert path_of(location) == path


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        ("ä", '"ä"'),
        (1.5, "1.5"),
        ([1, "a"], '[1, "a"]'),
        ("x" * 100, '"' + "x" * 28 + "..." + "x" * 27 + '"'),
        ("\x9b2J\u2028", '"\\u009b2J\\u2028"'),
        (PurePath("a"), repr(PurePath("a"))),
    ],
)
def test_excerpt_shows_a_value_as_one_short_line_of_json(value: object, text: str) -> None:
    assert excerpt(value) == text


PLAIN: dict[str, Any] = {"id": "a", "size": 4, "start": 0, "end": 1}


def test_an_unknown_field_repeated_in_all_rows_is_reported_once() -> None:
    with pytest.raises(InputError) as caught:
        Problem.model_validate({"buffers": [PLAIN | {"id": k, "lower": 0} for k in range(19)]})
    assert caught.value.sentences == ("buffers[0].lower: is not a known field (did you mean start?)",)
