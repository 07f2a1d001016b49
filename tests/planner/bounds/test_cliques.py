"""Cliques are cliques, and the heaviest ones where conflicts come from lifetimes."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given

from memplan.planner.bounds import cliques
from memplan.planner.bounds.cliques import heavy_clique
from memplan.planner.instance.compile import compile_problem
from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import BufferTable
from memplan.planner.model.problem import Problem
from tests.support.families import conflicts, families
from tests.support.strategies import problems


def weight(instance: Instance) -> int:
    return int(instance.size[heavy_clique(instance)].sum())


@given(problem=problems(7))
def test_a_clique_conflicts_pairwise(problem: Problem) -> None:
    instance = compile_problem(problem)
    groups = {family.members[0][1].id: family for family in families(problem)}
    members = [groups[problem.buffers.ids[int(instance.source[i])]] for i in heavy_clique(instance)]
    assert all(conflicts(problem, first, second) for first, second in combinations(members, 2))
    assert weight(instance) >= int(instance.size.max(initial=0))


@pytest.mark.parametrize("seed", range(20))
def test_where_conflicts_spell_out_lifetimes_the_clique_is_the_largest_live_set(seed: int) -> None:
    random = np.random.default_rng(seed)
    n = 60
    size, start = random.integers(1, 100, n), random.integers(0, 40, n)
    end = start + random.integers(1, 12, n)
    pairs = [(i, j) for i, j in combinations(range(n), 2) if start[i] < end[j] and start[j] < end[i]]
    by_time = compile_problem(Problem(buffers=BufferTable.from_columns(range(n), size, start, end)))
    rows = [{"id": k, "size": int(size[k])} for k in range(n)]
    by_pairs = compile_problem(Problem.model_validate({"buffers": rows, "conflicts": pairs}))
    assert weight(by_pairs) * by_pairs.unit == int(by_time.load().max()) * by_time.unit


def test_a_clique_may_mix_lifetimes_and_conflicts() -> None:
    rows = [{"id": k, "size": 1, "start": k, "end": k + 2} for k in range(3)]
    instance = compile_problem(Problem.model_validate({"buffers": rows, "conflicts": [[0, 2]]}))
    assert heavy_clique(instance).tolist() == [0, 1, 2]


def test_no_clique_is_looked_for_among_too_many_conflicts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cliques, "_EDGES_AT_MOST", 3)
    rows = [{"id": k, "size": 1, "start": 0, "end": 2} for k in range(3)]
    assert weight(compile_problem(Problem.model_validate({"buffers": rows, "conflicts": [[0, 2]]}))) == 2
    assert weight(compile_problem(Problem.model_validate({"buffers": rows, "conflicts": [[0, 2], [1, 2]]}))) == 0
