"""One least peak of a model's operations, whoever looks for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.least_peaks import differ, peaks

MODELS = Path(__file__).parents[1] / "models"


@pytest.mark.parametrize("name", ["view.tflite", "choice.tflite", "variable.tflite", "state.pte", "split_cat.pte"])
def test_order_compare_and_reorder_find_the_same_least_peak(name: str) -> None:
    found, _ = peaks(MODELS / name, 20)
    assert all(is_proved for _, is_proved in found.values())
    assert len({peak for peak, _ in found.values()}) == 1
    assert set(found) == {"order", "plan --reorder", "compare"}


def test_peaks_that_differ_are_seen() -> None:
    assert differ({"a": (8, True), "b": (9, True)})
    assert differ({"a": (8, True), "b": (7, False)})
    assert not differ({"a": (8, True), "b": (9, False), "c": (None, False)})
