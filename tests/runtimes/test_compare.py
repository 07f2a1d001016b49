"""Comparison of models with the planners of their runtimes under short time limits."""

import threading
from pathlib import Path

import pytest

from memplan.extensions.files.compare import compare as comparing
from memplan.extensions.files.compare.compare import compare
from memplan.planner.errors import TimeOverError
from memplan.planner.foreign.reading import read_model
from memplan.planner.model import rows
from memplan.questions.question import Control

MODEL = (Path(__file__).parents[2] / "tests" / "models" / "choice.tflite").read_bytes()


def test_compare_searches_no_order_after_the_time_limit_and_reports_this(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, over = compare(MODEL), threading.Event()
    assert whole.memplan_reordered is not None
    over.set()
    monkeypatch.setattr(comparing, "reorder_program", lambda *_: 1 // 0)
    found = compare(MODEL, control=Control(cancelled=over))
    assert found.memplan_reordered is None
    assert found.warnings[-1] == "the time was over before another order of its operations was examined"
    assert whole.warnings == found.warnings[:-1]


def test_compare_stops_reading_and_planning_a_large_model_at_the_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparing, "_LARGE_BYTES", 0)
    over = threading.Event()
    found = compare(MODEL, control=Control(cancelled=over, note=lambda _: over.set()))
    assert found.memplan.peak is not None
    assert found.own is None
    assert found.memplan_reordered is None
    with pytest.raises(TimeOverError, match=rf"plan a model of {len(MODEL):,} bytes, got only enough to read the file"):
        compare(MODEL, control=Control(cancelled=over))


def test_reading_a_model_never_searches_for_similar_field_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "did_you_mean", lambda *_: 1 // 0)
    assert read_model(MODEL, "choice.tflite").operations.functions
