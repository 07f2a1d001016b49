"""Verification of symbolic offsets, and of pins, aliases and conflicts, compared with checks at every value."""

import json
import random
import re
import time
from collections import Counter
from typing import Any

import pytest

from lab.shapes import checker_verdict
from memplan.extensions.shapes.offset_programs import Evaluator, OffsetPrograms
from memplan.extensions.shapes.shapes import ShapesOptions, shapes
from memplan.extensions.shapes.symbolic_input import EXAMPLE
from memplan.extensions.shapes.verify_programs import value_of
from memplan.extensions.shapes.verify_shapes import SymbolicOffsets, VerifiedShapes, verify_shapes
from memplan.planner.errors import PlanError, ProblemError
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify
from memplan.programs.symbols.problem import SymbolicProblem
from memplan.solvers.portfolio.solve import solve
from tests.support.symbolic import draw_problem, draw_ruled_problem, problem_at, values_of_all_symbols


def check_offsets(
    problem: SymbolicProblem, offsets: dict[str, int | str], arena: int | str | None = None
) -> VerifiedShapes:
    return verify_shapes(problem, SymbolicOffsets(offsets=offsets, arena=arena), time.monotonic() + 1)


def problem_of(*rows: tuple[str, int, int], **symbols: Any) -> SymbolicProblem:
    buffers = [{"id": f"t{i}", "size": size, "start": start, "end": end} for i, (size, start, end) in enumerate(rows)]
    return SymbolicProblem(symbols=symbols, alignment=64, buffers=buffers)


def test_verify_shapes_rejects_an_arena_sized_for_the_smallest_batch() -> None:
    # TVM made this wrong plan before its pull request 18663: it used the lower bound if there was no upper bound.
    problem = problem_of(("262144*batch", 0, 2), ("12288*batch", 0, 1), batch={"min": 2, "max": 64})
    offsets: dict[str, int | str] = {"t0": 0, "t1": "262144*batch"}
    assert check_offsets(problem, offsets, "274432*batch").status == "valid"
    found = check_offsets(problem, offsets, 274432 * 2)
    assert (found.status, found.faults[0].rule) == ("invalid", "ends beyond the arena")
    assert (found.faults[0].at or {})["batch"] > 2


def test_offsets_of_a_program_are_valid_in_its_arena_and_invalid_in_a_smaller_one() -> None:
    problem = SymbolicProblem.model_validate(EXAMPLE)
    found = shapes(problem)
    sums: list[str] = []
    for terms in found.programs[0].values:
        rows = [f"{sums[value]} + {found.sizes[size]}" for value, size in terms]
        sums.append(rows[0] if len(rows) == 1 else f"max({', '.join(rows)})" if rows else "0")
    offsets = {str(name): sums[at] for name, at in zip(found.ids, found.programs[0].which, strict=True)}
    arena = f"max({', '.join(found.bound)})" if len(found.bound) > 1 else found.bound[0]
    assert check_offsets(problem, offsets, arena).status == "valid"
    assert check_offsets(problem, offsets, f"{arena} - 4096").status == "invalid"


def test_verify_shapes_agrees_with_checks_at_every_value() -> None:
    statuses = []
    for seed in range(14):
        problem = draw_problem(seed, most_buffers=6)
        points = values_of_all_symbols(problem, 300)
        if points is None:
            continue
        draw, total, offsets = random.Random(seed), "0", dict[str, int | str]()
        for row in problem.buffers:
            lower = draw.random() < 0.15
            offsets[str(row.id)] = f"align({total}, {problem.alignment})" if not lower else 0
            total = f"align({total}, {problem.alignment}) + {row.size}"
        found = check_offsets(problem, offsets)
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


def test_verify_shapes_refuses_offsets_of_other_buffers() -> None:
    with pytest.raises(PlanError, match="offsets: must name exactly the buffers of the problem, got"):
        check_offsets(SymbolicProblem.model_validate(EXAMPLE), {"mask": 0})


def answer_of(problem: dict[str, Any]) -> dict[str, Any]:
    found = shapes(SymbolicProblem.model_validate(problem), options=ShapesOptions(time_limit_s=3))
    content: dict[str, Any] = json.loads(found.model_dump_json())
    return content


def programs_in(answer: dict[str, Any]) -> OffsetPrograms:
    fields = {name: answer[name] for name in ("sizes", "size_of", "programs")}
    return OffsetPrograms.model_validate_json(json.dumps(fields))


def faults(problem: dict[str, Any], tally: Counter[str]) -> list[str]:
    """Return the errors in the programs of a problem at each of its values."""
    symbolic = SymbolicProblem.model_validate(problem)
    answer = answer_of(problem)
    found = [] if answer["proof"]["ratio"] is None or checker_verdict(answer, problem) == "proved" else ["not proved"]
    evaluator = Evaluator(symbolic, programs_in(answer))
    for values in values_of_all_symbols(symbolic) or []:
        plain = Problem.model_validate(problem_at(problem, values))
        peak, offsets = evaluator.offsets(values)
        rows = zip(symbolic.buffers, offsets, strict=True)
        placements = [{"id": row.id, "pool": "default", "offset": offset} for row, offset in rows]
        found += map(str, verify(plain, Plan(placements=placements)))
        least = solve(plain, time_limit_s=5)
        assert least.status == "optimal"
        assert least.peak is not None
        ratio = answer["proof"]["ratio"]
        tally["values"] += 1
        tally["least"] += peak == least.peak
        if peak < least.peak or (ratio is not None and peak > (1 + ratio) * least.peak):
            found.append(f"peak {peak}, least {least.peak}, proved {ratio} at {values}")
    return found


@pytest.mark.slow
@pytest.mark.drawn
def test_random_pins_aliases_and_conflicts_are_respected_at_every_value() -> None:
    tally: Counter[str] = Counter()
    for seed in range(40):
        problem = draw_ruled_problem(seed)
        try:
            assert faults(problem, tally) == [], seed
        except ProblemError:
            tally["refused"] += 1
    assert tally["values"] > 100
    assert tally["least"] > 0.9 * tally["values"]


RULES: dict[str, Any] = {
    "symbols": {"n": {"min": 1, "max": 64}},
    "alignment": 16,
    "buffers": [
        {"id": "table", "size": 64, "start": 0, "end": 9, "offset": 0},
        {"id": "input", "size": "32*n", "start": 0, "end": 3},
        {"id": "view", "size": "16*n", "start": 2, "end": 5, "alias_of": "input", "alias_offset": "16*n"},
        {"id": "sum", "size": "16*n", "start": 5, "end": 8},
        {"id": "log", "size": "16*n", "start": 8, "end": 9},
    ],
    "conflicts": [["sum", "log"]],
}


def test_an_answer_contains_pins_aliases_and_conflicts_and_the_checker_needs_them() -> None:
    answer = answer_of(RULES)
    assert answer["status"] == "optimal"
    assert answer["unchecked"] is None
    evaluator = Evaluator(SymbolicProblem.model_validate(RULES), programs_in(answer))
    _, (table, source, view, total, log) = evaluator.offsets({"n": 3})
    assert (table, source, view, {total, log}) == (0, 64, 112, {64, 112})
    changes: list[dict[str, Any]] = [{"views": []}, {"pins": []}, {"apart": []}]
    changes += [{"views": [[2, 1, answer["pins"][0][1]]]}, {"pins": [[0, answer["size_of"][3]]]}]
    for change in changes:
        assert checker_verdict(answer | change, RULES) == "refused", change


@pytest.mark.parametrize(
    ("row", "rule"),
    [
        ({"id": "x", "size": 64, "start": 0, "end": 1, "offset": 48},
         "buffers[5].offset: must be proved not to overlap"),
        ({"id": "x", "size": 64, "start": 0, "end": 1, "offset": "n"}, "buffers[5].offset: must be proved to be a"),
        ({"id": "x", "size": "n", "start": 0, "end": 1, "alias_of": "table"}, ""),
        ({"id": "x", "size": "2*n", "start": 0, "end": 1, "alias_of": "table"}, "must be proved to end inside"),
        ({"id": "x", "size": 1, "start": 0, "end": 1, "alias_of": "none"}, "buffers[5].alias_of: must be the id of"),
        ({"id": "x", "size": 1, "start": 0, "end": 1, "alias_of": "table", "offset": 0},
         "not be given together with alias_of"),
    ],
)  # fmt: skip
def test_pins_and_aliases_not_proved_valid_for_all_values_are_refused(row: dict[str, Any], rule: str) -> None:
    problem = RULES | {"buffers": [*RULES["buffers"], row]}
    if not rule:
        assert answer_of(problem)["status"] == "optimal"
        return
    with pytest.raises(ProblemError, match=re.escape(rule)):
        answer_of(problem)
