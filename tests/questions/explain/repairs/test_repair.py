"""Repairs are verified and minimal in their number of changes, as judged by brute force over all sets."""

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memplan.extensions.cascade.order_repairs import repairs_of_graph
from memplan.planner.errors import OptionError
from memplan.planner.instance.audit import verify
from memplan.planner.model.problem import Problem, replace_fields
from memplan.programs.lifetimes.ordered import problem_of_order
from memplan.programs.operations.graph import OperationGraph, graph_from, read_graph
from memplan.programs.operations.order_check import peak_of
from memplan.questions.explain.explain import explain
from memplan.questions.explain.repairs.candidates import Candidates
from memplan.questions.explain.repairs.changed import ChangedProblems
from memplan.questions.explain.values import (
    KINDS_OF_MODELS,
    ChangeKind,
    ExplainOptions,
    OrderRepairs,
    RepairChange,
    Repairs,
)
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.search.control import Control
from tests.support import public_problems
from tests.support.oracle import best_score
from tests.support.values import buffer_rows, require_value

SPILL: tuple[ChangeKind, ...] = ("spill",)
POOL: tuple[ChangeKind, ...] = ("pool",)


def repairs(problem: Problem, **options: Any) -> Repairs:
    patient = {"repairs": 3, "time_limit_s": 400, "study_s": 120, "with_plans": True}
    return require_value(explain(problem, options=ExplainOptions(**patient | options)).repairs)


def small_problem(seed: int) -> Problem:
    """Return a problem of four or five buffers, some aligned or pinned, whose pool lacks a few bytes."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    for k in range(int(rng.integers(4, 6))):
        start = int(rng.integers(0, 4))
        row: dict[str, Any] = {"id": k, "size": int(rng.integers(1, 6)), "start": start}
        row["end"] = start + int(rng.integers(1, 5))
        if rng.random() < 0.15:
            row["offset"] = int(rng.integers(0, 4))
        if rng.random() < 0.15:
            row["alignment"] = 32
        rows.append(row)
    size = max(row["size"] for row in rows) + int(rng.integers(0, 5))
    return Problem.model_validate({"buffers": rows, "pools": [{"name": "sram", "size": size}]})


def brute_force_count(problem: Problem, kinds: tuple[str, ...], most: int) -> int | None:
    found = Candidates(problem, kinds).found  # type: ignore[arg-type]
    changed = ChangedProblems(problem)
    for count in range(1, most + 1):
        for chosen in combinations(found, count):
            names = [name for each in chosen for name in each.change.buffers]
            if len(set(names)) < len(names):
                continue
            if best_score(changed.apply_changes(each.change for each in chosen)) is not None:
                return count
    return None


@pytest.mark.slow
def test_repairs_have_the_minimum_number_of_changes_by_brute_force() -> None:
    kinds = ("earlier-end", "unpin", "alignment", "in-place", "spill")
    numbers: list[int | None] = []
    for seed in range(10):
        problem = small_problem(seed)
        if best_score(problem) is not None:
            continue
        found = repairs(problem, repairs=1, most_changes=2, kinds=kinds)
        numbers.append(brute_force_count(problem, kinds, 2))
        assert found.fewest == numbers[-1]
        assert found.proved
        changed = ChangedProblems(problem)
        for repair in found.repairs:
            assert verify(changed.apply_changes(repair.changes), require_value(repair.plan)) == ()
    assert {1, 2} <= set(numbers)


def kinds_and_buffers(changes: tuple[RepairChange, ...]) -> list[tuple[Any, ...]]:
    return [(change.kind, change.buffers) for change in changes]


def test_running_an_operation_in_place_is_the_first_repair() -> None:
    rows = [{"id": "x", "size": 10, "start": 0, "end": 2}, {"id": "y", "size": 10, "start": 1, "end": 3}]
    found = repairs(Problem.model_validate({"buffers": rows, "pools": [{"size": 15}]}))
    assert (found.status, found.fewest, found.proved) == ("repaired", 1, True)
    assert kinds_and_buffers(found.repairs[0].changes) == [("in-place", ("x", "y"))]
    assert [repair.rank for repair in found.repairs] == [1, 2, 3]
    assert all(repair.peak_after <= 15 for repair in found.repairs)


@pytest.mark.parametrize(
    "more", [{"bank": [{"buffers": ["x", "y"]}]}, {"may_share": [["x", "z"]], "conflicts": [["y", "z"]]}]
)
def test_in_place_repairs_skip_buffers_bound_by_other_pair_constraints(more: dict[str, Any]) -> None:
    rows = [{"id": "x", "size": 10, "start": 0, "end": 2}, {"id": "y", "size": 10, "start": 1, "end": 3}]
    rows.append({"id": "z", "size": 5, "start": 0, "end": 2})
    pools = [{"size": 15, "bank_size": 4}]
    found = repairs(Problem.model_validate({"buffers": rows, "pools": pools, **more}), kinds=("in-place", "pool"))
    assert (found.status, found.fewest, found.proved) == ("repaired", 1, True)


def test_only_the_smallest_of_repairs_that_differ_in_steps_is_kept() -> None:
    lives = {"a": (10, 0, 10), "b": (8, 8, 12), "c": (7, 6, 8), "d": (3, 4, 6)}
    rows = [{"id": name, "size": size, "start": start, "end": end} for name, (size, start, end) in lives.items()]
    found = repairs(Problem.model_validate({"buffers": rows, "pools": [{"size": 17}]}), repairs=9).repairs
    ends = [(row.steps, repair.peak_after) for repair in found for row in repair.changes if row.kind == "earlier-end"]
    assert ends[:1] == [(2, 17)]
    assert [repair for repair in found if len(repair.changes) == 1 and repair.changes[0].steps == 4] == []


def test_explain_names_a_no_cross_rule_with_its_page_size() -> None:
    row = {"id": "a", "size": 100, "start": 0, "end": 3, "no_cross": 64}
    found = explain(Problem.model_validate({"buffers": [row], "pools": [{"size": 4096}]}))
    assert require_value(found.explanation).message.endswith('with no_cross 64 of "a" (100 bytes)')


def test_explain_names_the_pin_that_keeps_a_problem_from_fitting() -> None:
    rows: list[dict[str, Any]] = [{"id": k, "size": 10, "start": 0, "end": 1} for k in range(2)]
    rows[0]["offset"] = 5
    found = repairs(Problem.model_validate({"buffers": rows, "pools": [{"size": 20}]}), kinds=("unpin", "earlier-end"))
    assert [kinds_and_buffers(repair.changes) for repair in found.repairs] == [[("unpin", (0,))]]


def test_explain_can_prove_that_no_small_repair_exists() -> None:
    rows = [{"id": k, "size": 10, "start": 0, "end": 9} for k in range(20)]
    found = repairs(Problem.model_validate({"buffers": rows, "pools": [{"size": 100}]}))
    assert (found.status, found.repairs, found.proved, found.open_questions) == ("none", (), True, 0)


def test_a_spilled_buffer_occupies_bytes_in_the_step_of_its_return() -> None:
    rows = buffer_rows(kept=(10, 0, 9), wide=(15, 3, 5), late=(15, 8, 10))
    assert repairs(Problem.model_validate({"buffers": rows, "pools": [{"size": 20}]}), kinds=SPILL).status == "none"


def test_repairs_can_move_a_buffer_to_another_pool() -> None:
    rows = [{"id": k, "size": 6, "start": 0, "end": 3, "pools": ["fast"]} for k in range(2)]
    pools = [{"name": "fast", "size": 10}, {"name": "slow", "size": 100}]
    found = repairs(Problem.model_validate({"buffers": rows, "pools": pools}), kinds=POOL)
    assert {change.pool for repair in found.repairs for change in repair.changes} == {"slow", None}


def test_a_real_network_is_repaired_by_one_change() -> None:
    problem = public_problems.problem("executorch/mobilenet_v2.csv")
    peak = require_value(solve(problem).peak)
    fields = {name: getattr(problem, name) for name in Problem.model_fields}
    smaller = Problem.model_validate(fields | {"pools": [dict(problem.pools[0]) | {"size": peak * 95 // 100}]})
    found = repairs(smaller)
    assert len(found.repairs) == 3
    assert all(repair.verified for repair in found.repairs)
    changed = ChangedProblems(smaller)
    for repair in found.repairs:
        after, plan = changed.apply_changes(repair.changes), repair.plan
        assert plan is not None
        ends = [place.offset + after.buffers[after.index[place.id]].size for place in plan.placements]
        assert repair.peak_after == plan.peak == max(ends) == plan.pools[0].used
        assert plan.lower_bound is not None
    assert repairs(problem).status == "fits"


def test_repairs_of_a_problem_with_too_many_buffers_are_refused() -> None:
    rows = [{"id": k, "size": 1, "start": 0, "end": 1} for k in range(10_001)]
    with pytest.raises(OptionError, match="repairs: must be requested for at most 10000 buffers, got 10001"):
        repairs(Problem.model_validate({"buffers": rows, "pools": [{"size": 5}]}))


def test_shortening_a_buffer_merges_its_adjacent_lifetimes() -> None:
    second = {"id": "s", "size": 40, "lifetimes": [[0, 6], [6, 9]]}
    first = {"id": "w", "size": 48, "start": 6, "end": 12, "offset": 24}
    problem = Problem.model_validate({"buffers": [first, second], "pools": [{"name": "p", "size": 108}]})
    changed = ChangedProblems(problem)
    for kind, steps, span in (("earlier-end", 1, (0, 8)), ("later-start", 7, (7, 9))):
        change = RepairChange.model_validate({"kind": kind, "buffers": ("s",), "steps": steps})
        row = changed.apply_changes([change]).buffers[1]
        assert (row.start, row.end) == span
    spilled = changed.apply_changes([RepairChange(kind="spill", buffers=("s",))]).buffers
    assert [(row.start, row.end) for row in spilled][1:] == [(0, 1), (8, 9)]
    second["lifetimes"] = [[0, 2], [2, 6]]
    short = Problem.model_validate({"buffers": [first, second], "pools": [{"name": "p", "size": 108}]})
    earlier = RepairChange(kind="earlier-end", buffers=("s",), steps=3)
    assert ChangedProblems(short).apply_changes([earlier]).buffers[1].end == 3
    for each in repairs(problem).repairs:
        assert solve(changed.apply_changes(each.changes)).status != "infeasible"
        assert each.peak_after == require_value(each.plan).peak


def pool_of(size: int, *rows: dict[str, Any]) -> Problem:
    return Problem.model_validate({"buffers": list(rows), "pools": [{"name": "p", "size": size}]})


@pytest.mark.parametrize("rule", [{"no_cross": 8}, {"offset_mod": {"modulus": 8, "remainder": 4}}])
def test_a_buffer_repaired_in_place_keeps_its_offset_rules(rule: dict[str, Any]) -> None:
    below = {"id": "c", "size": 3, "start": 0, "end": 3, "offset": 0}
    first, second = {"id": "a", "size": 8, "start": 0, "end": 2}, {"id": "b", "size": 8, "start": 1, "end": 3, **rule}
    problem = pool_of(12, first, second, below)
    changed = ChangedProblems(problem).apply_changes([RepairChange(kind="in-place", buffers=("a", "b"))])
    field = next(iter(rule))
    assert changed.buffers[1].model_dump(exclude_unset=True)[field] == rule[field]


@pytest.mark.parametrize(
    ("rows", "kinds", "fewest"),
    [
        ([(0, 2, 3, 0), (1, 2, 4, 8)], POOL, 1),
        ([(0, 0, 5, 8)], ("pool", "spill"), 1),  # the first repair leaves no buffer in the pool
        ([(0, 1, 5, None), (1, 0, 5, 0)], SPILL, None),
        ([(0, 2, 3, None), (1, 0, 5, 0)], SPILL, 1),
        ([(0, 0, 2, 0), (1, 1, 3, 0)], ("in-place",), 1),
    ],
)
def test_repairs_respect_and_release_pinned_buffers(
    rows: list[tuple[int, int, int, int | None]], kinds: tuple[ChangeKind, ...], fewest: int | None
) -> None:
    names = ("id", "start", "end", "offset")
    problem = pool_of(8, *({**dict(zip(names, row, strict=True)), "size": 8} for row in rows))
    answer = repairs(problem, kinds=kinds, most_changes=2)
    assert (answer.fewest, answer.proved) == (fewest, True)


RANDWIRE = Path(__file__).parents[4] / "examples" / "graphs" / "cells_randwire32x1_s1.json"
USES = ([0], 1), ([0], 3), ([1], 2), ([3], 4), ([2, 4], 5)
SWAPPED = {"size": [1, 10, 2, 10, 2, 1], "kept": [5], "ops": [{"in": reads, "out": [made]} for reads, made in USES]}


def repairs_of(graph: OperationGraph, capacity: int, wanted: int = 3) -> OrderRepairs:
    options = ExplainOptions(repairs=wanted, with_plans=True)
    asked = problem_of_order(graph, range(len(graph.ops))).with_capacity(capacity)
    return repairs_of_graph(graph, asked, options, Control.from_limit(20))


@pytest.fixture
def graph() -> OperationGraph:
    return graph_from(SWAPPED)


def test_repairs_of_a_graph_propose_the_order_with_the_fewest_moves(graph: OperationGraph) -> None:
    repair = repairs_of(graph, 14, 1).repairs[0]
    assert (repair.kind, repair.operations, repair.moves) == ("reorder", (1, 2), 2)
    assert repair.live_peak == peak_of(graph, require_value(repair.order)) <= 14
    assert verify(require_value(repair.problem), require_value(repair.plan)) == ()
    assert repair.peak_after <= 14


def test_a_graph_whose_order_fits_needs_no_repair(graph: OperationGraph) -> None:
    assert [repair.kind for repair in repairs_of(graph, 100).repairs] == ["none"]


def test_repairs_can_prove_that_no_order_fits(graph: OperationGraph) -> None:
    found = repairs_of(graph, 9)
    assert (found.repairs, found.proved) == ((), True)
    assert found.least_live_peak > 9


@pytest.mark.slow
def test_a_randwire_network_is_repaired_by_another_order() -> None:
    found = repairs_of(read_graph(RANDWIRE.read_bytes()), 3_800_000, 1)
    assert found.repairs[0].kind == "reorder"
    problem, plan = found.repairs[0].problem, found.repairs[0].plan
    assert problem is not None
    assert plan is not None
    assert verify(problem, plan) == ()


def test_an_unchanged_graph_is_not_a_repair_of_an_infeasible_problem() -> None:
    chain = graph_from({"size": [100] * 3, "ops": [{"out": [0]}, {"in": [0], "out": [1]}, {"in": [1], "out": [2]}]})
    longer = Problem(buffers=[{"id": k, "size": 100, "start": k, "end": 3} for k in range(3)])
    options = ExplainOptions(repairs=1, study_s=0.5, deterministic=True)
    found = explain(longer.with_capacity(250), chain, options=options)
    assert found.repairs is not None
    assert found.repairs.of_operations is not None
    assert found.repairs.of_operations.repairs == ()
    assert found.repairs.of_operations.left_out[0].startswith("operations: their graph takes 200 bytes as given")


TWO_MEMORIES = {"pools": [{"name": "sram", "size": 64}, {"name": "psram", "size": 100}]}


def test_repairs_of_a_graph_in_two_pools_use_only_changes_of_models() -> None:
    options = ExplainOptions(repairs=3, with_plans=True, time_limit_s=20)
    found = require_value(explain(*problem_of_two_memories(WIDE), options=options).repairs)
    assert found.of_operations is not None
    assert {change.kind for repair in found.repairs for change in repair.changes} <= {*KINDS_OF_MODELS}
    first = found.of_operations.repairs[0]
    assert first.kind == "reorder"
    applied = problem_of_order(graph_from(WIDE), require_value(first.order)).model_copy(
        update={"pools": require_value(first.problem).pools}
    )
    assert solve(applied, time_limit_s=10).status in ("optimal", "feasible")
    for repair in found.of_operations.repairs:
        assert repair.problem is not None
        assert [pool.size for pool in repair.problem.pools] == [64, 100]
        assert verify(repair.problem, require_value(repair.plan)) == ()


def test_repairs_of_a_model_change_lifetimes_only_on_request() -> None:
    options = ExplainOptions(repairs=1, kinds=("earlier-end",), time_limit_s=20)
    found = require_value(explain(*problem_of_two_memories(WIDE), options=options).repairs)
    assert {change.kind for repair in found.repairs for change in repair.changes} == {"earlier-end"}


def test_repairs_of_a_graph_can_run_operations_in_place() -> None:
    rows = [{"out": [0], "kind": "conv2d"}, {"in": [0], "out": [1], "kind": "relu"}, {"in": [1], "out": [2]}]
    repair = repairs_of(graph_from({"size": [60, 60, 4], "kept": [2], "ops": rows}), 64, 1).repairs[0]
    assert (repair.kind, repair.operations, repair.peak_after) == ("in-place", (1,), 64)
    assert verify(require_value(repair.problem), require_value(repair.plan)) == ()


def test_repairs_of_a_graph_keep_the_allowed_pools_of_tensors() -> None:
    asked, graph = problem_of_two_memories(WIDE)
    rows = [asked.buffers.fields(i) for i in range(len(asked.buffers))]
    rows = [row | ({"pools": ["sram"]} if row["id"] in ("tensor_4", "tensor_5") else {}) for row in rows]
    asked = replace_fields(asked, buffers=rows)
    found = repairs_of_graph(graph, asked, ExplainOptions(repairs=3, with_plans=True), Control.from_limit(20))
    for repair in found.repairs:
        assert repair.problem is not None
        assert {require_value(repair.plan)[k].pool for k in ("tensor_4", "tensor_5")} == {"sram"}
    assert any('"tensor_4" has its own pool or offset' in why for why in found.left_out)


MAKES, REDUCES = [{"out": [k], "cost": 100} for k in range(3)], [{"in": [k], "out": [3 + k]} for k in range(3)]
WIDE = {"size": [60, 60, 60, 4, 4, 4, 4], "kept": [6], "ops": [*MAKES, *REDUCES, {"in": [3, 4, 5], "out": [6]}]}
"""All three large tensors are produced before any is reduced; a better order keeps one alive at a time."""


def problem_of_two_memories(value: dict[str, Any]) -> tuple[Problem, OperationGraph]:
    graph = graph_from(value)
    return replace_fields(problem_of_order(graph, range(len(graph.ops))), **TWO_MEMORIES), graph
