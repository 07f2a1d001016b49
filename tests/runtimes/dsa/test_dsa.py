"""Tests of dsa-solver: reading its problems, refusing malformed files, and the costs of its greedy planner."""

import json
from typing import Any

import pytest

from memplan import read_problem, solve
from memplan.planner.errors import InputError
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.model.problem import Problem
from memplan.runtimes.dsa.reader import read
from memplan.runtimes.rows import is_dsa
from tests.support import public_problems

Data = dict[str, Any]
TERMS = ["capacity_overflow", "reuse_cost"]


def document(**changed: Any) -> Data:
    spans = ((0, 4), (4, 6), (5, 9))
    problem: Data = {
        "pools": [{"id": 7, "name": "Mat", "capacity": 96, "reserved_ranges": [{"begin": 0, "end": 8}]}],
        "buffers": [
            {"id": k, "name": "x", "size": 32, "alignment": 8, "allowed_pools": [7]}
            | {"live_intervals": [{"lower": low, "upper": high}]}
            for k, (low, high) in enumerate(spans)
        ],
        "constraints": {},
        "objective": {"terms": TERMS},
    }
    return {"instance": "kernel", "problem": problem | changed}


def problem(**changed: Any) -> Problem:
    found = read(json.dumps(document(**changed)).encode(), ModelOptions()).problem
    return found() if callable(found) else found


def test_pools_buffers_and_costs_of_a_dsa_problem_are_read() -> None:
    penalties = [{"first": 0, "second": 1, "cost": 2}, {"first": 0, "second": 2, "cost": 1}]
    assert is_dsa(json.dumps(document()).encode())
    assert not is_dsa(b'{"buffers": []}')
    found = problem(cost_model={"reuse_penalties": penalties})
    assert found.pools[0].reserved == ((0, 8),)
    assert [(row.cost, row.pairs) for row in found.reuse] == [(1, ((0, 2),)), (2, ((0, 1),))]
    assert (found.objective, found.name, found.buffers[2].intervals) == ("cost", "kernel", ((5, 9),))


@pytest.mark.parametrize(
    ("rule", "entries", "conflicts"),
    [
        ("separations", [{"first": 0, "second": 1}], {(0, 1)}),
        ("temporal_exclusions", [{"first": 0, "second": 1}], {(1, 2)}),
        ("pinned_allocations", [{"buffer": 0, "offset": 8, "exclusive_for_all_time": True}], {(0, 1), (0, 2)}),
        ("colocations", [{"first": 0, "second": 1}], set()),
    ],
)
def test_each_kind_of_dsa_constraint_is_read(rule: str, entries: list[Data], conflicts: set[tuple[int, int]]) -> None:
    found = problem(constraints={rule: entries})
    assert (set(found.conflicts), found.objective) == (conflicts, "fit")
    assert (found.buffers[0].offset == 8) == (rule == "pinned_allocations")
    assert (found.buffers[1].relative is not None) == (rule == "colocations")
    assert (not found.buffers[1].intervals) == (rule == "temporal_exclusions")


@pytest.mark.parametrize("pairs", [[(0, 2), (1, 2)], [(0, 1), (1, 2), (2, 0)], [(2, 0), (2, 1)]])
def test_colocations_that_share_a_buffer_form_one_group(pairs: list[tuple[int, int]]) -> None:
    found = problem(constraints={"colocations": [{"first": a, "second": b} for a, b in pairs]})
    tied = [{k, row.relative.to} for k, row in enumerate(found.buffers) if row.relative is not None]
    assert (len(tied), set.union(*tied)) == (2, {0, 1, 2})


@pytest.mark.parametrize(
    "changed",
    [{"buffers": [{"id": 0}]}, {"pools": []}, {"objective": {"terms": ["bank_cost"]}}],
    ids=["a buffer without a size", "no pools", "another objective"],
)
def test_a_malformed_dsa_problem_is_refused(changed: Data) -> None:
    with pytest.raises(InputError):
        problem(**changed)


NAME = "reference:dsa-canonical-greedy"


@pytest.mark.parametrize(("lift", "price"), [("a", 326), ("f", 135)])
def test_canonical_greedy_reaches_the_recorded_costs_of_the_original(lift: str, price: int) -> None:
    """The costs are in dsa-solver a8d1257, benchmarks/results/minimalloc-dsa-rp-v1. First fit costs 616 on lift_f."""
    problem = read_problem(public_problems.library_file(f"reuse/dsa-solver-lift_{lift}.json"))
    assert solve(problem, solver=NAME, time_limit_s=60).cost == price


def priced_problem(*sizes: int, **fields: Any) -> Problem:
    """Return a problem of buffers that are alive one after another, with a pool whose first 4 bytes are reserved."""
    rows = [{"id": k, "size": size, "start": k, "end": k + 1, "alignment": 8} for k, size in enumerate(sizes)]
    pools = [{"name": "ub", "size": 32, "reserved": [[0, 4]]}]
    return Problem.model_validate({"buffers": rows, "pools": pools, "objective": "cost", **fields})


@pytest.mark.parametrize(
    ("fields", "offsets"),
    [
        ({"reuse": [{"pairs": [[0, 1], [1, 2]], "cost": 1}]}, [8, 24, 8]),
        ({"reuse": [{"pairs": [[0, 1], [0, 2], [1, 2]], "cost": 1}, {"pairs": [[0, 2]], "cost": 4}]}, [8, 24, 24]),
        ({"reuse": [{"pairs": [[0, 1]], "cost": 1}], "conflicts": [[0, 2]]}, [8, 24, 24]),
    ],
    ids=["on a neighbour", "where it costs less", "above what conflicts"],
)
def test_canonical_greedy_places_each_buffer_where_it_costs_least(fields: Any, offsets: list[int]) -> None:
    assert solve(priced_problem(12, 8, 8, **fields), solver=NAME, time_limit_s=60).placements.offset.tolist() == offsets


def test_canonical_greedy_refuses_a_pool_without_a_size() -> None:
    plan = solve(priced_problem(8, 8, reuse=[{"pairs": [[0, 1]], "cost": 1}], pools=[{"name": "ub"}]), solver=NAME)
    assert "with a given size" in plan.explanation.message
