from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from memplan.planner.instance.compile import compile_problem
from memplan.planner.instance.instance import Instance
from memplan.planner.model.problem import Problem
from memplan.solvers.packing.orders import COST_RULES, RULES, Rule, Traits, random_order, random_rule, rule_near
from tests.support.random_problems import random_problem

EVERYTHING = frozenset({"holes", "conflicts", "pools", "alignment", "pins", "reserved", "cost"})


def compiled(*lives: tuple[int, int, int], **rest: object) -> Instance:
    buffers = [{"id": i, "size": size, "start": start, "end": end} for i, (size, start, end) in enumerate(lives)]
    return compile_problem(Problem.model_validate({"buffers": buffers, **rest}))


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


def test_the_largest_comes_first_and_ties_go_by_position() -> None:
    traits = Traits(compiled((3, 0, 1), (7, 0, 1), (3, 0, 1), (5, 0, 1)))
    assert Rule(("size",), "start").order(traits).tolist() == [1, 3, 0, 2]


def test_inside_a_band_the_earlier_start_comes_first() -> None:
    traits = Traits(compiled((8, 5, 9), (5, 1, 3), (7, 3, 5), (3, 0, 1), (4, 0, 1)))
    assert Rule(("size",), "start", base=2).order(traits).tolist() == [1, 2, 0, 3, 4]


def test_of_those_that_start_or_end_together_the_shortest_comes_first_wherever_its_row_is() -> None:
    traits = Traits(compiled((1, 0, 9), (1, 0, 3), (1, 5, 9), (1, 3, 9), (1, 0, 5)))
    assert Rule((), "start").order(traits).tolist() == [1, 4, 0, 3, 2]
    assert Rule((), "end").order(traits).tolist() == [2, 3, 0, 4, 1]


def test_shifting_the_bands_moves_their_borders() -> None:
    traits = Traits(compiled((8, 5, 9), (5, 1, 3)))
    assert Rule(("size",), "start", base=2).order(traits).tolist() == [1, 0]
    assert Rule(("size",), "start", base=2, shift=1.3).order(traits).tolist() == [0, 1]


def test_what_is_alive_at_the_peak_goes_first_if_asked() -> None:
    traits = Traits(compiled((9, 0, 1), (5, 2, 4), (6, 3, 5)))
    assert Rule(("size",), "start").order(traits).tolist() == [0, 2, 1]
    assert Rule(("size",), "start", peak_first=True).order(traits).tolist() == [2, 1, 0]


def test_what_has_the_fewest_memories_to_choose_from_goes_first_if_asked() -> None:
    buffers = [{"id": 0, "size": 9, "start": 0, "end": 1}, {"id": 1, "size": 1, "start": 0, "end": 1, "pools": ["x"]}]
    data = {"buffers": buffers, "pools": [{"name": "x"}, {"name": "y"}]}
    traits = Traits(compile_problem(Problem.model_validate(data)))
    assert Rule(("size",), "start").order(traits).tolist() == [0, 1]
    assert Rule(("size",), "start", confined_first=True).order(traits).tolist() == [1, 0]


def test_orders_do_not_depend_on_the_unit_of_sizes() -> None:
    for rule in RULES:
        orders = [
            rule.order(Traits(replace(instance, size=instance.size * k))).tolist()
            for instance in [compile_problem(random_problem(2, 40))]
            for k in (1, 3, 2**20)
        ]
        assert orders[0] == orders[1] == orders[2], rule.name


def test_the_same_seed_draws_the_same_rules_and_another_one_others() -> None:
    drawn = [[random_rule(np.random.default_rng(seed)) for _ in range(5)] for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1]
    assert drawn[0] != drawn[2]


def test_names_tell_the_rules_apart() -> None:
    names = [rule.name for rule in (*RULES, *COST_RULES)]
    assert len(set(names)) == len(names)
    assert Rule(("size",), "start").name == "size"
    assert (
        Rule(("size", "sqrt life"), "end", 1.5, peak_first=True, best_fit=True).name
        == "peak-size*sqrt-life-band1.5-end-best"
    )
    assert Rule((), "end").name == "end"


def test_what_belongs_to_rigid_groups_goes_first_where_a_rule_says_so() -> None:
    rows: list[dict[str, object]] = [{"id": k, "size": 9 - k, "start": k, "end": k + 2} for k in range(5)]
    rows[4]["relative"] = {"to": 2, "offset": 7}
    traits = Traits(compile_problem(Problem.model_validate({"buffers": rows})))
    rule = Rule(("size",), "start", groups_first=True)
    assert rule.name == "groups-size"
    assert rule.order(traits).tolist() == [2, 4, 0, 1, 3]


def test_of_few_buffers_every_order_is_drawn() -> None:
    traits, rng = Traits(compile_problem(random_problem(0, 4))), np.random.default_rng(0)
    assert len({tuple(random_order(rng, traits)[0].tolist()) for _ in range(400)}) == 24


def test_a_rule_near_another_one_differs_in_bands_and_in_the_power_of_the_pressure_alone() -> None:
    rng, rule = np.random.default_rng(0), Rule(("pressure^16", "size"), "start", 4)
    drawn = [rule_near(rng, rule) for _ in range(50)]
    assert {(near.by[1], near.within, near.best_fit) for near in drawn} == {("size", "start", False)}
    assert len({near.by[0] for near in drawn}) > 10
    assert all(1.2 < near.base <= 20 and 1 <= near.shift <= near.base for near in drawn if near.base)
