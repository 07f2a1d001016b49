from __future__ import annotations

from typing import Any

import numpy as np

from memplan.planner.instance.compile import compile_problem
from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import column
from memplan.planner.model.problem import Problem
from memplan.solvers.packing.sharing_decisions import SharingDecisions, draw, extremes, is_needed, parted, share_pairs
from tests.support.constrained_problems import constrained_problem, listed

BANKS: dict[str, Any] = {"pools": [{"name": "banked", "bank_size": 8}], "objective": "cost"}
SOFT = [{"buffers": [0, 3], "weight": 1}]


def instance_of(**rest: Any) -> Instance:
    rows = [{"id": k, "size": 4, "start": 0, "end": 9} for k in range(4)]
    return compile_problem(Problem.model_validate({"buffers": rows, **rest}))


def test_the_extremes_are_all_and_nothing_of_each_kind_there_is() -> None:
    assert extremes(instance_of()) == [SharingDecisions()]
    sharing = instance_of(may_share=[[0, 1], [3, 2]])
    assert extremes(sharing) == [SharingDecisions(), SharingDecisions(glued=((0, 1), (2, 3)))]
    assert extremes(instance_of(bank=SOFT, **BANKS)) == [SharingDecisions(parted=((0, 3),)), SharingDecisions()]
    assert len(extremes(instance_of(may_share=[[0, 1]], bank=SOFT, **BANKS))) == 4


def test_there_is_nothing_to_choose_without_pairs() -> None:
    assert not is_needed(instance_of())
    assert is_needed(instance_of(may_share=[[0, 1]]))
    assert is_needed(instance_of(bank=SOFT, **BANKS))


def test_parted_pairs_are_hard_ones_beside_those_that_were() -> None:
    instance = parted(instance_of(bank=[*SOFT, {"buffers": [1, 3]}], **BANKS), [(0, 3)])
    assert [listed(instance.bank_first, instance.bank_with, i) for i in range(4)] == [[3], [3], [], [0, 1]]
    assert instance.soft_pairs.tolist() == [[0, 3]]


def test_what_is_drawn_near_a_plan_differs_from_it_in_few_pairs() -> None:
    instance = compile_problem(constrained_problem(1, 60, frozenset({"sharing", "bank-weights"})))
    pairs, rng = share_pairs(instance), np.random.default_rng(0)
    nowhere = column(np.zeros(60))
    drawn = [draw(instance, rng, (nowhere, nowhere)) for _ in range(60)]  # in that plan all is shared, and clashes
    near = [choice for choice in drawn if len(choice.glued) >= len(pairs) - 4 and len(choice.parted) <= 4]
    assert len(near) >= 30
    assert len({choice.glued for choice in near}) > 5
    assert len({choice.parted for choice in near}) > 5


def test_what_is_drawn_without_a_plan_reaches_from_nothing_to_all() -> None:
    instance = compile_problem(constrained_problem(1, 60, frozenset({"sharing", "bank-weights"})))
    rng = np.random.default_rng(0)
    drawn = [draw(instance, rng) for _ in range(40)]
    assert {0, len(share_pairs(instance))} < {len(choice.glued) for choice in drawn}
    assert {0, len(instance.soft_pairs)} < {len(choice.parted) for choice in drawn}


def test_a_choice_packs_what_it_parts_into_different_banks() -> None:
    instance, stop = instance_of(bank=SOFT, **BANKS), column([0])
    order = column([0, 3, 1, 2])
    assert (SharingDecisions().packer(instance, stop).pack(0, order) * instance.unit).tolist() == [0, 4, 8, 12]
    apart = SharingDecisions(parted=((0, 3),)).packer(instance, stop).pack(0, order) * instance.unit
    assert apart.tolist() == [0, 8, 4, 12]
