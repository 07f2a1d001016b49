"""Offsets of other systems, checked for all values: what is wrong is found, with a value, and nothing else is."""

from __future__ import annotations

import random
import time
from typing import Any

import pytest

from memplan.capabilities.shapes.shapes import shapes
from memplan.capabilities.shapes.symbolic_input import EXAMPLE
from memplan.capabilities.shapes.verify_programs import value_of
from memplan.capabilities.shapes.verify_shapes import (
    SymbolicOffsets,
    VerifiedShapes,
    verify_shapes,
)
from memplan.planner.errors import PlanError
from memplan.planner.symbols.problem import SymbolicProblem
from tests.support.symbolic import drawn_problem, every_value


def checked(problem: SymbolicProblem, offsets: dict[str, int | str], arena: int | str | None = None) -> VerifiedShapes:
    return verify_shapes(problem, SymbolicOffsets(offsets=offsets, arena=arena), time.monotonic() + 1)


def problem_of(*rows: tuple[str, int, int], **symbols: Any) -> SymbolicProblem:
    buffers = [{"id": f"t{i}", "size": size, "start": start, "end": end} for i, (size, start, end) in enumerate(rows)]
    return SymbolicProblem.model_validate({"symbols": symbols, "alignment": 64, "buffers": buffers})


def test_a_memory_of_the_least_batch_that_is_stated_is_found() -> None:
    # As tvm planned before its pull request 18663: no bound above was stated, and that below was taken.
    problem = problem_of(("262144*batch", 0, 2), ("12288*batch", 0, 1), batch={"min": 2, "max": 64})
    offsets: dict[str, int | str] = {"t0": 0, "t1": "262144*batch"}
    assert checked(problem, offsets, "274432*batch").status == "valid"
    found = checked(problem, offsets, 274432 * 2)
    assert (found.status, found.faults[0].rule) == ("invalid", "ends behind the arena")
    assert (found.faults[0].at or {})["batch"] > 2


def test_a_program_of_memplan_is_valid_and_one_bound_lower_is_not() -> None:
    problem = SymbolicProblem.model_validate(EXAMPLE)
    found = shapes(problem)
    sums: list[str] = []
    for terms in found.programs[0].values:
        rows = [f"{sums[value]} + {found.sizes[size]}" for value, size in terms]
        sums.append(rows[0] if len(rows) == 1 else f"max({', '.join(rows)})" if rows else "0")
    offsets: dict[str, int | str] = {
        str(name): sums[at] for name, at in zip(found.ids, found.programs[0].which, strict=True)
    }
    arena = f"max({', '.join(found.bound)})" if len(found.bound) > 1 else found.bound[0]
    assert checked(problem, offsets, arena).status == "valid"
    assert checked(problem, offsets, f"{arena} - 4096").status == "invalid"


def test_what_is_found_is_what_every_value_shows() -> None:
    statuses = []
    for seed in range(14):
        problem = drawn_problem(seed, most_buffers=6)
        points = every_value(problem, 300)
        if points is None:
            continue
        draw, total, offsets = random.Random(seed), "0", dict[str, int | str]()
        for row in problem.buffers:
            lower = draw.random() < 0.15
            offsets[str(row.id)] = f"align({total}, {problem.alignment})" if not lower else 0
            total = f"align({total}, {problem.alignment}) + {row.size}"
        found = checked(problem, offsets)
        wrong = any(overlap_at(problem, offsets, values) for values in points)
        assert found.status in ({"invalid"} if wrong else {"valid", "unknown"}), seed
        statuses.append(found.status)
        for fault in found.faults:
            assert overlap_at(problem, offsets, fault.at or {})
    assert {"valid", "invalid"} <= {*statuses}


def overlap_at(problem: SymbolicProblem, offsets: dict[str, int | str], values: Any) -> bool:
    import ast

    def number(text: int | str) -> int:
        return value_of(ast.parse(str(text), mode="eval").body, values)

    rows = [(number(offsets[str(row.id)]), number(row.size), row.start, row.end) for row in problem.buffers]
    return any(
        a[1] and b[1] and a[0] < b[0] + b[1] and b[0] < a[0] + a[1] and a[2] < b[3] and b[2] < a[3]
        for i, a in enumerate(rows)
        for b in rows[:i]
    )


def test_buffers_must_be_those_of_the_problem() -> None:
    with pytest.raises(PlanError, match="offsets: must have each buffer of the problem, and no other, got"):
        checked(SymbolicProblem.model_validate(EXAMPLE), {"mask": 0})
