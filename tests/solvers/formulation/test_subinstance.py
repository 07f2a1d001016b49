""""""

from typing import Any

import numpy as np
import pytest

from memplan.planner.instance.compile import compile_problem
from memplan.planner.model.buffer_table import column
from memplan.planner.model.problem import Problem
from memplan.solvers.formulation.subinstance import identical, part_of
from memplan.solvers.packing.packer import Packer
from tests.support.constrained_problems import CONSTRAINTS, conflict, constrained_problem, violated_rules
from tests.support.random_problems import random_problem
from tests.support.rigid_groups import whole_groups

MIXES = [frozenset[str](), frozenset({"holes"}), frozenset({"conflicts", "holes", "pools", "alignment", "pins"})]


@pytest.mark.parametrize("features", MIXES, ids=len)
@pytest.mark.parametrize("seed", range(5))
def test_buffers_of_a_subinstance_conflict_as_in_the_whole_instance(seed: int, features: frozenset[str]) -> None:
    instance = compile_problem(random_problem(seed, 20, features))
    kept = np.random.default_rng(seed).random(20) < 0.6
    part, chosen = part_of(instance, kept, len(instance.pools) - 1), np.flatnonzero(kept)
    assert part.size.tolist() == instance.size[chosen].tolist()
    assert part.source.tolist() == instance.source[chosen].tolist()
    for i in range(len(part)):
        for j in range(i):
            assert conflict(part, i, j) == conflict(instance, int(chosen[i]), int(chosen[j]))


def test_packing_a_subinstance_equals_packing_its_buffers_in_the_whole_instance() -> None:
    for seed in range(5):
        instance = compile_problem(random_problem(seed, 40, MIXES[2]))
        kept = instance.allowed[2] & (np.random.default_rng(seed).random(40) < 0.6)
        flag = column([0])
        of_part = Packer(part_of(instance, kept, 2), flag).pack(0, column(np.arange(kept.sum())))
        of_whole = Packer(instance, flag).pack(2, column(np.flatnonzero(kept)))
        assert of_part.tolist() == of_whole.tolist()


@pytest.mark.parametrize("seed", range(6))
def test_offsets_violate_the_same_rules_in_a_subinstance_and_in_the_whole_instance(seed: int) -> None:
    rng = np.random.default_rng(seed)
    instance = compile_problem(constrained_problem(seed, 14, frozenset({*CONSTRAINTS, "pools", "conflicts"})))
    q = len(instance.pools) - 1
    kept = whole_groups(instance, instance.allowed[q] & (rng.random(14) < 0.6)) & instance.allowed[q]
    part, chosen = part_of(instance, kept, q), np.flatnonzero(kept)
    offsets = rng.integers(0, 60, len(part))
    in_part = violated_rules(part, 0, dict(enumerate(offsets.tolist())))
    in_whole = violated_rules(instance, q, dict(zip(chosen.tolist(), offsets.tolist(), strict=True)))
    assert len(in_part) == len(in_whole) > 0
    soft = [pair for pair in instance.soft_pairs.tolist() if kept[pair].all()]
    assert chosen[part.soft_pairs].tolist() == soft
    assert "together" not in part.features


ALIKE: list[dict[str, Any]] = [{"id": k, "size": 2, "start": 0, "end": 3} for k in range(3)]
POOLS = [{"name": "fast", "size": 8, "bank_size": 4}, {"name": "slow", "cost": 1}]


def groups(rows: list[dict[str, Any]], **fields: Any) -> list[list[int]]:
    return list(identical(compile_problem(Problem(buffers=rows, **fields))))


@pytest.mark.parametrize(
    "field",
    [
        {"conflicts": [[0, 1]]},
        {"may_share": [[0, 1]]},
        {"bank": [{"buffers": [0, 1]}]},
        {"bank": [{"buffers": [0, 1], "weight": 2}], "objective": "cost"},
        {"together": [[0, 1]]},
    ],
)
def test_buffers_named_by_a_common_constraint_are_not_identical(field: dict[str, Any]) -> None:
    assert groups([*ALIKE, ALIKE[0] | {"id": 3}], pools=POOLS, **field) == [[2, 3]]
