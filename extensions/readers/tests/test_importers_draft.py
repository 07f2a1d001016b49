"""Tests that aliases for views never change a result: random programs are run on planned memory, byte by byte."""

from __future__ import annotations

import random
from typing import Any

import pytest

from memplan.extensions.networks.operations.statements import Operation
from memplan.extensions.readers.draft import OperationsDraft
from memplan.planner.errors import OptionError
from memplan.planner.foreign.imported import ViewFacts
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.solve import solve
from tests.support.depth import seeds
from tests.support.view_programs import SIZE, Machine, random_program

SHARED, APART = ModelOptions(views="alias"), ModelOptions(views="separate")


def place_rows(problem: Problem) -> dict[str, int]:
    plan = solve(problem, time_limit_s=60, accept="fit")
    return {str(row.id).removeprefix("main/"): row.offset for row in plan.placements}


def families(draft: OperationsDraft) -> dict[str, str]:
    return {row.id: row.alias_of or row.id for row in draft.operations().functions["main"].buffers}


@pytest.mark.drawn
def test_random_programs_on_planned_memory_read_every_value_unchanged() -> None:
    for seed in seeds(40):
        for options in (SHARED, APART):
            draft, steps, params = random_program(seed, options)
            places = place_rows(draft.make_program().problem)
            unused = max(places.values()) + SIZE  # Values that are never read have no planned offset, so put them here.
            for name in families(draft):
                places.setdefault(name, unused)
            for k in range(5):
                Machine(places, families(draft), random.Random(k)).run(steps, params, draft.results)


def test_random_programs_contain_aliased_and_copied_views() -> None:
    facts = [random_program(seed, SHARED)[0].views for seed in range(100)]
    assert sum(row.aliases for row in facts) > 100
    assert sum(row.apart for row in facts) > 30


def draft_of(*, results: tuple[str, ...] = ("y",), **kinds: Any) -> OperationsDraft:
    draft = OperationsDraft("small", results, SHARED, 1)
    for name, kind in kinds.items():
        draft.declare(name, SIZE, kind)
    return draft


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("constant", "constants are stored elsewhere"),
        ("carried", "a loop writes it again"),
        ("persistent", "a persistent value may be written again"),
        ("param", "the caller owns inputs and outputs separately"),
    ],
)
def test_a_view_of_a_value_that_may_change_or_is_stored_elsewhere_is_a_copy(kind: str, reason: str) -> None:
    draft = draft_of(x=kind, y="plain")
    draft.view("Reshape", "x", "y")
    assert draft.views == ViewFacts(apart=1, apart_bytes=SIZE)
    (warning,) = draft.warnings
    assert warning.message == f'Reshape "y": takes {SIZE} bytes beside "x", because {reason}'


def test_a_view_with_another_size_is_a_copy() -> None:
    draft = draft_of(x="plain")
    draft.declare("y", 2 * SIZE)
    draft.view("Reshape", "x", "y")
    assert draft.warnings[0].message.endswith("their sizes differ")


def test_a_chain_of_views_is_one_buffer_named_after_the_output() -> None:
    draft = draft_of(x="param", a="plain", b="plain", y="plain")
    draft.operation("op", ["x"], ["a"])
    draft.view("Reshape", "a", "b")
    draft.view("Reshape", "b", "y")
    assert families(draft) == {"x": "x", "a": "y", "b": "y", "y": "y"}
    assert draft.operations().functions["main"].body == (Operation(op="op", inputs=("x",), outputs=("a",)),)


def test_a_branch_writes_its_output_in_place_only_if_it_made_the_source() -> None:
    draft = draft_of(results=("y",), x="param", outer="plain", y="chosen", z="chosen")
    draft.operation("op", ["x"], ["outer"])
    draft.begin_block()
    draft.declare("inner", SIZE)
    draft.operation("op", ["x"], ["inner"])
    draft.hand_out("If", "inner", "y")
    draft.hand_out("If", "inner", "z")
    first = draft.end_block()
    draft.begin_block()
    draft.hand_out("If", "outer", "y")
    draft.hand_out("If", "x", "z")
    draft.branches(["x"], [first, draft.end_block()])
    assert families(draft)["inner"] == "y"
    assert [warning.message.partition(", because ")[2] for warning in draft.warnings] == [
        "it is written for another output, too",
        "it may be used outside of the branch",
        "it may be used outside of the branch",
    ]


def test_stated_scratch_is_alive_while_its_operation_runs_and_unknown_names_are_refused() -> None:
    def problem(**scratch: int) -> Problem:
        draft = OperationsDraft("small", ("z",), ModelOptions(scratch=scratch), 16)
        for name in "xyvz":
            draft.declare(name, SIZE, "param" if name == "x" else "plain")
        draft.operation("Conv", ["x"], ["y"])
        draft.view("Reshape", "y", "v")
        draft.operation("Conv", ["v"], ["z"])
        return draft.make_program().problem

    def scratch_rows(rows: Problem) -> list[tuple[int, tuple[tuple[int, int], ...]]]:
        return [(row.size, row.intervals) for row in rows.buffers if "#scratch" in str(row.id)]

    assert [size for size, _ in scratch_rows(problem(Conv=100))] == [100, 100]
    of_all, of_one = scratch_rows(problem(Conv=100, z=64)), scratch_rows(problem(z=64))
    assert [size for size, _ in of_all] == [100, 64]
    assert of_one == of_all[1:]
    assert scratch_rows(problem(Conv=0)) == []
    for name in ("Reshape", "Pool", "x"):
        with pytest.raises(OptionError, match=rf"scratch: must name operators that run \(Conv\), .* got \"{name}\""):
            problem(**{name: 64})
