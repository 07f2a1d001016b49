"""Parts are just the connected components of the conflicts."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given, settings

from planner.compiling import compile_problem
from planner.problem import Problem
from planner.reduction import parts
from planner.table import BufferTable
from tests.oracle import conflicts, families
from tests.strategies import problems


@settings(max_examples=200, deadline=None)
@given(problem=problems(7))
def test_parts_are_what_conflicts_connect(problem: Problem) -> None:
    instance = compile_problem(problem)
    groups = {family.members[0][1].id: family for family in families(problem)}
    rows = [groups[problem.buffers.ids[i]] for i in instance.source.tolist()]
    label = list(range(len(rows)))
    for _ in rows:
        for i, first in enumerate(rows):
            for j, second in enumerate(rows):
                if conflicts(problem, first, second):
                    label[i] = label[j] = min(label[i], label[j])
    wanted = [[i for i, mine in enumerate(label) if mine == least] for least in sorted(set(label))]
    assert [part.tolist() for part in parts(instance)] == wanted


def test_nothing_has_no_parts() -> None:
    assert parts(compile_problem(Problem.model_validate({"buffers": []}))) == ()


def test_a_long_chain_of_conflicts_is_one_part() -> None:
    n = 20_000
    start = 2 * np.arange(n)
    order = np.random.default_rng(0).permutation(n).tolist()
    table = BufferTable.from_columns(range(n), np.ones(n), start, start + 1)
    chain = tuple(pairwise(order))
    assert len(parts(compile_problem(Problem(buffers=table)))) == n
    (whole,) = parts(compile_problem(Problem(buffers=table, conflicts=chain)))
    assert whole.tolist() == list(range(n))
