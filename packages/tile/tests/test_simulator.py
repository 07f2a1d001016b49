"""The simulator of schedules, held against the examples of the contest's document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from memplan_tile.contest import ScheduleProblem
from memplan_tile.graph import ScheduleStep
from memplan_tile.simulator import simulate

from memplan.capabilities.schedule.form import Target

POINT, PRODUCT = "Pointwise", "MatMul"


Rows = list[list[int]]


def problem(
    side: int, inputs: Rows, outputs: Rows, costs: list[int], kinds: list[str], capacity: int
) -> ScheduleProblem:
    count = max(max(row) for row in [*inputs, *outputs]) + 1
    fields = {"widths": [side] * count, "heights": [side] * count, "inputs": inputs, "outputs": outputs}
    fields |= {"base_costs": costs, "op_types": kinds, "fast_memory_capacity": capacity}
    machine = {"slow_memory_bandwidth": 10, "native_granularity": [128, 128]}
    return ScheduleProblem.model_validate(fields | machine)


def step(
    operations: Sequence[int],
    tile: tuple[int, int, int] = (128, 128, 1),
    retained: Sequence[int] = (),
    order: Sequence[int] | None = None,
) -> ScheduleStep:
    return ScheduleStep(tuple(operations), *tile, None if order is None else tuple(order), tuple(retained))


CHAIN = problem(128, [[0], [1]], [[1], [2]], [1000, 100], [POINT, POINT], 35000)
LARGE = problem(256, [[0], [1]], [[1], [2]], [1000, 100], [POINT, POINT], 35000)
DIAMOND = problem(128, [[0], [1], [1, 2]], [[1], [2], [3]], [1500] * 3, [POINT] * 3, 50000)
ONE_PRODUCT = problem(128, [[0, 1]], [[2]], [1500], [PRODUCT], 25000)
TWO_PRODUCTS = problem(128, [[0, 1], [3, 2]], [[3], [4]], [2000, 2000], [PRODUCT, PRODUCT], 45000)


@pytest.mark.parametrize(
    ("given", "steps", "latency"),
    [
        pytest.param(CHAIN, [step([0]), step([1])], 6553.6, id="1A"),
        pytest.param(CHAIN, [step([0, 1])], 3276.8, id="1B"),
        pytest.param(CHAIN, [step([0, 1], (64, 64, 1))], 4400, id="1C"),
        pytest.param(LARGE, [step([0]), step([1])], 26214.4, id="2A"),
        pytest.param(LARGE, [step([0, 1])], 13107.2, id="2B"),
        pytest.param(DIAMOND, [step([0]), step([1]), step([2])], 11468.8, id="3A"),
        pytest.param(DIAMOND, [step([0, 1], retained=[2]), step([0, 2])], 6276.8, id="3B"),
        pytest.param(DIAMOND, [step([0], retained=[1]), step([1, 2])], 4638.4, id="3C"),
        pytest.param(ONE_PRODUCT, [step([0], (64, 64, 128))], 7096, id="4A, by ruling 37"),
        pytest.param(ONE_PRODUCT, [step([0], (64, 64, 128), order=[0, 1, 3, 2])], 6548, id="4B"),
        pytest.param(TWO_PRODUCTS, [step([0, 1], (128, 128, 32))], 6915.2, id="5B"),
    ],
)
def test_the_examples_of_the_document_take_the_time_that_it_states(
    given: ScheduleProblem, steps: list[ScheduleStep], latency: float
) -> None:
    found = simulate(given.graph, given.target, steps)
    assert found.violations == ()
    assert found.latency == pytest.approx(latency)


def test_the_fifth_example_does_not_fit_whole() -> None:
    found = simulate(TWO_PRODUCTS.graph, TWO_PRODUCTS.target, (step([0, 1], (128, 128, 128)),))
    assert found.violations == ("steps[0]: needs 65536 bytes of the fast memory, more than its 45000",)


@pytest.mark.parametrize(
    ("given", "steps", "wrong"),
    [
        (CHAIN, [step([0])], "operations[1]: must be in a step"),
        (CHAIN, [step([1]), step([0])], "steps[0]: tensor 1 must be in one of the memories"),
        (CHAIN, [step([0], retained=[2]), step([1])], "steps[0].retained: must be made by the step"),
        (CHAIN, [step([0, 1], retained=[2])], "tensor 2: must be written, as an output of the graph"),
        (CHAIN, [step([0, 1], (256, 128, 1))], "steps[0]: tile must be at most the native 128 x 128, got 256 x 128"),
        (CHAIN, [step([0, 1], order=[1])], "steps[0]: order must have every tile once"),
        (DIAMOND, [step([0]), step([1], retained=[2]), step([0]), step([2])], "steps[3]: tensor 2 must be in one"),
        (ONE_PRODUCT, [step([0], (64, 64, 256))], "steps[0]: depth must be at most the native tile"),
    ],
)
def test_a_schedule_that_breaks_a_rule_has_a_violation(
    given: ScheduleProblem, steps: list[ScheduleStep], wrong: str
) -> None:
    found = simulate(given.graph, given.target, steps)
    assert any(text.startswith(wrong) for text in found.violations), found.violations


def test_a_strip_that_rolls_is_made_once_for_the_tiles_of_its_rows() -> None:
    target = TWO_PRODUCTS.target.model_copy(update={"rolls": True}).with_capacity(50000)
    tiled = step([0, 1], (64, 64, 128), order=[0, 1, 3, 2])
    again, once = (simulate(TWO_PRODUCTS.graph, target, (replace(tiled, rolls=rolls),)) for rolls in ((), (3,)))
    assert (again.latency, again.peak) == (4 * 4000, 36864)
    assert (once.latency, once.peak) == (2 * 4000 + 2 * 2000, 36864 + 64 * 128)
    on_the_contest = simulate(TWO_PRODUCTS.graph, TWO_PRODUCTS.target, (replace(tiled, rolls=(3,)),))
    assert on_the_contest.violations == ("steps[0].rolls: must be made by the step, on a target that rolls",)


def test_an_alternative_has_its_own_time_and_its_own_slots_in_the_fast_memory() -> None:
    others = [
        {"base_cost": 5000, "workspace": 2000},
        {"base_cost": 900, "native_granularity": [64, 32]},
        {"base_cost": 1000, "in_place": True},
    ]
    given = ScheduleProblem.model_validate(CHAIN.model_dump() | {"alternatives": [others, []]})

    def ran(way: int) -> tuple[float, int]:
        steps = replace(step([0]), alternatives=(way,)), step([1])
        found = simulate(given.graph, given.target, steps).figures[0]
        return found.latency, found.peak

    assert [ran(way) for way in range(4)] == [(3276.8, 32768), (5000, 34768), (8 * 900, 32768), (3276.8, 16384)]
    wrong = simulate(given.graph, given.target, (step([0]), replace(step([1]), alternatives=(1,))))
    assert wrong.violations == ("steps[1].alternatives: must be one for each operation, each less than [1]",)


def test_copies_and_alignment_are_counted_in_the_fast_memory() -> None:
    fields = CHAIN.target.model_dump()
    fields["engine"]["copies"], fields["memories"][0]["alignment"] = 2, 1000
    tiled = (step([0, 1], (64, 64, 1)),)
    assert simulate(CHAIN.graph, CHAIN.target, tiled).peak == 2 * 64 * 64
    assert simulate(CHAIN.graph, Target.model_validate(fields), tiled).peak == 2 * 2 * 5000
