"""Tests of the planners of TVM's USMP: the expected values of TVM's own tests, and the rules of each planner."""

from collections.abc import Mapping, Sequence

import pytest

from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.runtimes.tvm.usmp import workspace
from memplan.runtimes.tvm.usmp.hill_climb import RandR, hill_climb
from memplan.runtimes.tvm.usmp.planners import greedy_by_size
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.reference.tensors import StoppedError
from tests.support import tvm_problems as tvm

ALGORITHMS = ("greedy-by-size", "greedy-by-conflicts", "hill-climb")


def go_on() -> None:
    """Do nothing, so that a planner that calls this function to check for a stop never stops."""


def plan(problem: Problem, algorithm: str) -> Plan:
    return solve(problem, solver=f"reference:tvm-{algorithm}", time_limit_s=60)


def pool_uses(problem: Problem, algorithm: str) -> list[int | None]:
    return [pool.used for pool in plan(problem, algorithm).pools]


def printed_workspace(sizes: Mapping[str, int], conflicts: Mapping[str, Sequence[str]]) -> workspace.UsmpWorkspace:
    """Return a workspace with these sizes and conflicts, which unlike those of a problem may be asymmetric."""
    position = {name: i for i, name in enumerate(sizes)}
    near = {name: [position[other] for other in conflicts[name]] for name in sizes}
    infos = [workspace.BufferInfo(name, size, (0,), (1,), near[name]) for name, size in sizes.items()]
    return workspace.UsmpWorkspace(infos, (None,))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_all_planners_need_140_bytes_for_the_linear_chain(algorithm: str) -> None:
    assert pool_uses(tvm.problem_of_conflicts(tvm.LINEAR, tvm.LINEAR_CONFLICTS), algorithm) == [140]


def test_planners_need_as_many_bytes_as_tvm_for_the_asymmetric_fan_out() -> None:
    task = printed_workspace(tvm.FAN_OUT, tvm.FAN_OUT_CONFLICTS)
    by_size, _ = workspace.place_above_conflicts(task, workspace.order_by_size(task), go_on)
    by_conflicts, _ = workspace.place_above_conflicts(task, workspace.order_by_conflicts(task), go_on)
    climbed, _ = hill_climb(task, go_on)
    assert [
        max(offset + task.buffers[i].size for i, (_, offset) in placements.items())
        for placements in (by_size, by_conflicts, climbed)
    ] == [190, 320, 190]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_equal_buffers_are_placed_in_descending_order_of_names(algorithm: str) -> None:
    problem = tvm.problem_of_conflicts(
        {"bi_a": 10, "bi_b": 10, "bi_c": 10}, {"bi_a": ["bi_b", "bi_c"], "bi_b": ["bi_c"]}
    )
    assert {row.id: row.offset for row in plan(problem, algorithm).placements} == {"bi_a": 20, "bi_b": 10, "bi_c": 0}


@pytest.mark.parametrize(("alignment", "greedy"), [(1, 1_418_518), (16, 1_418_528), (64, 1_418_560)])
def test_planners_need_as_many_bytes_as_tvm_for_mobilenet_in_two_pools(alignment: int, greedy: int) -> None:
    problem = tvm.problem_of_lives(tvm.MOBILENET, tvm.FAST_AND_SLOW, alignment)
    uses = [pool_uses(problem, algorithm) for algorithm in ALGORITHMS]
    assert uses == [[200_704, greedy], [200_704, greedy], [200_704, 1_117_462]]


@pytest.mark.parametrize("alignment", [1, 16])
def test_planners_need_as_many_bytes_as_tvm_for_resnet(alignment: int) -> None:
    problem = tvm.problem_of_lives(tvm.RESNET, alignment=alignment)
    assert [pool_uses(problem, algorithm) for algorithm in ALGORITHMS] == [[7_920_256], [7_200_256], [7_200_256]]


@pytest.mark.parametrize(("rows", "pressure"), [(tvm.MOBILENET, 1_117_718), (tvm.RESNET, 7_200_256)])
def test_memory_pressure_is_the_live_peak(rows: Sequence[tuple[str, int, int, int]], pressure: int) -> None:
    task, _ = workspace.usmp_workspace(tvm.problem_of_lives(rows), go_on)
    assert task.memory_pressure == pressure


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_rounding_to_the_neighbours_alignment_gives_a_rejected_plan(algorithm: str) -> None:
    rows = [{"id": "large", "size": 10}, {"id": "small", "size": 4, "alignment": 8}]
    problem = Problem(buffers=rows, conflicts=[["large", "small"]])
    rejected = plan(problem, algorithm)
    assert (rejected.status, len(rejected.placements)) == ("unknown", 0)
    assert rejected.explanation.buffers == ("small",)
    assert pool_uses(problem, f"{algorithm}-own-alignment") == [20]


def test_including_an_excluded_pool_again_gives_a_rejected_plan() -> None:
    # c fits above z (5) but not above a (11), so USMP first excludes the pool, then includes it again.
    problem = tvm.problem_of_lives([("w", 6, 0, 2), ("a", 5, 1, 3), ("c", 4, 2, 6), ("z", 5, 4, 6)], [{"size": 13}])
    assert greedy_by_size(problem, 0, go_on).placements == {0: (0, 0), 1: (0, 6), 2: (0, 5), 3: (0, 0)}
    rejected = plan(problem, "greedy-by-size")
    assert (rejected.status, rejected.explanation.buffers) == ("unknown", ("a", "c"))


def test_the_explanation_names_a_buffer_that_fits_in_no_pool() -> None:
    # z would fit below y, but the greedy planners try only offsets above conflicts, so they find no place for it.
    problem = tvm.problem_of_lives([("x", 6, 0, 2), ("y", 5, 1, 3), ("z", 4, 2, 4)], [{"size": 12}])
    stuck = plan(problem, "greedy-by-size")
    assert (stuck.status, stuck.lower_bound, stuck.explanation.buffers) == ("unknown", None, ("z",))
    assert pool_uses(problem, "hill-climb") == [11]


def test_hill_climb_ends_if_its_only_candidate_is_listed_twice() -> None:
    task = printed_workspace({"a": 8, "b": 4}, {"a": "bb", "b": "aa"})
    assert hill_climb(task, go_on) == ({0: (0, 0), 1: (0, 8)}, ())


def test_random_numbers_equal_those_of_glibcs_rand_r() -> None:
    random = RandR(0)
    assert [random() for _ in range(5)] == [1012484, 1716955679, 1792309082, 229610924, 1639479903]


def test_buffers_alive_together_twice_are_listed_as_conflicts_twice() -> None:
    rows = [{"id": "a", "size": 1, "start": 0, "end": 9}, {"id": "b", "size": 1, "lifetimes": [[1, 2], [3, 4]]}]
    rows.append({"id": "c", "size": 1, "start": 20, "end": 21})
    task, _ = workspace.usmp_workspace(Problem(buffers=rows, conflicts=[["a", "b"], ["c", "b"], ["b", "c"]]), go_on)
    assert [list(info.conflicts) for info in task.buffers] == [[1, 1], [0, 0, 2], [1]]


def test_usmp_planners_stop_on_cancellation() -> None:
    def stop() -> None:
        raise StoppedError

    with pytest.raises(StoppedError):
        greedy_by_size(tvm.problem_of_lives(tvm.MOBILENET), 0, stop)
