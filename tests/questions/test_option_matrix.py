"""Options of each question for each kind of file: each is honoured or refused, and none is ignored."""

from __future__ import annotations

import pytest

from memplan.questions import QUESTIONS
from memplan.questions.reading import ReadOptions
from tests.support.option_matrix import EXAMPLES, options_of, silent_options, values_of

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("file", EXAMPLES)
@pytest.mark.parametrize("name", [name for name, question in QUESTIONS.items() if options_of(question)])
def test_no_option_of_reading_is_ignored(name: str, file: str) -> None:
    assert [*silent_options(name, file)] == []


def test_each_option_of_reading_has_a_value_in_the_matrix() -> None:
    assert {*values_of("json")} == {*ReadOptions.model_fields}
