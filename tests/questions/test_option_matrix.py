"""Each reading option of each question is either honoured or refused for each kind of file."""

from __future__ import annotations

import pytest

from memplan.questions import QUESTIONS
from memplan.questions.reading import ReadOptions
from tests.support.option_matrix import EXAMPLES, options_of, silent_options, values_of

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("file", EXAMPLES)
@pytest.mark.parametrize("name", [name for name, question in QUESTIONS.items() if options_of(question)])
def test_no_reading_option_is_silently_ignored(name: str, file: str) -> None:
    assert [*silent_options(name, file)] == []


def test_each_reading_option_has_a_value_in_the_option_matrix() -> None:
    assert {*values_of("json")} == {*ReadOptions.model_fields}
