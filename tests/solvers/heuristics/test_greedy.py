from __future__ import annotations

import time

import numpy as np
import pytest

from memplan.planner.formats import read_problem
from memplan.planner.instance.compile import compile_problem, lift
from memplan.planner.model.problem import Problem
from memplan.solvers.heuristics import greedy
from memplan.solvers.search.incumbent import Search
from tests.support import public_problems
from tests.support.constrained_problems import CONSTRAINTS, constrained_problem
from tests.support.oracle import best_score, check


def solved(problem: Problem, deterministic: bool = False, work_limit: int = 2**62, limit_s: float = 60) -> Search:
    search = Search(
        compile_problem(problem),
        deadline=time.monotonic() + limit_s,
        deterministic=deterministic,
        work_limit=work_limit,
        trusted=frozenset({"greedy"}),
    )
    if not search.is_over:
        greedy.solve(search.instance, search)
    return search


def problem_of(*buffers: dict[str, object], **rest: object) -> Problem:
    return Problem.model_validate({"buffers": buffers, **rest})


def row(name: str | int, size: int, start: int, end: int, **rest: object) -> dict[str, object]:
    return {"id": name, "size": size, "start": start, "end": end, **rest}


def test_small_constrained_problems_get_the_best_plan_there_is_most_of_the_time() -> None:
    met = tried = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        features = frozenset(name for name in CONSTRAINTS if rng.random() < 0.4)
        problem = constrained_problem(seed, 4, features)
        search, least = solved(problem), best_score(problem)
        assert search.best is not None
        assert least is not None
        peaks = tuple(peak * search.instance.unit for peak in search.best.score[-len(problem.pools) :])
        score = (*search.best.score[: -len(peaks)], *peaks)
        assert score >= least
        met, tried = met + (score == least), tried + 1
    assert met >= 0.8 * tried


def test_pins_that_overlap_are_a_proof_that_nothing_fits() -> None:
    search = solved(problem_of(row("a", 4, 0, 2, offset=0), row("b", 4, 1, 3, offset=3), row("c", 1, 0, 3)))
    assert search.infeasible is not None
    assert search.best is None


@pytest.mark.parametrize(("size", "score"), [(None, (0.0, 3)), (8, (3.0, 1))])
def test_pairs_with_a_weight_lie_in_different_banks_where_there_is_room(
    size: int | None, score: tuple[float, ...]
) -> None:
    search = solved(
        problem_of(
            row("a", 4, 0, 2),
            row("b", 4, 5, 7),
            pools=[{"name": "banked", "bank_size": 8, "size": size}],
            bank=[{"buffers": ["a", "b"], "weight": 3}],
            objective="cost",
        )
    )
    assert search.best is not None
    assert search.best.score == score


def test_sums_of_sizes_beyond_int64_are_planned_exactly() -> None:
    rows = [row(f"b{i}", 2**62 - i, 2 * i, 2 * i + 3) for i in range(6)]
    problem = problem_of(*rows)
    search = solved(problem)
    assert search.best is not None
    assert check(problem, lift(problem, search.instance, search.best.pool, search.best.offset)) == []


def test_nine_of_ten_problems_of_real_compilers_end_at_the_bound() -> None:
    folders = ("executorch", "iree", "onnx", "tflite", "tflite_arena", "torch_train", "vela", "xla")
    paths = [path for folder in folders for path in public_problems.files(folder)]
    searches = [solved(read_problem(path.read_bytes(), path.name)) for path in paths]
    at_bound = [search.best is not None and search.best.score <= search.bound for search in searches]
    assert sum(at_bound) >= 0.9 * len(at_bound)
