"""Answers about ONNX models, verified by ONNX Runtime: equal outputs in the arena of the plan, in both orders."""

from collections import Counter

import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from memplan.planner.foreign.reading import read_model
from memplan.questions.plan.plan import PlanOptions, plan
from tests.runtimes import onnx_models
from tests.runtimes.executed_models import draw_models, faults
from tests.runtimes.onnx_runs import ArenaRun, draw_inputs, run_whole

MODELS = dict(draw_models(13))


@pytest.mark.parametrize("name", MODELS)
def test_onnx_models_compute_the_same_outputs_in_the_bytes_of_their_plans(name: str) -> None:
    tally = Counter[str]()
    assert list(faults(MODELS[name], tally)) == []
    assert tally["runs in an arena"]


def test_a_plan_with_two_live_values_at_one_offset_gives_wrong_outputs() -> None:
    data = onnx_models.choice()
    problem = read_model(data, "m.onnx").problem
    found = plan(problem, options=PlanOptions(time_limit_s=1))
    rows = [row.model_copy(update={"offset": 0}) for row in found.placements]
    inputs = draw_inputs(data, 1)
    run = ArenaRun(data, problem, found.model_copy(update={"placements": rows}))
    assert any((one != other).any() for one, other in zip(run.run(inputs), run_whole(data, inputs), strict=True))
