"""Compiled constraints between buffers: an assignment satisfies the instance exactly if its placements are valid."""

import random
from typing import Any

import numpy as np
import pytest

from memplan.planner.instance.compile import compile_problem, lift
from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import I64, column
from memplan.planner.model.problem import Problem
from tests.support.constrained_problems import violated_rules
from tests.support.depth import seeds
from tests.support.oracle import check
from tests.support.tied_problems import tied_problem

A = {"id": "a", "size": 4, "start": 0, "end": 2}
B = {"id": "b", "size": 8, "start": 1, "end": 3}
C = {"id": "c", "size": 12, "start": 1, "end": 2}
D = {"id": "d", "size": 4, "start": 5, "end": 6}
TWO = [{"name": "x"}, {"name": "y"}]


def compile_rows(*buffers: dict[str, Any], **fields: Any) -> Instance:
    return compile_problem(Problem.model_validate({"buffers": list(buffers), **fields}))


def relative(to: int | str, offset: int) -> dict[str, Any]:
    return {"relative": {"to": to, "offset": offset}}


def test_compiling_unconstrained_buffers_yields_no_constraint_features() -> None:
    plain = compile_rows(A, B, C)
    assert plain.features == frozenset()
    assert plain.anchor.tolist() == plain.colocation.tolist() == [0, 1, 2]
    assert plain.distance.tolist() == [0, 0, 0]
    assert (len(plain.share), len(plain.bank_with), len(plain.soft_pairs), len(plain.soft_weight)) == (0, 0, 0, 0)
    assert not plain.page.any()


def test_a_chain_of_relative_buffers_forms_one_group_anchored_at_its_lowest_member() -> None:
    """b is 4 bytes above a, and c 8 below b, so c is the lowest member and becomes the anchor."""
    instance = compile_rows(A, B | relative("a", 4), C | relative("b", -8), D)
    assert (instance.unit, instance.anchor.tolist(), instance.distance.tolist()) == (4, [2, 2, 2, 3], [1, 2, 0, 0])
    assert (instance.lowest.tolist(), {*instance.features}) == ([[1, 2, 0, 0]], {"relative"})


def test_a_relative_offset_to_a_view_is_converted_to_the_underlying_buffer() -> None:
    instance = compile_rows(A | relative("v", 4), B, {"id": "v", "size": 2, "alias_of": "b", "alias_offset": 6})
    assert instance.anchor.tolist() == [1, 1]
    assert (instance.distance * instance.unit).tolist() == [10, 0]


def test_a_rigid_group_combines_the_offset_rules_of_its_members() -> None:
    """b is 4 above a, at a multiple of 8, and its address at 2 mod 3."""
    tied = B | relative("a", 4) | {"alignment": 8, "offset_mod": {"modulus": 3, "remainder": 2}}
    instance = compile_rows(A, tied, pools=[{"name": "x", "size": 64}, {"name": "y", "size": 15}])
    assert instance.allowed.tolist() == [[True, True], [False, False]]
    assert (instance.alignment[0] * instance.unit).tolist() == [24, 24]
    assert (instance.lowest[0] * instance.unit).tolist() == [4, 8]


def test_a_pin_fixes_its_rigid_group_and_contradictory_pins_are_unplaceable() -> None:
    pinned = compile_rows(A, B | relative("a", -8) | {"offset": 8})
    assert (pinned.pin * pinned.unit).tolist() == [16, 8]
    assert compile_rows(A | {"offset": 4}, B | relative("a", -8)).unplaceable == (0, 1)
    assert compile_rows(A | {"offset": 4}, B | relative("a", 8) | {"offset": 8}).unplaceable == (0, 1)
    assert compile_rows(A, B | relative("a", 2) | {"alignment": 4}, C | relative("b", 1) | {"alignment": 4}).unplaceable


@pytest.mark.parametrize("distance", [2**62, -(2**62)])
def test_a_rigid_group_wider_than_the_address_space_is_unplaceable(distance: int) -> None:
    far = [{"id": k, "size": 4, "start": 0, "end": 1} | relative(k - 1, distance) for k in (1, 2, 3)]
    assert compile_rows({"id": 0, "size": 4, "start": 0, "end": 1}, *far).unplaceable == (0, 1, 2, 3)


def test_a_conflict_between_disjoint_members_of_a_rigid_group_adds_no_constraint() -> None:
    assert "conflicts" not in compile_rows(A, B | relative("a", 4), conflicts=[["b", "a"], ["a", "a"]]).features


def test_no_cross_pages_are_compiled_to_units_with_the_base_address_shift() -> None:
    found = compile_rows(A | {"no_cross": 16}, B, pools=[{"name": "x", "base_address": 24}, {"name": "y", "size": 4}])
    assert (found.unit, found.page.tolist()) == (4, [[4, 0], [4, 0]])
    assert (found.page_shift.tolist(), {*found.features}) == ([[2, 0], [0, 0]], {"pages", "pools", "capacity"})


@pytest.mark.parametrize(
    "row",
    [
        A | {"no_cross": 3},
        A | {"no_cross": 8, "offset": 6},
        A | {"no_cross": 8, "offset_mod": {"modulus": 8, "remainder": 6}},
        A | {"no_cross": 6, "alignment": 3, "offset_mod": {"modulus": 6, "remainder": 3}},
    ],
)
def test_a_buffer_that_crosses_a_page_at_every_offset_is_unplaceable(row: dict[str, Any]) -> None:
    assert compile_rows(row).unplaceable == (0,)


def test_only_simultaneously_live_pairs_are_compiled_as_sharing() -> None:
    instance = compile_rows(A, B, C, D, may_share=[["b", "a"], ["a", "d"], ["c", "a"], ["a", "c"]])
    assert (instance.share_first.tolist(), instance.share.tolist()) == ([0, 2, 3, 4, 4], [1, 2, 0, 0])
    assert "sharing" not in compile_rows(A, D, may_share=[["a", "d"]]).features


def test_bank_constraints_are_compiled_only_for_pools_with_banks() -> None:
    pools = [{"name": "x", "bank_size": 32, "base_address": 40}, {"name": "y"}]
    instance = compile_rows(A, B, C, bank=[{"buffers": ["a", "b"]}], pools=pools)
    assert (instance.unit, [(memory.bank, memory.bank_shift) for memory in instance.pools]) == (4, [(8, 2), (0, 0)])
    assert (instance.bank_first.tolist(), instance.bank_with.tolist()) == ([0, 1, 2, 2], [1, 0])
    assert "banks" not in compile_rows(A | {"pools": ["y"]}, B, bank=[{"buffers": ["a", "b"]}], pools=pools).features


def test_bank_weights_of_a_pair_add_up_under_the_cost_objective() -> None:
    uses = [{"buffers": ["a", "b", "c"], "weight": 2}, {"buffers": ["c", "a"], "weight": 0.5}]
    more = [{"buffers": ["b", "c"]}, {"buffers": ["a", "d"], "weight": 0}]
    pools = [{"name": "x", "bank_size": 32}]
    instance = compile_rows(A, B, C, D, bank=[*uses, *more], pools=pools, objective="cost")
    assert (instance.soft_pairs.tolist(), instance.soft_weight.tolist()) == ([[0, 1], [0, 2]], [2, 2.5])
    assert "bank-weights" not in compile_rows(A, B, C, bank=uses, pools=pools).features


def test_colocation_groups_include_relative_buffers_and_intersect_allowed_pools() -> None:
    rows = [A, B, C | relative("b", 8), D | {"pools": ["y"]}]
    instance = compile_rows(*rows, together=[["d", "c"], ["a"]], pools=TWO)
    assert instance.colocation.tolist() == [0, 1, 1, 1]
    assert instance.allowed.tolist() == [[True, False, False, False], [True, True, True, True]]
    assert instance.features == {"relative", "together", "pools"}
    assert compile_rows(*rows[:3], together=[["b", "c"]], pools=TWO).features == {"relative", "pools"}


def test_a_colocation_group_without_a_common_pool_is_unplaceable() -> None:
    rows = [A | {"pools": ["x"]}, B | {"pools": ["y"]}, C, D | {"size": 0}]
    assert compile_rows(*rows, together=[["a", "c"], ["c", "b"]], pools=TWO).unplaceable == (0, 1, 2)
    assert compile_rows(*rows, together=[["a", "d"], ["d", "b"]], pools=TWO).unplaceable == (0, 1, 3)


def test_zero_size_buffers_get_the_pool_of_their_colocation_group() -> None:
    empty = {"size": 0, "start": 0, "end": 1}
    rows = [A, {"id": "e"} | empty, {"id": "f"} | empty, {"id": "g", "forbid_pools": ["x"]} | empty]
    problem = Problem.model_validate({"buffers": rows, "together": [["e", "a"], ["f", "g"]], "pools": TWO})
    instance = compile_problem(problem)
    for q in (0, 1):
        placed = lift(problem, instance, column([q]), column([0]))
        assert [row.pool for row in placed] == [TWO[q]["name"], TWO[q]["name"], "y", "y"]
        assert check(problem, list(placed)) == []


@pytest.mark.drawn
@pytest.mark.slow
def test_an_assignment_satisfies_the_instance_exactly_if_its_placements_are_valid() -> None:
    rng = random.Random(0)
    right = wrong = 0
    for seed in seeds(60):
        problem = tied_problem(seed, 4)
        instance = compile_problem(problem)
        for _ in range(0 if instance.unplaceable else 12):
            pool, offset = draw_placement(instance, rng)
            if offset.min(initial=0) < 0:
                continue
            is_right = not check(problem, list(lift(problem, instance, pool, offset)))
            assert is_right == keeps_the_rules(instance, pool, offset), problem.model_dump_json(exclude_defaults=True)
            right, wrong = right + is_right, wrong + (not is_right)
    assert min(right, wrong) > 40


def draw_placement(instance: Instance, rng: random.Random) -> tuple[I64, I64]:
    n = len(instance)
    home = [rng.choice(np.flatnonzero(instance.allowed[:, i]).tolist()) for i in range(n)]
    pool = np.array(home, dtype=np.int64)[instance.colocation if rng.random() < 0.9 else np.arange(n)]
    start = [int(instance.pin[i]) if instance.pin[i] >= 0 else rng.randint(0, 12) for i in range(n)]
    group = instance.anchor if rng.random() < 0.9 else np.arange(n)
    return column(pool), column(np.array(start, dtype=np.int64)[group] + instance.distance)


def keeps_the_rules(instance: Instance, pool: I64, offset: I64) -> bool:
    if (pool != pool[instance.colocation]).any():
        return False
    places: list[dict[int, int]] = [{} for _ in instance.pools]
    for i, (q, at) in enumerate(zip(pool.tolist(), offset.tolist(), strict=True)):
        places[q][i] = at
    return not any(violated_rules(instance, q, here) for q, here in enumerate(places))
