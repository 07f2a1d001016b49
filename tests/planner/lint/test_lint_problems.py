"""Lint reports legal fields that are probably mistakes, and has no findings on usual problems."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given

from memplan.planner.lint.problems import lint
from memplan.planner.model.finding import MAX_LISTED, Finding
from memplan.planner.model.problem import Problem
from memplan.planner.verify import overlaps
from tests.support.oracle import best_score
from tests.support.strategies import problems, tied_problems

A: dict[str, Any] = {"id": "a", "size": 4, "start": 0, "end": 2}
B: dict[str, Any] = {"id": "b", "size": 3, "start": 1, "end": 3}
C: dict[str, Any] = {"id": "c", "size": 2, "start": 2, "end": 4}


WIDE, TALL = A | {"size": 8}, B | {"size": 4}
BANKED = [{"name": "x", "bank_size": 16}]


def problem(*buffers: dict[str, Any], **fields: Any) -> Problem:
    return Problem.model_validate({"buffers": list(buffers), **fields})


def view(name: str, offset: int, size: int, **rules: Any) -> dict[str, Any]:
    return {"id": name, "size": size, "start": 0, "end": 2, "alias_of": "a", "alias_offset": offset, **rules}


def chain(*lifetimes: tuple[int, int]) -> Problem:
    return problem(*({"id": k, "size": k + 1, "start": low, "end": high} for k, (low, high) in enumerate(lifetimes)))


def doubled_rows(pairs: int) -> list[dict[str, Any]]:
    """Return pairs of rows that are equal except for their ids, as if each row were written twice."""
    return [{"id": f"{k}/{turn}", "size": k + 1, "start": k, "end": k + 3} for k in range(pairs) for turn in (0, 1)]


@pytest.mark.parametrize(
    "value",
    [
        problem(*doubled_rows(3)),
        problem(A, B, C),
        problem(A, B, C, conflicts=[["a", "c"], ["b", "c"]]),
        problem(A, B, C, conflicts=[["a", "c"], ["c", "a"], ["b", "c"], ["c", "b"]]),
        problem({"id": 1, "size": 4}, {"id": 2, "size": 4}, conflicts=[[1, 2]]),
        problem({"id": 1, "size": 4, "start": 0, "end": 1}, {"id": 2, "size": 2, "alias_of": 1}),
        problem(A, pools=[{"size": 4, "alignment": 8, "base_address": 16, "reserved": [[2, 2]]}]),
        problem(A | {"pools": ["y"]}, pools=[{"name": "x", "size": 2}, {"name": "y", "size": 4}]),
        problem(A | {"offset": 0}, B | {"offset": 4}, C | {"offset": 0}),
        chain((0, 2), (1, 3), (2, 4), (3, 5), (4, 6)),
        chain((0, 1), (1, 2), (2, 3)),
        problem({"id": "a", "size": 4, "lifetimes": [[0, 2], [2, 3], [7, 9]]}),
        problem(WIDE, TALL, C, may_share=[["a", "b"], ["b", "c"], ["a", "c"]]),
        problem(WIDE, TALL | {"start": 0}, C | {"start": 0}, may_share=[["a", "b"]]),
        problem(WIDE, view("v", 0, 4), view("w", 4, 4), C),
        problem(WIDE, view("v", 0, 6), view("w", 2, 4), C),
        problem(WIDE, view("v", 0, 6), view("w", 2, 6, start=4, end=5), C),
        problem(WIDE, TALL | {"relative": {"to": "a", "offset": 8}}, C),
        problem(WIDE, TALL, bank=[{"buffers": ["a", "b"]}], pools=BANKED),
        problem(WIDE, TALL, bank=[{"buffers": ["a", "b"], "weight": 1}], pools=BANKED, objective="cost"),
        problem(WIDE, TALL, bank=[{"buffers": ["a", "b"], "weight": 0}], pools=BANKED),
    ],
)
def test_lint_has_no_findings_for_usual_problems(value: Problem) -> None:
    assert lint(value) == ()


BOTH_WAYS = 'conflicts: 1 pair listed in both directions, but ["b", "c"] in only one; each counts in both'
SELF = 'conflicts[0]: pairs "a" with itself, which has no effect'
NEVER_ALIVE = 'buffer "d": has no lifetime and no conflict, so it may share bytes with all others'
TOO_LARGE = 'buffer "a": must fit a pool that it may use (the largest has 3 bytes), got size 4'
NEVER_ALIGNED = 'buffer "a": must fit behind the first aligned offset of a pool (3 bytes), got size 4'
MISALIGNED = (
    'pool "default": base_address must be a multiple of the pool\'s alignment (4), or offset 0 cannot be used, got 6'
)
PAST_END = 'pool "default": reserved[0] must end inside the pool (8 bytes), got an end at 10'
INCLUSIVE = (
    "lifetimes: ends look inclusive, but are read as half-open: at 3 of the 3 times at which buffers are born, such as "
    "%d, no earlier buffer is alive; if ends are inclusive, give --inclusive, or interval: closed in JSON"
)
DOUBLED = 'buffers: 16 of 17 equal another buffer except for the id, such as "0/0" and "0/1"'
OVERLAPPING = 'buffer "a": lifetimes [0, 2) and [1, 3) overlap, and are read as one'
SHARED = 'pinned: buffers "a" and "b" share bytes [3, 4) of "default", but both are alive in [1, 2)'
ODD_PIN = 'pinned: buffer "a": must have an address that its alignment divides, got offset 2 of "default"'
MISSED_PIN = 'pinned: buffer "a": must be at its pinned offset, got offset 9 of "default"'
CROSSING_PIN = 'pinned: buffer "a": must not cross a multiple of 4 among its addresses, got offset 0 of "default"'
LONG = 'may_share[0]: ["b", "a"] are alive together in [1, 6), which is more than one step: other buffers are born at 2'
HIDDEN = 'buffers "%s" and "%s": share %d bytes while both are alive, which only their fixed distance allows'
IDLE_WEIGHTS = 'bank: weights are minimised with objective "cost" only, got "peak"'
IDLE_BANKS = "bank: has no effect, because no pool has a bank_size"
EMPTY, THREE_LIVES = {"size": 0}, [[5, 9], [0, 2], [1, 3]]
PAIR = [{"buffers": ["a", "b"], "weight": 1}]
COLLIDE, HIDES = "pins-collide", "hidden-overlap"


@pytest.mark.parametrize(
    ("value", "rule", "message", "buffers"),
    [
        (problem(), "no-buffers", "buffers: there are none, so there is nothing to plan", ""),
        (problem(A | EMPTY, B | EMPTY), "no-bytes", "buffers: all 2 have size 0, so there is nothing to plan", ""),
        (problem(A, B, C, conflicts=[["a", "c"], ["c", "a"], ["b", "c"]]), "asymmetric-conflicts", BOTH_WAYS, "bc"),
        (problem(A, conflicts=[["a", "a"]]), "self-conflict", SELF, "a"),
        (problem(A, {"id": "d", "size": 4}), "never-alive", NEVER_ALIVE, "d"),
        (problem(A, B, pools=[{"name": "x", "size": 3}, {"name": "y", "size": 2}]), "too-large", TOO_LARGE, "a"),
        (problem(A | {"pools": ["x"]}, pools=[{"name": "x", "size": 3}, {"name": "y"}]), "too-large", TOO_LARGE, "a"),
        (problem(A | {"alignment": 8}, B, pools=[{"size": 9, "base_address": 2}]), "never-aligned", NEVER_ALIGNED, "a"),
        (problem(A, pools=[{"alignment": 4, "base_address": 6}]), "misaligned-pool", MISALIGNED, ""),
        (problem(A, pools=[{"size": 8, "reserved": [[6, 4]]}]), "reserved-past-end", PAST_END, ""),
        (chain((0, 1), (1, 2), (2, 3), (3, 4)), "inclusive-ends", INCLUSIVE % 1, ""),
        (chain((0, 1), (2, 3), (4, 5), (6, 8)), "inclusive-ends", INCLUSIVE % 2, ""),
        (problem(C, *doubled_rows(8)), "doubled-rows", DOUBLED, ("0/0", "0/1")),
        (problem({"id": "a", "size": 4, "lifetimes": THREE_LIVES}), "overlapping-lifetimes", OVERLAPPING, "a"),
        (problem(A | {"offset": 0}, B | {"offset": 3}, C), COLLIDE, SHARED, "ab"),
        (problem(A | {"offset": 2, "alignment": 4}), COLLIDE, ODD_PIN, "a"),
        (problem(A | {"offset": 8}, B | {"alias_of": "a", "offset": 9}), COLLIDE, MISSED_PIN, "a"),
        (problem(WIDE | {"end": 6}, TALL | {"end": 9}, C, may_share=[["b", "a"]]), "long-sharing", LONG, "ba"),
        (problem(WIDE, view("v", 0, 5), view("w", 3, 5), C), HIDES, HIDDEN % ("v", "w", 2), "vw"),
        (problem(WIDE, TALL | {"relative": {"to": "a", "offset": 5}}, C), HIDES, HIDDEN % ("a", "b", 3), "ab"),
        (problem(WIDE, TALL, bank=[{"buffers": ["a", "b"]}]), "idle-banks", IDLE_BANKS, ""),
        (problem(WIDE, TALL, bank=PAIR, pools=BANKED), "idle-weights", IDLE_WEIGHTS, ""),
        (problem(WIDE | {"no_cross": 4, "offset": 0}, C), COLLIDE, CROSSING_PIN, "a"),
    ],
)
def test_lint_reports_probable_mistakes(value: Problem, rule: str, message: str, buffers: Sequence[str]) -> None:
    assert lint(value) == (Finding(rule, message, tuple(buffers)),)


def test_lint_lists_a_limited_number_of_findings_for_each_rule() -> None:
    rows = [{"id": k, "size": 9, "start": k, "end": k + 2} for k in range(1000)]
    assert len(lint(problem(*rows, pools=[{"size": 8}]))) == MAX_LISTED


def test_lint_accepts_overlapping_pins_of_buffers_that_may_share() -> None:
    pinned = [WIDE | {"offset": 4}, TALL | {"offset": 4}]
    assert [finding.rule for finding in lint(problem(*pinned, C))] == ["pins-collide"]
    assert lint(problem(*pinned, C, may_share=[["a", "b"]])) == ()


@given(value=problems(4) | tied_problems(4))
def test_lint_findings_about_size_alignment_and_pins_imply_infeasibility(value: Problem) -> None:
    if any(finding.rule in ("too-large", "never-aligned", "pins-collide") for finding in lint(value)):
        assert best_score(value) is None


def test_lint_stops_checking_pins_after_the_maximum_number_of_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[object] = []
    no_two_share_bytes = overlaps.no_two_share_bytes

    def count_violations(*given: Any) -> Iterator[Any]:
        for violation in no_two_share_bytes(*given):
            found.append(violation)
            yield violation

    monkeypatch.setattr(overlaps, "no_two_share_bytes", count_violations)
    pinned = problem(*({"id": k, "size": 8, "start": 0, "end": 2, "offset": 0} for k in range(40)))
    assert "pins-collide" in {finding.rule for finding in lint(pinned)}
    assert len(found) == MAX_LISTED
