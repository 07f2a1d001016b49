"""Shadow execution of plans for imported models: it simulates every byte, which checks the readers' lifetimes."""

from collections.abc import Iterator

import pytest

from lab.fuzz_importers import SEEDS
from memplan.planner.foreign.imported import ImportedProblem
from memplan.planner.foreign.model_options import ModelOptions, Views
from memplan.planner.foreign.reading import read_format
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import Buffer
from memplan.planner.verify.verifier import verify
from memplan.programs.lifetimes.shadow import shadow
from memplan.programs.models.imported_program import ImportedProgram
from memplan.programs.operations.operations import Operations
from memplan.solvers.portfolio.solve import solve

TELLING = ("tflite", "executorch", "onnx", "tvm", "relax", "stablehlo", "torch-export", "ggml", "pto", "tilelang")
"""The names of the readers that return operations and not only lifetimes."""
BEHIND_A_MODEL = ("onnxruntime-plan",)
"""The formats that can be read only together with a model, because only the model has the sizes."""


def models(name: str, views: Views) -> list[tuple[ImportedProblem, Operations]]:
    """Return (imported model, operations) for the small models of a format that contain operations."""
    if name == "onnx":
        pytest.importorskip("onnx", reason="needs the extra onnx")
    read = [read_format(name, data, ModelOptions(views=views)) for data in SEEDS[name]()]
    return [(found, found.operations) for found in read if isinstance(found, ImportedProgram)]


@pytest.mark.parametrize("name", sorted(SEEDS.keys() - {*TELLING, *BEHIND_A_MODEL}))
def test_other_formats_are_read_without_operations(name: str) -> None:
    assert models(name, "alias") == []


@pytest.mark.parametrize("views", ["alias", "separate"])
@pytest.mark.parametrize("name", TELLING)
def test_shadow_execution_of_every_model_accepts_its_plan(name: str, views: Views) -> None:
    found_models = models(name, views)
    assert found_models
    for found, operations in found_models:
        plan = solve(found.problem)
        assert (plan.status, shadow(operations, plan)) == ("optimal", ())


def shortened_lifetimes(problem: Problem) -> Iterator[tuple[Problem, Plan, Buffer]]:
    """Yield (problem with one lifetime that is a step too short, plan that reuses its bytes in that step, the buffer).

    Two buffers are pinned to one offset, which only the wrong lifetime allows; `auto` places all other buffers.
    """
    rows = [row.model_dump(exclude_none=True) for row in problem.buffers]
    for victim, row in enumerate(problem.buffers):
        if row.alias_of is not None or row.start is None or row.end is None or row.end - row.start < 2 or not row.size:
            continue
        for thief, other in enumerate(problem.buffers):
            if other.alias_of is None and other.start == row.end - 1 and other.size:
                wrong = [dict(kept) for kept in rows]
                wrong[victim] |= {"end": row.end - 1, "offset": 0}
                wrong[thief] |= {"offset": 0}
                mistaken = Problem(buffers=wrong, pools=problem.pools)
                yield mistaken, solve(mistaken), row
                break


@pytest.mark.parametrize("name", TELLING)
def test_shadow_execution_detects_a_lifetime_that_is_one_step_too_short(name: str) -> None:
    mistakes = 0
    for found, operations in models(name, "separate"):
        for wrong, plan, victim in shortened_lifetimes(found.problem):
            assert verify(wrong, plan) == ()
            assert victim.id in {clobber.buffer for clobber in shadow(operations, plan)}
            mistakes += 1
    assert mistakes > 0
