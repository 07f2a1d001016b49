from __future__ import annotations

import pytest

from memplan.planner.instance.compile import compile_problem
from memplan.planner.instance.instance import Instance
from memplan.planner.model.problem import Problem
from memplan.solvers.packing.orders import COST_RULES, RULES, Rule, Traits
from tests.support.random_problems import random_problem

EVERYTHING = frozenset({"holes", "conflicts", "pools", "alignment", "pins", "reserved", "cost"})


def naive_traits(instance: Instance) -> dict[str, list[float]]:
    """Look at every pair and every live set."""
    n, sets = len(instance), range(instance.n_live_sets)
    alive = [[t in spans(instance, i) for t in sets] for i in range(n)]
    load = [sum(int(instance.size[i]) for i in range(n) if alive[i][t]) for t in sets]
    return {
        "life": [sum(row) for row in alive],
        "start": [row.index(True) if any(row) else 0 for row in alive],
        "end": [len(row) - row[::-1].index(True) if any(row) else 0 for row in alive],
        "area": [sum(row) * int(size) for row, size in zip(alive, instance.size, strict=True)],
        "pressure": [max((load[t] for t in sets if row[t]), default=0) / max(load) for row in alive],
        "is_at_peak": [row[load.index(max(load))] for row in alive],
        "conflicts": [sum(meetings(instance, i, j) for j in range(n) if j != i) for i in range(n)],
    }


def lives(instance: Instance, i: int) -> list[range]:
    rows = range(int(instance.first[i]), int(instance.first[i + 1]))
    return [range(int(instance.start[k]), int(instance.end[k])) for k in rows]


def spans(instance: Instance, i: int) -> set[int]:
    return {t for life in lives(instance, i) for t in life}


def meetings(instance: Instance, i: int, j: int) -> int:
    first = instance.conflict_first
    pairs = [(a, b) for a in lives(instance, i) for b in lives(instance, j) if set(a) & set(b)]
    return len(pairs) + (j in instance.conflict[first[i] : first[i + 1]].tolist())


@pytest.mark.parametrize("seed", range(8))
def test_traits_are_what_a_look_at_every_pair_and_live_set_gives(seed: int) -> None:
    features = frozenset({"conflicts"}) | ({"holes"} if seed % 2 else frozenset())
    instance = compile_problem(random_problem(seed, 25, features))
    traits, expected = Traits(instance), naive_traits(instance)
    for name, values in expected.items():
        assert getattr(traits, name).tolist() == values, name


@pytest.mark.parametrize("rule", [*RULES, *COST_RULES], ids=lambda rule: rule.name)
def test_every_rule_orders_all_buffers_of_any_instance(rule: Rule) -> None:
    for seed in range(3):
        instance = compile_problem(random_problem(seed, 30, EVERYTHING))
        assert sorted(rule.order(Traits(instance)).tolist()) == list(range(30))


def test_rules_work_without_lifetimes_and_without_buffers() -> None:
    bare = compile_problem(Problem.model_validate({"buffers": [{"id": 1, "size": 3}, {"id": 2, "size": 5}]}))
    empty = compile_problem(Problem.model_validate({"buffers": []}))
    for rule in (*RULES, *COST_RULES):
        assert sorted(rule.order(Traits(bare)).tolist()) == [0, 1]
        assert rule.order(Traits(empty)).tolist() == []
