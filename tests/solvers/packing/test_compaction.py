from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from memplan.planner.instance.compile import compile_problem
from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import ABSENT, column
from memplan.planner.model.problem import Problem
from memplan.solvers.packing.compaction import compact
from memplan.solvers.packing.place import drop
from tests.support.constrained_problems import CONSTRAINTS, OTHERS, broken_rules, constrained_instance
from tests.support.depth import seeds
from tests.support.plain_packer import PlainPacker

RUNNING = column([0])


def instance_of(*buffers: dict[str, Any], **rest: Any) -> Instance:
    rows = [{"id": k, "size": 4, "start": 0, "end": 9} | row for k, row in enumerate(buffers)]
    return compile_problem(Problem.model_validate({"buffers": rows, **rest}))


def compacted(instance: Instance, *raw: float) -> list[int] | None:
    """Settle raw offsets, in bytes."""
    found = compact(instance, np.array(raw) / instance.unit)
    return None if found is None else (found * instance.unit).tolist()


@pytest.mark.drawn
@pytest.mark.parametrize("seed", seeds(15))
def test_a_plan_sinks_and_breaks_no_rule_even_if_it_is_somewhat_off(seed: int) -> None:
    rng = np.random.default_rng(seed)
    features = frozenset(name for name in (*CONSTRAINTS, *OTHERS, "clearances") if rng.random() < 0.5) - {"pools"}
    instance = constrained_instance(seed, 12, features)
    order = column(rng.permutation(len(instance)))
    offset = np.empty(len(instance), dtype=np.int64)
    offset[order] = PlainPacker(instance).pack(0, order)
    assert (offset != ABSENT).all()
    found = compact(instance, offset + 0.4 * (rng.random(len(instance)) - 0.5))
    assert found is not None
    assert (found <= offset).all()
    assert broken_rules(instance, 0, dict(enumerate(found.tolist()))) == []


def test_what_shares_an_offset_goes_on_sharing_it_and_what_does_not_does_not() -> None:
    instance = instance_of({"end": 3}, {"start": 2}, may_share=[[0, 1]])
    assert compacted(instance, 5, 5) == [0, 0]
    assert compacted(instance, 5, 1) == [4, 0]


def test_what_should_lie_in_different_banks_and_does_goes_on_doing_so() -> None:
    pools = [{"name": "banked", "bank_size": 8}]
    bank = [{"buffers": [0, 1], "weight": 2}]
    instance = instance_of({"end": 3}, {"start": 5}, pools=pools, bank=bank, objective="cost")
    assert compacted(instance, 3, 9) == [0, 8]
    assert compacted(instance, 3, 5) == [0, 0]


def test_a_rigid_group_sinks_until_one_of_its_buffers_lies_on_something() -> None:
    instance = instance_of({"end": 2}, {"start": 2}, {"end": 2, "relative": {"to": 1, "offset": 2}})
    assert compacted(instance, 0, 7, 9) == [0, 2, 4]


def test_what_lies_on_a_group_that_is_lifted_later_is_lifted_in_another_round() -> None:
    rows: list[dict[str, Any]] = [{"id": k, "size": size} for k, size in enumerate((2, 2, 8, 2, 3))]
    rows[1]["relative"] = {"to": 0, "offset": 6}
    data = {"buffers": rows, "conflicts": [[2, 3], [3, 1], [0, 4]]}
    instance = compile_problem(Problem.model_validate(data))
    assert compacted(instance, 5, 11, 0, 9, 7) == [4, 10, 0, 8, 6]


def test_an_order_that_cannot_be_kept_gives_none() -> None:
    instance = instance_of({"offset": 3}, {"size": 5}, pools=[{"name": "small", "size": 16}])
    assert compacted(instance, 3, 9) == [3, 7]
    assert compacted(instance, 3, 0) is None
    assert compacted(instance_of({}, {}, pools=[{"name": "small", "size": 8, "reserved": [[2, 1]]}]), 3, 3) is None


@pytest.mark.parametrize("raw", [[1e300, -1e300, 0], [2**62, 2**62 + 1, 2**62], [0.5, 0.25, 1e-9]])
def test_any_raw_offsets_drop_to_a_plan(raw: list[float]) -> None:
    bank = [{"buffers": [0, 1]}, {"buffers": [1, 2], "weight": 1}]
    pools = [{"name": "banked", "bank_size": 2**40}]
    third = {"size": 2**39, "relative": {"to": 0, "offset": 2**38}}
    instance = instance_of({"size": 2**38}, {"size": 2**39}, third, bank=bank, pools=pools, objective="cost")
    found = drop(instance, column([0, 0, 0]), raw)
    assert found is not None
    at = (found * instance.unit).tolist()
    assert at[2] == at[0] + 2**38
    assert abs(at[1] // 2**40 - at[0] // 2**40) == 1


def test_dropping_never_makes_a_plan_worse_where_packing_anew_would() -> None:
    """Packed lowest first, the second one falls beside the first, where the third, which may share, cannot follow."""
    first, second, third = {"size": 3, "start": 4, "end": 5}, {"end": 4}, {"start": 3, "end": 6}
    instance = instance_of(first, second, third, may_share=[[1, 2]])
    assert PlainPacker(instance).pack(0, column([0, 1, 2])).tolist() == [0, 0, 4]
    found = drop(instance, column([0, 0, 0]), [0, 3, 3])
    assert found is not None
    assert found.tolist() == [0, 3, 3]
