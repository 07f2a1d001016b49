"""Problems and plans as Python values: errors, numpy integers, copies, pickles, repr and look-up by id."""

import copy
import pickle
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from memplan.planner.errors import InputError, PlanError, ProblemError
from memplan.planner.model.plan import Plan, PoolUse
from memplan.planner.model.problem import BankUse, Buffer, Pool, Problem
from memplan.planner.model.rows import Placement
from tests.support.sentences import rules

MOD_4 = {"offset_mod": {"modulus": 4, "remainder": 0}}
ROWS = [
    {"id": "a", "size": 64, "start": 0, "end": 2, "alignment": 8},
    {"id": 7, "size": 64, "lifetimes": [[0, 1], [2, 3]], "pools": ["fast"]} | MOD_4,
    {"id": "view", "size": 8, "alias_of": "a", "alias_offset": 8},
    {"id": "b", "size": 8, "start": 1, "end": 2, "relative": {"to": "a", "offset": 64}, "no_cross": 128},
]
POOLS = [Pool(name="fast", size=256), Pool(name="slow")]
PROBLEM = Problem.model_validate({"buffers": ROWS, "pools": POOLS, "conflicts": [["a", 7]]})
PLACEMENTS = [Placement(id=name, pool="fast", offset=offset) for name, offset in (("a", 0), (7, 128), ("view", 8))]
PLAN = Plan.model_validate({"status": "feasible", "peak": 192, "placements": PLACEMENTS})


BACKWARDS = {"buffers": [*ROWS, ROWS[0] | {"id": "c", "end": -1}], "pools": POOLS}
TOO_EARLY = "buffers[4].end: must be greater than start (0), got -1"
MISSPELT = "bufers: is not a known field (did you mean buffers?)"


@pytest.mark.parametrize(
    ("build", "kind", "sentence"),
    [
        (lambda: Buffer(id="a", size=-1), ProblemError, "size: must be at least 0, got -1"),
        (lambda: Pool(name=""), ProblemError, 'name: must not be empty, got ""'),
        (lambda: BankUse(buffers=()), ProblemError, "buffers: must not be empty, got []"),
        (lambda: Problem.model_validate(BACKWARDS), ProblemError, TOO_EARLY),
        (lambda: Problem.model_validate({"bufers": [], "buffers": []}), ProblemError, MISSPELT),
        (lambda: Plan.model_validate({"pools": [{"name": 5}]}), PlanError, "pools[0].name: must be a string, got 5"),
        (lambda: PoolUse.model_validate(None), PlanError, "must be an object, got null"),
    ],
)
def test_invalid_values_raise_their_error(build: Callable[[], object], kind: type[InputError], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        build()
    assert type(caught.value) is kind
    assert rules(caught.value.sentences) == rules([sentence])


def test_numpy_integers_are_accepted_in_all_integer_fields() -> None:
    zero, one, two, size = np.array([0, 1, 2, 64], dtype=np.int32)
    buffers: list[Any] = [
        Buffer(id="a", size=size, start=zero, end=two),
        {"id": one, "size": np.uint8(8), "lifetimes": [(zero, one), [one, two]], "offset": zero, "pools": ["p"]},
        {"id": "b", "size": 1, "relative": {"to": one, "offset": np.int64(16)}},
    ]
    problem = Problem(buffers=buffers, pools=(Pool(name="p", size=size * size),), conflicts=[("a", one)])
    assert problem.model_dump_json(exclude_defaults=True) == (
        '{"buffers":[{"id":"a","size":64,"start":0,"end":2},'
        '{"id":1,"size":8,"lifetimes":[[0,1],[1,2]],"pools":["p"],"offset":0},'
        '{"id":"b","size":1,"relative":{"to":1,"offset":16}}],'
        '"conflicts":[["a",1]],"pools":[{"name":"p","size":4096}]}'
    )


@pytest.mark.parametrize("size", [np.float64(4), np.bool_(True), 4.0, True, "4"])
def test_sizes_that_are_not_integers_are_refused(size: Any) -> None:
    with pytest.raises(InputError, match="size: must be an integer, got "):
        Buffer(id="a", size=size)


@pytest.mark.parametrize("again", [copy.deepcopy, copy.copy, lambda value: pickle.loads(pickle.dumps(value))])
def test_copies_and_pickles_of_values_are_equal_and_frozen(again: Callable[[Any], Any]) -> None:
    assert PROBLEM.index
    assert PROBLEM.roots
    assert PROBLEM.rigid_leads
    assert PLAN.placement("a")
    problem, plan = again(PROBLEM), again(PLAN)
    assert (problem, problem.model_dump_json()) == (PROBLEM, PROBLEM.model_dump_json())
    assert (plan, plan.placement(7)) == (PLAN, PLACEMENTS[1])
    for column in (problem.buffers.size, plan.placements.offset):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 1
    with pytest.raises(TypeError, match="does not support item assignment"):
        problem.buffers.aliases[0] = ("a", 0)


def test_repr_of_values_is_short_and_omits_defaults() -> None:
    assert repr(Buffer(id="a", size=4)) == str(Buffer(id="a", size=4)) == "Buffer(id='a', size=4)"
    many = Problem(name="net", buffers=[Buffer(id=k, size=1) for k in range(6)])
    assert repr(many) == "Problem(name='net', buffers=<6 entries>)"
    assert repr(Plan(status="optimal", peak=0)) == "Plan(status='optimal', peak=0)"
    assert repr(PLAN.placements[:1]) == "[Placement(id='a', pool='fast', offset=0)]"


def test_a_placement_can_be_looked_up_by_its_buffer() -> None:
    assert PLAN.placement("a").offset == 0
    assert PLAN.placement(7) == PLAN[7] == PLAN.placements[1]
    assert 7 in PLAN
    assert 0 not in PLAN
    with pytest.raises(PlanError, match=r'got "7" \(did you mean 7\?\)'):
        PLAN.placement("7")
    with pytest.raises(PlanError, match=r'^placements: must name a placed buffer, got "zz" \(placed are '):
        PLAN["zz"]


def test_hints_of_an_input_error_are_shown_as_exception_notes() -> None:
    with pytest.raises(InputError) as caught:
        Problem(buffers=[Buffer(id="a", size=1), Buffer(id="a", size=1)])
    assert str(caught.value) == 'buffers[1].id: must be unique, got "a" again (first at buffers[0])'
    assert traceback.format_exception_only(caught.value)[-1] == "give each a different name, or leave one out\n"
