"""Models compared with the planners of their runtimes, where time is short."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from memplan.extensions.files.compare import compare as comparing
from memplan.extensions.files.compare.compare import compare
from memplan.extensions.networks.models.imported_program import ImportedProgram
from memplan.planner.errors import TimeOverError
from memplan.planner.foreign.reading import read_model
from memplan.planner.model import rows
from memplan.questions.question import Control

MODEL = (Path(__file__).parents[3] / "tests" / "models" / "choice.tflite").read_bytes()


def test_no_other_order_is_sought_after_the_time_limit_and_that_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, over = compare(MODEL), threading.Event()
    assert whole.memplan_reordered is not None
    over.set()
    monkeypatch.setattr(comparing, "reorder_program", lambda *_: 1 // 0)
    found = compare(MODEL, control=Control(cancelled=over))
    assert found.memplan_reordered is None
    assert found.warnings[-1] == "the time was over before another order of its operations was looked at"
    assert whole.warnings == found.warnings[:-1]


def test_a_large_model_is_read_no_further_and_planned_no_more_once_time_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(comparing, "_LARGE_BYTES", 0)
    over = threading.Event()
    found = compare(MODEL, control=Control(cancelled=over, note=lambda _: over.set()))
    assert found.memplan.peak is not None
    assert found.own is None
    assert found.memplan_reordered is None
    with pytest.raises(TimeOverError, match=rf"plan a model of {len(MODEL):,} bytes, got as far as reading it"):
        compare(MODEL, control=Control(cancelled=over))


def test_nothing_that_a_model_lacks_is_looked_up_among_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "did_you_mean", lambda *_: 1 // 0)
    read = read_model(MODEL, "choice.tflite")
    assert isinstance(read, ImportedProgram)
    assert read.operations.functions
