"""The plan cache relies on this: problems with equal hashes have the same optimum, under any constraints."""

import random
from collections.abc import Callable
from math import isclose
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memplan.planner.errors import InputError
from memplan.planner.instance.canonical import problem_hash
from memplan.planner.instance.compile import compile_problem
from memplan.planner.instance.contents import traffic_unit
from memplan.planner.model.problem import Problem
from tests.support.oracle import best_score
from tests.support.renaming import Data, problem_data, respell
from tests.support.strategies import raw_problems, tied_problems


def optimum(problem: Problem) -> list[float] | None:
    """Return the optimal score by brute force, in the units that the hash uses for bytes and traffic."""
    instance, best = compile_problem(problem), best_score(problem)
    if best is None:
        return None
    ends = [end / instance.unit for end in best[-len(problem.pools) :]]
    return ends if problem.objective != "cost" else [best[0] / traffic_unit(instance), *ends]


def are_alike(first: list[float] | None, second: list[float] | None) -> bool:
    if first is None or second is None:
        return first is second
    return all(isclose(a, b, rel_tol=1e-9) for a, b in zip(first, second, strict=True))


@given(data=raw_problems(4), rng=st.randoms(use_true_random=False), k=st.integers(1, 6))
def test_equivalent_forms_of_a_problem_have_equal_hash_and_optimum(data: Data, rng: random.Random, k: int) -> None:
    problem, other = Problem.model_validate(data), Problem.model_validate(respell(data, rng, k))
    assert problem_hash(problem) == problem_hash(other)
    assert are_alike(optimum(problem), optimum(other))


@given(problem=tied_problems(3), rng=st.randoms(use_true_random=False), k=st.integers(1, 6))
def test_equivalent_constraints_have_equal_hash_and_optimum(problem: Problem, rng: random.Random, k: int) -> None:
    other = Problem.model_validate(respell(problem_data(problem), rng, k))
    if compile_problem(problem).unplaceable:
        return  # unplaceable problems are proved infeasible immediately and never cached
    assert problem_hash(problem) == problem_hash(other)
    assert are_alike(optimum(problem), optimum(other))


def _drop(name: str) -> Callable[[Data, random.Random], Data]:
    return lambda data, rng: data | {name: data[name][1:]} if data.get(name) else data


def _scale_traffic(data: Data, rng: random.Random) -> Data:
    k = rng.randint(2, 3)
    return data | {"buffers": [row | {"traffic": k * row.get("traffic", row["size"])} for row in data["buffers"]]}


def _change_number(data: Data, rng: random.Random) -> Data:
    rows = [dict(row) for row in data["buffers"]]
    row = rng.choice(rows)
    name = rng.choice([name for name in row if isinstance(row[name], int) and name not in ("id", "alias_of")])
    row[name] += rng.choice((-1, 1))
    return data | {"buffers": rows}


def _change_pool(data: Data, rng: random.Random) -> Data:
    pools = [dict(pool) for pool in data["pools"]]
    name = rng.choice(("size", "base_address", "bank_size", "cost"))
    pool = rng.choice(pools)
    pool[name] = (pool.get(name) or 0) + rng.choice((1, 4))
    pool["device"] = pool["name"]
    return data | {"pools": pools}


def _weigh_more(data: Data, rng: random.Random) -> Data:
    uses = [use | {"weight": 2 * use["weight"]} if use.get("weight") else use for use in data.get("bank", ())]
    return data | {"bank": uses}


CHANGES = (_scale_traffic, _change_number, _change_number, _change_pool, _weigh_more, _drop("bank"), _drop("may_share"))


@given(problem=tied_problems(3), change=st.sampled_from(CHANGES), rng=st.randoms(use_true_random=False))
def test_a_change_that_preserves_the_hash_preserves_the_optimum(
    problem: Problem, change: Callable[[Data, random.Random], Data], rng: random.Random
) -> None:
    try:
        other = Problem.model_validate(change(problem_data(problem), rng))
    except InputError:
        return
    if problem_hash(problem) == problem_hash(other):
        assert are_alike(optimum(problem), optimum(other))


WEIGHTED: dict[str, Any] = {
    "buffers": [{"id": k, "size": 4, "start": 0, "end": 1, "traffic": 1} for k in range(2)],
    "pools": [{"name": "near", "size": 8, "bank_size": 16}, {"name": "far", "cost": 1}],
    "bank": [{"buffers": [0, 1], "weight": 3}],
    "objective": "cost",
}


@pytest.mark.parametrize("k", [2, 5])
def test_the_hash_keeps_the_scale_of_traffic_if_bank_weights_count(k: int) -> None:
    busier = WEIGHTED | {"buffers": [row | {"traffic": k} for row in WEIGHTED["buffers"]]}
    problem, other = Problem.model_validate(WEIGHTED), Problem.model_validate(busier)
    assert best_score(problem) == (1, 4, 4)  # moving both buffers to the far pool costs less than sharing a bank
    assert best_score(other) == (min(k, 3), *((4, 4) if k < 3 else (0, 8)))
    assert problem_hash(problem) != problem_hash(other)
