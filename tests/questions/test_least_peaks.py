"""`order`, `compare` and `reorder` find the same minimum peak of a model."""

from pathlib import Path

import pytest

from memplan.extensions.files.compare.compare import CompareOptions, ModelComparison, compare
from memplan.programs.inputs import read_graph
from memplan.programs.order.options import OrderOptions
from memplan.programs.order.order import order
from memplan.programs.order.reordering import reorder
from memplan.questions.reading import Reader
from memplan.solvers.search.control import Control

MODELS = Path(__file__).parents[1] / "models"


@pytest.mark.parametrize("name", ["view.tflite", "choice.tflite", "variable.tflite", "state.pte", "split_cat.pte"])
def test_order_compare_and_reorder_find_the_same_least_peak(name: str) -> None:
    data = (MODELS / name).read_bytes()
    ordered = order(read_graph(Reader(), data, name), OrderOptions(goal="placed", time_limit_s=20))
    reordered = reorder(data, name, Control.from_limit(20)).answer
    beside = compare(data, CompareOptions(name=name, time_limit_s=120))
    assert isinstance(beside, ModelComparison)
    compared = beside.memplan_reordered
    assert compared is not None
    assert ordered.placed_peak == reordered.placed_peak == compared.peak
    assert {ordered.placed_status, reordered.status, reordered.placed_status, compared.status} == {"optimal"}
