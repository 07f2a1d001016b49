"""The options of a call, as they are taken and told back."""

from __future__ import annotations

import pytest

from memplan.api.options import Options


@pytest.mark.parametrize(
    ("said", "kept"),
    [("fit", "fit"), ("5%", "5%"), ("2.5", "2.5"), (5, 5.0), ("1e1", 10.0), ("1.5e1%", 15.0), (None, None)],
)
def test_what_is_good_enough_is_told_back_as_the_schema_spells_it(said: object, kept: object) -> None:
    assert Options.model_validate({"accept": said}).accept == kept
