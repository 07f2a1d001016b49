from __future__ import annotations

from typing import Any

import pytest

from memplan.planner.instance.compile import compile_problem
from memplan.planner.model.problem import Problem
from memplan.solvers.formulation.offset_ranges import horizon, spans
from tests.support import oracle
from tests.support.depth import seeds
from tests.support.tied_problems import tied_problem

FAST, SLOW = {"name": "fast", "size": 8}, {"name": "slow", "size": 64}


def found(rows: list[dict[str, Any]], ends: tuple[int, ...], **fields: Any) -> list[dict[int, tuple[int, int]]]:
    problem = Problem.model_validate({"buffers": [{"id": k} | row for k, row in enumerate(rows)], **fields})
    instance = compile_problem(problem)
    assert instance.unit == 1
    return spans(instance, ends)


def test_a_buffer_reaches_from_its_lowest_offset_to_the_last_aligned_one_below_the_end() -> None:
    assert found([{"size": 3, "alignment": 4}], (18,)) == [{0: (0, 12)}]
    assert found([{"size": 3, "alignment": 4}], (18,), pools=[{"base_address": 1}]) == [{0: (3, 15)}]


def test_a_pinned_buffer_lies_at_its_pin_or_nowhere() -> None:
    assert found([{"size": 3, "offset": 5}], (8,)) == [{0: (5, 5)}]
    assert found([{"size": 3, "offset": 5}], (7,)) == [{}]


def test_a_rigid_group_moves_as_far_as_all_of_it_fits() -> None:
    rows: list[dict[str, Any]] = [{"size": 3}, {"size": 2, "relative": {"to": 0, "offset": 4}}]
    assert found(rows, (9,)) == [{0: (0, 3)}, {0: (4, 7)}]
    assert found(rows, (5,)) == [{}, {}]


def test_a_colocation_lies_only_where_all_of_it_fits() -> None:
    rows = [{"size": 3}, {"size": 9}, {"size": 1}]
    homes = found(rows, (8, 64), pools=[FAST, SLOW], together=[[0, 1]])
    assert [sorted(mine) for mine in homes] == [[1], [1], [0, 1]]


@pytest.mark.drawn
def test_no_memory_need_be_filled_beyond_its_horizon() -> None:
    for seed in seeds(50):
        problem = tied_problem(seed, most=4)
        instance = compile_problem(problem)
        ends = [horizon(instance, q) * instance.unit for q in range(len(instance.pools))]
        pools = [
            pool.model_copy(update={"size": end if pool.size is None else min(end, pool.size)})
            for pool, end in zip(problem.pools, ends, strict=True)
        ]
        limited = problem.model_copy(update={"pools": tuple(pools)})
        assert oracle.best_score(limited) == oracle.best_score(problem), problem.model_dump_json(exclude_defaults=True)
