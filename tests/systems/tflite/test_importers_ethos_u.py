"""Models that Vela compiled: the plan inside verifies, and the compiled commands keep their distances."""

from __future__ import annotations

from typing import Any

import pytest

from memplan.planner.errors import FormatError
from memplan.planner.verify.verifier import verify
from memplan.solvers.portfolio.solve import solve
from memplan.systems.imported import Imported
from memplan.systems.model_options import ModelOptions
from memplan.systems.tflite.reader import read
from memplan.systems.tflite.reordered import with_orders
from tests.support.tflite_files import INT8, model, operator, subgraph, tensor

COMMANDS, WEIGHTS = tensor("commands", (64,), INT8, constant=True), tensor("weights", (64,), INT8, constant=True)


def byte_tensor(name: str, size: int) -> Any:
    return tensor(name, (size,), INT8)


def compiled(tensors: list[Any], places: list[int], operators: list[Any], result: int) -> Imported:
    """Return a model with commands and weights before the tensors given, the third of which is its input."""
    graph = subgraph([COMMANDS, WEIGHTS, *tensors], [4], [result], operators)
    return read(model(graph, offline_plan=[1, 0, 2 + len(places), -1, -1, *places]), ModelOptions())


SCRATCH, X, Y = byte_tensor("scratch", 4096), byte_tensor("x", 1024), byte_tensor("y", 512)


@pytest.mark.parametrize("fast", [2, 3], ids=["the same tensor", "a tensor of the same place and bytes"])
def test_one_memory_is_counted_once(fast: int) -> None:
    tensors = [SCRATCH, byte_tensor("scratch_fast", 4096), X, Y]
    found = compiled(tensors, [0, 0, 3072, 0], [operator("ethos-u", [0, 1, 2, fast, 4], [5])], 5)
    assert found.own_plan is not None
    assert verify(found.problem, found.own_plan) == ()
    assert (len(found.problem.pools), found.own_peak, solve(found.problem).peak) == (1, 4096, 4096)


def test_two_memories_are_counted_apart() -> None:
    tensors = [SCRATCH, byte_tensor("scratch_fast", 2048), X, Y]
    found = compiled(tensors, [0, 0, 3072, 0], [operator("ethos-u", [0, 1, 2, 3, 4], [5])], 5)
    assert found.own_plan is not None
    assert verify(found.problem, found.own_plan) == ()
    assert [pool.name for pool in found.problem.pools] == ["arena", "scratch_fast"]
    assert {row.id: row.pool for row in found.own_plan.placements}["main/scratch_fast"] == "scratch_fast"
    assert found.own_peak == 4096 + 2048


def test_inputs_and_outputs_of_commands_keep_their_distance_in_every_plan() -> None:
    found = compiled(
        [SCRATCH, byte_tensor("-", 16), X, Y], [0, 0, 3072, 512], [operator("ethos-u", [0, 1, 2, 2, 4], [5])], 5
    )
    place = {row.id: row.offset for row in solve(found.problem).placements}
    assert place["main/x"] - place["main/scratch"] == 3072
    assert place["main/y"] - place["main/scratch"] == 512


def test_operators_of_the_processor_stay_free_and_are_verified() -> None:
    tensors = [SCRATCH, byte_tensor("-", 16), X, Y, byte_tensor("made", 512), byte_tensor("result", 512)]
    operators = [
        operator("ethos-u", [0, 1, 2, 2, 4], [5]),
        operator("my_op", [5], [6]),
        operator("my_op", [6, 5], [7]),
    ]
    for place, is_valid in ((1024, True), (256, False)):
        found = compiled(tensors, [0, 0, 3072, 0, 512, place], operators, 7)
        assert found.own_plan is not None
        assert (verify(found.problem, found.own_plan) == ()) == is_valid
        relative = {row.id for row in found.problem.buffers if row.relative is not None}
        assert relative == {"main/x", "main/y"}


def test_compiled_models_are_not_put_into_another_order() -> None:
    graph = subgraph([COMMANDS, WEIGHTS, SCRATCH, X, Y], [3], [4], [operator("ethos-u", [0, 1, 2, 2, 3], [4])])
    with pytest.raises(FormatError, match="must not be compiled for an Ethos-U"):
        with_orders(model(graph), {})


def test_views_of_inputs_of_commands_lie_where_the_inputs_do() -> None:
    tensors = [SCRATCH, byte_tensor("-", 16), X, byte_tensor("view", 1024), Y]
    operators = [operator("RESHAPE", [4], [5]), operator("ethos-u", [0, 1, 2, 2, 5], [6])]
    found = compiled(tensors, [0, 0, 3072, 3072, 0], operators, 6)
    assert found.own_plan is not None
    assert verify(found.problem, found.own_plan) == ()
    assert found.own_peak == 4096


@pytest.mark.parametrize(("scratch", "places"), [(0, [0, 0, 0, 1024]), (4096, [-1, -1, -1, -1])])
def test_models_without_bytes_or_places_for_scratch_tie_nothing(scratch: int, places: list[int]) -> None:
    tensors = [byte_tensor("scratch", scratch), byte_tensor("-", 16), X, Y]
    found = compiled(tensors, places, [operator("ethos-u", [0, 1, 2, 2, 4], [5])], 5)
    assert not any(row.relative for row in found.problem.buffers)
