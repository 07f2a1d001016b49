"""What a plan tells of pairs is what the verifier finds in its placements."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memplan.planner.instance.compile import compile_problem
from memplan.planner.instance.pair_report import bank_clashes, shared_pairs
from memplan.planner.model.placement_table import PlacementTable
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import Placement
from memplan.planner.verify.verifier import verify
from tests.support.strategies import placements, tied_problems

ROWS = [
    {"id": "a", "size": 4, "start": 0, "end": 2},
    {"id": "b", "size": 8, "start": 1, "end": 3},
    {"id": "c", "size": 8, "start": 3, "end": 4},
    {"id": "whole", "size": 8, "alias_of": "b"},
]
POOLS = [{"name": "x", "bank_size": 8, "base_address": 4}, {"name": "y"}]


def placed(*places: tuple[str, str, int]) -> PlacementTable:
    return PlacementTable.from_rows(Placement(id=name, pool=pool, offset=offset) for name, pool, offset in places)


def test_those_at_one_offset_of_one_pool_while_both_are_alive_have_shared() -> None:
    problem = Problem.model_validate(
        {"buffers": ROWS, "pools": POOLS, "may_share": [["c", "b"], ["whole", "a"], ["a", "c"]]}
    )
    instance = compile_problem(problem)
    everywhere_0 = placed(("a", "x", 0), ("b", "x", 0), ("c", "x", 0), ("whole", "x", 0))
    assert shared_pairs(problem, instance, everywhere_0) == (("whole", "a"),)
    apart = placed(("a", "x", 8), ("b", "x", 0), ("c", "x", 0), ("whole", "x", 0))
    elsewhere = placed(("a", "y", 0), ("b", "x", 0), ("c", "x", 0), ("whole", "x", 0))
    assert shared_pairs(problem, instance, apart) == shared_pairs(problem, instance, elsewhere) == ()


def test_those_that_touch_a_common_bank_clash_an_alias_with_all_that_it_lives_in() -> None:
    uses = [{"buffers": ["a", "c"]}, {"buffers": ["c", "whole", "a"], "weight": 0}]
    problem = Problem.model_validate({"buffers": ROWS, "pools": POOLS, "bank": uses})
    near = placed(("a", "x", 0), ("b", "x", 8), ("c", "x", 20), ("whole", "x", 8))
    assert bank_clashes(problem, near) == ()
    low = placed(("a", "x", 0), ("b", "x", 3), ("c", "x", 11), ("whole", "x", 3))
    assert bank_clashes(problem, low) == (("c", "whole"), ("whole", "a"))
    without_banks = placed(("a", "y", 0), ("b", "y", 0), ("c", "y", 0), ("whole", "y", 0))
    assert bank_clashes(problem, without_banks) == ()


@given(data=st.data())
def test_the_verifier_finds_the_same(data: st.DataObject) -> None:
    problem = data.draw(tied_problems(4))
    rows = {row.id: row for row in data.draw(placements(problem))}
    names = {pool.name for pool in problem.pools}
    if len(rows) < len(problem.buffers) or not {row.pool for row in rows.values()} <= names:
        return
    table = PlacementTable.from_rows(rows[name] for name in problem.buffers.ids)
    pairs = shared_pairs(problem, compile_problem(problem), table), bank_clashes(problem, table)
    plan = Plan(placements=table, shared=pairs[0], bank_clashes=pairs[1])
    assert [violation.message for violation in verify(problem, plan) if violation.rule == "false-claim"] == []
