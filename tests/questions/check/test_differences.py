"""Differences of two plans: added, removed and moved buffers, and causes of peak growth."""

import random
from collections import Counter
from typing import Any

import pytest
from pydantic import TypeAdapter
from pydantic_core import to_json

from memplan.planner.errors import excerpt
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.overlaps import no_two_share_bytes
from memplan.planner.verify.placed import PlacedBuffers
from memplan.questions.check import check as checking
from memplan.questions.check.check import QUESTION, Check, CheckOptions, check
from memplan.questions.check.difference import Difference, difference_of, lines_of_difference
from memplan.questions.check.moves import MoveReasons
from memplan.questions.plan.baseline import Baseline, read_baseline_field
from memplan.questions.plan.plan import PlanOptions, plan
from memplan.questions.question import Control
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.search.control import Deadline
from tests.support.depth import DEPTH
from tests.support.meeting_kinds import problems


def problem(*rows: tuple[str, int, int, int]) -> Problem:
    return Problem.model_validate(
        {"buffers": [{"id": name, "start": start, "end": end, "size": size} for name, start, end, size in rows]}
    )


def baseline_at(problem: Problem | None, **offsets: int) -> Baseline:
    rows = [{"id": name, "pool": "default", "offset": at} for name, at in offsets.items()]
    return Baseline(Plan.model_validate({"placements": rows}), problem)


OLD = baseline_at(problem(("a", 0, 4, 8), ("b", 0, 4, 8), ("c", 4, 6, 8)), a=0, b=8, c=0)
NEXT = baseline_at(problem(("a", 0, 4, 8), ("b", 0, 5, 12), ("d", 0, 4, 8)), a=8, b=16, d=0)


def test_a_difference_lists_added_removed_and_moved_buffers() -> None:
    told = TypeAdapter(Difference).dump_python(difference_of(OLD, NEXT), by_alias=True)
    assert (told["added"], told["removed"], told["resized"]) == (("d",), ("c",), ({"id": "b", "from": 8, "to": 12},))
    assert told["lifetime"] == ({"id": "b", "from": ((0, 4),), "to": ((0, 5),)},)
    moved = [(row["id"], row["from"], row["to"], row["reason"]) for row in told["moved"]]
    assert moved == [("a", 0, 8, "taken"), ("b", 8, 16, "taken")]
    assert told["moved"][0]["why"] == 'its old bytes are now those of "d"'
    assert (told["peak_before"], told["peak"], told["moved_bytes"], told["stayed"]) == (16, 28, 20, 0)


def test_equal_plans_have_no_differences() -> None:
    found = difference_of(OLD, OLD)
    assert list(lines_of_difference(found)) == ["peak 16 -> 16 bytes (+0)", "moved 0, 0 bytes; stayed 3"]
    for new, unmoved, status in ((OLD, False, 0), (NEXT, False, 0), (OLD, True, 0), (NEXT, True, 1)):
        options = CheckOptions(tolerance="100%", differences=True, unmoved=unmoved)
        answer = check(new.problem, new.plan, OLD, options=options)
        assert QUESTION.exit_status(answer) == status
        assert answer.difference == difference_of(OLD, new)


def test_plans_without_problems_differ_only_in_placements() -> None:
    found = difference_of(baseline_at(None, one=0), baseline_at(None, one=4))
    assert [(row.before, row.after, row.bytes, row.reason, row.why) for row in found.moved] == [
        (0, 4, None, "unknown", None)
    ]
    assert (found.resized, found.peak, found.growth) == (None, None, None)


def test_causes_of_growth_add_up_to_the_growth_of_the_live_peak() -> None:
    found = difference_of(OLD, NEXT)
    assert found.growth is not None
    grown = found.growth["default"]
    assert grown.live - grown.live_before == sum(cause.bytes for cause in grown.causes) + grown.rest
    assert {(cause.buffer, cause.kind) for cause in grown.causes} == {("b", "grown"), ("d", "new")}


def test_the_difference_of_an_invalid_plan_has_moves_but_no_causes() -> None:
    found = difference_of(OLD, baseline_at(OLD.problem, a=0, b=0, c=0))
    assert ([move.id for move in found.moved], found.growth) == (["b"], None)
    wrong = Baseline(baseline_at(OLD.problem, a=0, other=8).plan, OLD.problem)
    answer = check(OLD.problem, OLD.plan, wrong, options=CheckOptions(differences=True))
    assert (answer.passed, answer.pools[0].causes) == (True, None)
    assert answer.difference is not None
    assert answer.difference.growth is None


def test_an_infeasible_problem_is_reported_without_a_difference() -> None:
    assert OLD.problem is not None
    small = OLD.problem.with_capacity(8)
    for options in (CheckOptions(differences=True), CheckOptions(unmoved=True)):
        answer = check(small, baseline=OLD, options=options)
        assert ([each.rule for each in answer.failures], answer.difference) == (["no-plan"], None)
    assert difference_of(Baseline(solve(small), small), OLD).growth is None


def test_a_baseline_is_read_from_json_with_or_without_its_problem() -> None:
    assert OLD.problem is not None
    plan = solve(OLD.problem)
    alone, whole = ({"plan": plan.model_dump(mode="json")}, Baseline(plan, OLD.problem).to_json())
    assert read_baseline_field(alone, "old").problem is None
    assert read_baseline_field(whole, "old") == Baseline(plan, OLD.problem)
    answer = difference_of(Baseline(plan, OLD.problem), Baseline(plan, OLD.problem))
    read = TypeAdapter(Difference).validate_json(to_json(answer))
    for found in (read, answer):
        assert list(lines_of_difference(found)) == ["peak 16 -> 16 bytes (+0)", "moved 0, 0 bytes; stayed 3"]


@pytest.mark.parametrize(
    ("taker", "more", "reason"),
    [
        ({"start": 0, "end": 9}, {}, "taken"),
        ({"start": 5, "end": 9}, {}, "free"),
        ({"start": 5, "end": 9}, {"conflicts": [["moved", "taker"]]}, "taken"),
        ({}, {"conflicts": [["moved", "taker"]]}, "taken"),
        ({}, {}, "free"),
    ],
)
def test_a_buffer_at_the_old_offset_explains_a_move(taker: dict[str, int], more: dict[str, Any], reason: str) -> None:
    rows = [{"id": "moved", "size": 8, "start": 0, "end": 4}, {"id": "taker", "size": 8, **taker}]
    its = Problem.model_validate({"buffers": rows, **more})
    found = difference_of(baseline_at(its, moved=0, taker=8), baseline_at(its, moved=8, taker=0))
    assert {move.id: move.reason for move in found.moved}["moved"] == reason


@pytest.mark.parametrize("is_placed", [True, False])
def test_a_move_is_explained_by_the_rule_of_an_alias_that_forbids_the_old_place(is_placed: bool) -> None:
    view = {"id": "view", "size": 4, "start": 0, "end": 4, "alias_of": "moved", "forbid_pools": ["fast"]}
    fields = {"buffers": [{"id": "moved", "size": 8, "start": 0, "end": 4}, view]}
    its = Problem.model_validate(fields | {"pools": [{"name": "fast", "size": 64}, {"name": "slow"}]})
    old, new = (
        [{"id": name, "pool": pool, "offset": at} for name in ("moved", "view")]
        for pool, at in (("fast", 32), ("slow", 0))
    )
    before = Plan.model_validate({"placements": old if is_placed else old[:1]})
    (move,) = difference_of(Baseline(before, its), Baseline(Plan.model_validate({"placements": new}), its)).moved
    why = 'buffer "view": must be in a pool that it does not forbid, got offset 32 of "fast"'
    assert (move.reason, move.why) == ("rule", why)


def test_a_move_is_explained_by_an_alias_that_outlives_its_buffer() -> None:
    view = {"id": "view", "size": 4, "start": 2, "end": 9, "alias_of": "over"}
    rows = [{"id": "moved", "size": 8, "start": 4, "end": 6}, {"id": "over", "size": 8, "start": 0, "end": 2}, view]
    its = Problem.model_validate({"buffers": rows})
    found = difference_of(baseline_at(its, moved=0, over=8, view=8), baseline_at(its, moved=8, over=0, view=0))
    assert {move.id: move.reason for move in found.moved}["moved"] == "taken"


@pytest.mark.drawn
def test_reasons_of_moves_match_the_verifiers_violations_at_the_old_offsets() -> None:
    told = Counter[str]()
    for name, its, _ in problems(7, 150 * DEPTH):
        found, draw = solve(its, time_limit_s=0.2), random.Random(name)
        if not found.placements:
            continue
        rows = [{"id": row.id, "pool": row.pool, "offset": draw.randrange(12)} for row in found.placements]
        old = Plan.model_validate({"placements": rows})
        reasons, placed = MoveReasons(its, old, found.placements), PlacedBuffers.from_placements(its, found.placements)
        for move in difference_of(Baseline(old, its), Baseline(found, its)).moved:
            i = its.index[move.id]
            if i in reasons.old.must_move:
                continue
            offset = placed.offset.copy()
            offset[i] = move.before
            there_then = PlacedBuffers(its, placed.pool, offset)
            there = {each for pair in no_two_share_bytes(its, there_then) for each in (pair.first, pair.second)}
            told[move.reason] += 1
            assert (move.reason == "taken") == (move.id in there), (its, found, old, move)
            assert move.reason != "taken" or any(excerpt(other) in (move.why or "") for other in there - {move.id})
    assert min(told["taken"], told["free"] + told["above"]) > 50


def test_reasons_of_moves_not_examined_in_time_are_reported_as_unknown() -> None:
    asks = iter([False, True])
    found = difference_of(OLD, NEXT, lambda: next(asks, True))
    assert [(move.id, move.reason) for move in found.moved] == [("a", "taken"), ("b", "unknown")]
    assert found.moved[1].why == "the time was over before its old place was examined"


def test_check_records_an_interim_answer_and_reserves_time_for_the_final_one(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, notes, due = list[tuple[str, float]](), list[Check](), Deadline(0.0, 1e9)

    def make_noted_plan(problem: Problem, *, options: PlanOptions, control: Control) -> Plan:
        asked.append((options.solver, control.deadline.at))
        return plan(problem, options=options, control=Control())

    monkeypatch.setattr(checking, "make_plan", make_noted_plan)
    control = Control(due, note=notes.append)
    answer = check(OLD.problem, baseline=OLD, options=CheckOptions(differences=True, with_plan=True), control=control)
    assert [solver for solver, _ in asked] == ["greedy", "auto"]
    assert all(at < due.at for _, at in asked)
    assert [found.pools for found in notes] == [answer.pools]
    assert notes[0].difference is not None


def test_after_the_time_limit_no_reasons_of_moves_are_examined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(MoveReasons, "__init__")
    found = difference_of(OLD, NEXT, lambda: True)
    assert [(row.id, row.reason) for row in found.moved] == [("a", "unknown"), ("b", "unknown")]
