"""All quick orders in one call come to the same as one after the other, packed in plain Python."""

from __future__ import annotations

import random

import numpy as np
import pytest

from memplan.planner.instance.compile import compile_problem
from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import column
from memplan.planner.model.problem import Problem
from memplan.solvers.packing.orders import RULES, Rule, Traits
from memplan.solvers.packing.packer import Packer
from memplan.solvers.packing.place import place
from memplan.solvers.packing.quick_orders import best_order, suits


def drawn(draw: random.Random, n: int) -> Instance:
    """Return a plain instance with ties, odd alignments and sizes of all magnitudes."""
    rows = []
    scale = draw.choice((1, 64, 2**40))
    for i in range(n):
        start = draw.randrange(0, draw.choice((5, 60)))
        size = draw.choice((1, 3, 8, draw.randrange(1, 1000))) * scale
        row = {"id": i, "size": size, "start": start, "end": start + draw.randrange(1, 20)}
        rows.append(row | ({"alignment": draw.choice((1, 3, 64))} if draw.random() < 0.5 else {}))
    pool = {"size": max(sum(row["size"] for row in rows) // draw.choice((1, 2, 3)), *(row["size"] for row in rows), 1)}
    return compile_problem(Problem(buffers=rows, pools=[{"name": "a", **(pool if draw.random() < 0.5 else {})}]))


def one_by_one(instance: Instance) -> tuple[Rule, np.ndarray] | None:
    """Return the first of the orders with the least peak, and its offsets."""
    traits, packer, best = Traits(instance), Packer(instance, column([0])), None
    for rule in RULES:
        found = place(packer, instance, rule.order(traits), (0,), rule.best_fit)
        if found is not None:
            peak = int((found[1] + instance.size).max())
            if best is None or peak < best[0]:
                best = peak, rule, found[1]
    return None if best is None else best[1:]


@pytest.mark.parametrize("seed", range(12))
def test_the_best_of_all_orders_is_that_of_packing_in_one_after_the_other(seed: int) -> None:
    draw = random.Random(seed)
    instance = drawn(draw, draw.choice((1, 2, 9, 17, 40)))
    assert suits(instance)
    found, wanted = best_order(instance, column([0]), 0), one_by_one(instance)
    assert (found is None) == (wanted is None)
    if found is not None and wanted is not None:
        assert found.rule == wanted[0]
        assert found.offset.tolist() == wanted[1].tolist()
        peak = int((found.offset + instance.size).max())
        assert best_order(instance, column([0]), peak).tried <= found.tried == len(RULES)  # type: ignore[union-attr]


def test_a_flag_that_is_set_ends_it_before_the_first_order() -> None:
    instance = drawn(random.Random(1), 9)
    assert best_order(instance, column([1]), 0) is None


def test_what_has_other_rules_is_left_to_the_usual_packer() -> None:
    rows = [{"id": i, "size": 4, "start": 0, "end": 2} for i in range(3)]
    assert suits(compile_problem(Problem(buffers=rows)))
    assert not suits(compile_problem(Problem(buffers=[rows[0] | {"offset": 8}, *rows[1:]])))
    assert not suits(compile_problem(Problem(buffers=rows, conflicts=[(0, 1)])))
    assert not suits(compile_problem(Problem(buffers=rows, pools=[{"name": "a", "base_address": 4, "alignment": 8}])))
