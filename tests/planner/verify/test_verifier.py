"""The verifier: each rule on small examples, all rules against the oracle, and large problems."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from memplan.planner.errors import ProblemError
from memplan.planner.model.buffer_table import I64, BufferTable, column
from memplan.planner.model.placement_table import PlacementTable
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import Placement
from memplan.planner.verify.verifier import MAX_LISTED, Violation, verify
from memplan.solvers.certificates.certify import certify
from memplan.solvers.portfolio.solve import solve
from tests.support.oracle import check
from tests.support.rule_names import KINDS
from tests.support.strategies import placements, problems

A = {"id": "a", "size": 4, "start": 0, "end": 2}
B = {"id": "b", "size": 3, "start": 1, "end": 3}


def problem(*buffers: dict[str, Any], **fields: Any) -> Problem:
    return Problem.model_validate({"buffers": list(buffers), **fields})


def plan(*places: tuple[int | str, str, int], **claims: Any) -> Plan:
    rows = [Placement(id=name, pool=pool, offset=offset) for name, pool, offset in places]
    return Plan(placements=PlacementTable.from_rows(rows), **claims)


def rules_and_messages(value: Problem, answer: Plan) -> list[tuple[str, str]]:
    return [(violation.rule, violation.message) for violation in verify(value, answer)]


def intervals(size: I64, start: I64, end: I64) -> Problem:
    return Problem(buffers=BufferTable.from_columns(range(len(size)), size, start, end))


def test_an_overlap_names_both_buffers_the_bytes_and_the_time() -> None:
    (violation,) = verify(problem(A, B), plan(("a", "default", 2), ("b", "default", 4)))
    message = 'buffers "a" and "b" share bytes [4, 6) of "default", but both are alive in [1, 2)'
    assert violation == Violation("overlap", message, "a", "b", (4, 6), (1, 2))


def test_an_overlap_lasts_as_long_as_an_alias_keeps_a_buffer_alive() -> None:
    root = {"id": "root", "size": 4, "lifetimes": [[0, 3], [9, 10]]}
    view = {"id": "view", "size": 4, "start": 2, "end": 6, "alias_of": "root"}
    value = problem(root, view, {"id": "b", "size": 4, "start": 4, "end": 20})
    same = plan(("root", "default", 0), ("view", "default", 0), ("b", "default", 0))
    assert [v.time for v in verify(value, same)] == [(4, 6)]
    late = problem(root, view, {"id": "b", "size": 4, "start": 8, "end": 20})
    assert [v.time for v in verify(late, same)] == [(9, 10)]


def test_an_explicit_conflict_is_reported_for_disjoint_lifetimes() -> None:
    later = B | {"start": 10, "end": 11}
    (violation,) = verify(problem(A, later, conflicts=[["b", "a"]]), plan(("a", "default", 0), ("b", "default", 3)))
    message = 'buffers "a" and "b" share bytes [3, 4) of "default", but they are in conflict'
    assert violation == Violation("conflict", message, "a", "b", (3, 4))


def test_a_pair_that_overlaps_in_two_lifetimes_is_reported_once() -> None:
    twice = {"size": 4, "lifetimes": [[0, 2], [5, 7]]}
    value = problem({"id": "a"} | twice, {"id": "b"} | twice, conflicts=[["a", "b"]])
    assert [v.time for v in verify(value, plan(("a", "default", 0), ("b", "default", 0)))] == [(0, 2)]


def test_zero_size_buffers_never_overlap_or_raise_the_peak() -> None:
    value = problem(A, B | {"size": 0}, pools=[{"size": 9, "reserved": [[6, 2]]}])
    assert verify(value, plan(("a", "default", 0), ("b", "default", 2))) == ()
    assert verify(value, plan(("a", "default", 0), ("b", "default", 7), peak=4)) == ()
    assert [v.rule for v in verify(value, plan(("a", "default", 0), ("b", "default", 10)))] == ["past-capacity"]


LAST = 2**63 - 1
RESERVED = {"reserved": [[8, 2], [0, 3]]}


@pytest.mark.parametrize(
    ("buffer", "pool", "offset"),
    [
        ({}, {}, 0),
        ({}, {"size": 7}, 3),
        ({}, {}, LAST - 4),
        ({}, RESERVED, 4),
        ({}, {"reserved": [[4, 0]]}, 3),
        ({"alignment": 3}, {"base_address": 4, "alignment": 2}, 2),
        ({"offset": 8, "pools": ["x"]}, {}, 8),
    ],
)
def test_a_valid_placement_is_accepted(buffer: dict[str, Any], pool: dict[str, Any], offset: int) -> None:
    asked = problem(A | buffer, pools=[{"name": "x"} | pool, {"name": "y"}])
    assert rules_and_messages(asked, plan(("a", "x", offset))) == []


FROM_4 = "must have an address from base address 4 that its alignment divides"


@pytest.mark.parametrize(
    ("buffer", "pool", "offset", "rule", "sentence"),
    [
        ({"pools": ["y"]}, {}, 0, "pool-not-allowed", "must be in a pool that it names"),
        ({"alignment": 3}, {"base_address": 4}, 3, "misaligned", FROM_4),
        ({"alignment": 3}, {"alignment": 2}, 3, "misaligned", "must have an address that its pool's alignment divides"),
        ({}, {"size": 6}, 3, "past-capacity", "must end at or below 6"),
        ({}, {}, LAST - 3, "past-capacity", f"must end at or below {LAST}"),
        ({}, RESERVED, 2, "reserved-range", "must not overlap reserved ranges"),
        ({}, RESERVED, 5, "reserved-range", "must not overlap reserved ranges"),
        ({}, {"reserved": [[0, 20], [1, 2]]}, 5, "reserved-range", "must not overlap reserved ranges"),
        ({"offset": 8, "pools": ["x"]}, {}, 4, "pin-missed", "must be at its pinned offset"),
    ],
)
def test_a_placement_that_breaks_a_rule_is_a_violation(
    buffer: dict[str, Any], pool: dict[str, Any], offset: int, rule: str, sentence: str
) -> None:
    value = problem(A | buffer, pools=[{"name": "x"} | pool, {"name": "y"}])
    said = f'buffer "a": {sentence}, got offset {offset} of "x"'
    assert rules_and_messages(value, plan(("a", "x", offset))) == [(rule, said)]


def test_an_alias_outside_its_buffer_is_a_violation() -> None:
    value = problem(A, B | {"alias_of": "a", "alias_offset": 1}, pools=[{"name": "x"}, {"name": "y"}])
    assert rules_and_messages(value, plan(("a", "x", 8), ("b", "x", 9))) == []
    sentence = 'buffer "b": must lie in "a", at offset 9 of "x", got offset 8 of "x"'
    assert rules_and_messages(value, plan(("a", "x", 8), ("b", "x", 8))) == [("alias-misplaced", sentence)]
    sentence = 'buffer "b": must lie in "a", at offset 9 of "x", got offset 9 of "y"'
    assert rules_and_messages(value, plan(("a", "x", 8), ("b", "y", 9))) == [("alias-misplaced", sentence)]


def test_unknown_repeated_and_missing_placements_are_violations() -> None:
    answer = plan(("z", "default", 0), ("a", "default", 0), ("a", "default", 9), ("b", "elsewhere", 0))
    assert rules_and_messages(problem(A, B, B | {"id": 7}), answer) == [
        ("unknown-pool", 'buffer "b": must be in a pool of the problem, got "elsewhere"'),
        ("unknown-buffer", 'buffer "z": must be one of the problem\'s, got placements[0]'),
        ("repeated-buffer", 'buffer "a": must be placed once, got placements[1] and [2]'),
        ("unplaced-buffer", "buffer 7: must be placed, got no placement"),
    ]


PLACES = (("a", "x", 0), ("b", "y", 0))


@pytest.mark.parametrize(
    ("claims", "sentence"),
    [
        ({"peak": 8}, "peak: must be 7, the sum of the bytes used in all pools, got 8"),
        ({"lower_bound": 8}, "lower_bound: must be at most the peak (7), got 8"),
        (
            {"status": "optimal", "pools": [{"name": "y", "lower_bound": 2}]},
            "pools[0].lower_bound: must be 3 if the status is optimal, got 2",
        ),
        ({"lower_bound": 7, "gap": 0.5}, "gap: must be 0.0, by which the peak is above the bound, got 0.5"),
        ({"lower_bound": 0, "gap": 0.0}, "gap: must be null if no bound above 0 is known, got 0.0"),
        ({"status": "optimal", "gap": 0.1}, "gap: must be 0 if the status is optimal, got 0.1"),
        ({"status": "infeasible"}, 'status: must be optimal or feasible if buffers are placed, got "infeasible"'),
        ({"status": "unknown"}, 'status: must be optimal or feasible if buffers are placed, got "unknown"'),
        ({"cost": 9.0}, "cost: must be 8.0, the sum of traffic x cost and of prices of pairs, got 9.0"),
        ({"cost_lower_bound": 8.5}, "cost_lower_bound: must be at most the cost (8.0), got 8.5"),
        ({"pools": [{"name": "x", "used": 5}]}, "pools[0].used: must be 4, the largest end offset, got 5"),
        ({"pools": [{"name": "x", "size": 5}]}, "pools[0].size: must be null as in the problem, got 5"),
        ({"pools": [{"name": "y"}, {"name": "y"}]}, 'pools[1].name: must be unique (first at pools[0]), got "y"'),
        ({"pools": [{"name": "z"}]}, 'pools[0].name: must be a pool of the problem, got "z"'),
        (
            {"pools": [{"name": "y", "lower_bound": 4}]},
            "pools[0].lower_bound: must be at most the used bytes (3), got 4",
        ),
    ],
)
def test_claims_that_disagree_with_the_placements_are_violations(claims: dict[str, Any], sentence: str) -> None:
    value = problem(A, B, pools=[{"name": "x", "cost": 2}, {"name": "y"}])
    told = plan(*PLACES).model_copy(update=dict(Plan.model_validate(claims)) | {"placements": plan(*PLACES).placements})
    assert rules_and_messages(value, told) == [("false-claim", sentence)]


def test_a_plan_without_placements_makes_no_claims_about_them() -> None:
    nothing = Plan.model_validate({"status": "infeasible", "lower_bound": 9, "pools": [{"name": "default"}]})
    assert verify(problem(A, B), nothing) == ()
    claims = {"status": "unknown", "peak": 0, "gap": 0.0, "pools": [{"name": "default", "used": 0}]}
    assert rules_and_messages(problem(A, B), Plan.model_validate(claims)) == [
        ("false-claim", "peak: must be null if nothing is placed, got 0"),
        ("false-claim", "gap: must be null if nothing is placed, got 0.0"),
        ("false-claim", "pools[0].used: must be null if nothing is placed, got 0"),
    ]
    assert [v.rule for v in verify(problem(A), Plan(status="feasible"))] == ["unplaced-buffer"]


@given(data=st.data())
def test_the_verifier_agrees_with_the_oracle(data: st.DataObject) -> None:
    value = data.draw(problems())
    rows = data.draw(placements(value))
    found = {
        (KINDS[v.rule], *sorted(repr(name) for name in (v.first, v.second) if name is not None))
        for v in verify(value, Plan(placements=PlacementTable.from_rows(rows)))
    }
    assert found == {(line.split()[0], *sorted(line.split()[1:])) for line in check(value, rows)}


def dense_problem(n: int, alive: int) -> tuple[Problem, list[int]]:
    """Return n one-byte buffers, `alive` of them live at any time, and offsets that reuse each ended buffer's byte."""
    start = np.arange(n)
    table = BufferTable.from_columns(range(n), np.ones(n), start, start + alive)
    return Problem(buffers=table), (start % alive).tolist()


def test_one_misplaced_buffer_is_found_among_fifty_thousand() -> None:
    value, offsets = dense_problem(50_000, 1_000)
    ids = value.buffers.ids
    everywhere = column(np.zeros(len(ids)))
    assert verify(value, Plan(placements=PlacementTable(ids, ("default",), everywhere, column(offsets)))) == ()
    offsets[30_000] += 1
    found = verify(value, Plan(placements=PlacementTable(ids, ("default",), everywhere, column(offsets))))
    assert [(v.first, v.second) for v in found] == [(29_001, 30_000), (30_000, 30_001)]


@pytest.mark.parametrize(("apart", "above"), [(0, 10), (10, 0)], ids=["alive at once", "one after the other"])
def test_one_overlap_is_found_among_thousands_of_buffers(apart: int, above: int) -> None:
    n = 2_000
    start, offset = apart * np.arange(n), column(above * np.arange(n))
    places = PlacementTable(tuple(range(n)), ("default",), column(np.zeros(n)), offset)
    size, end = np.full(n, 10), start + 10
    assert verify(intervals(size, start, end), Plan(placements=places)) == ()
    size[1_500] += 1
    end[1_500] += 1
    found = verify(intervals(size, start, end), Plan(placements=places))
    assert [(v.first, v.second) for v in found] == [(1_500, 1_501)]


def test_a_negative_offset_is_a_violation_and_its_bytes_may_also_overlap() -> None:
    below = PlacementTable(("a", "b"), ("default",), column([0, 0]), column([-1, 2]))
    found = rules_and_messages(problem(A, B), Plan(placements=below))
    assert found[0] == ("past-capacity", 'buffer "a": must not start below its pool, got offset -1 of "default"')
    assert [rule for rule, _ in found] == ["past-capacity", "overlap"]


def test_the_verifier_lists_at_most_a_thousand_overlaps() -> None:
    value, _ = dense_problem(5_000, 1_000)
    ids = value.buffers.ids
    nowhere = column(np.zeros(len(ids)))
    found = verify(value, Plan(placements=PlacementTable(ids, ("default",), nowhere, nowhere)))
    assert len(found) == MAX_LISTED + 1
    assert found[-1] == Violation("not-all-listed", "only 1000 violations of this kind are listed")


def test_the_verifier_compares_ends_beyond_int64_exactly() -> None:
    size, low = 2**62, 2**62
    value = problem({"id": "a", "size": size}, {"id": "b", "size": size}, conflicts=[["a", "b"]])
    assert rules_and_messages(value, plan(("a", "default", 0), ("b", "default", low)))[0][0] == "past-capacity"
    found = verify(value, plan(("a", "default", 2**63 - 1), ("b", "default", low)))
    assert [v.rule for v in found] == ["past-capacity", "past-capacity", "conflict"]
    assert found[-1].bytes == (2**63 - 1, 2**63)


def test_the_verifier_reads_only_the_fields_of_a_problem() -> None:
    fields = Problem.model_fields
    derived = {name for name in dir(Problem) if name not in dir(BaseModel) and name not in fields}
    assert {"index", "pool_index", "roots", "rigid_leads", "root_of", "target", "allowed_pools"} <= derived

    class FieldsOnly(Problem):
        """A problem whose derived properties raise an error."""

        def __getattribute__(self, name: str) -> Any:
            if name in derived:
                raise AssertionError(name)
            return super().__getattribute__(name)

    mod_4 = {"offset_mod": {"modulus": 4, "remainder": 0}}
    rows = [
        A | {"size": 16},
        B | {"relative": {"to": "view", "offset": 8}},
        {"id": "view", "size": 4, "alias_of": "a", "alias_offset": 8, "pools": ["p"]},
        {"id": "c", "size": 4, "start": 0, "end": 3, "forbid_pools": ["q"]} | mod_4,
        {"id": "d", "size": 2, "start": 0, "end": 3, "no_cross": 64},
    ]
    pairs: dict[str, Any] = {"conflicts": [["a", "c"]], "may_share": [["c", "d"]], "together": [["a", "d"]]}
    banks = [{"buffers": ["a", "c"]}, {"buffers": ["a", "d"], "weight": 2.0}]
    ties = pairs | {"bank": banks, "pools": [{"name": "p", "bank_size": 8}, {"name": "q"}]}
    value = problem(*rows, **ties)
    closed = FieldsOnly.model_construct(value.model_fields_set, **{name: getattr(value, name) for name in fields})
    places = [("a", "p", 0), ("b", "p", 16), ("view", "p", 8), ("c", "p", 24), ("d", "p", 24)]
    right = plan(*places, peak=28, shared=[["c", "d"]], bank_clashes=[], pools=[{"name": "p", "used": 28}])
    assert verify(closed, right) == verify(value, right) == ()
    wrong = plan(*((name, pool, offset + k) for k, (name, pool, offset) in enumerate(places)), peak=1, cost=1.0)
    assert verify(closed, wrong) == verify(value, wrong) != ()


def test_a_buffer_ends_at_its_highest_offset_or_below_it() -> None:
    rows = [{"id": "a", "size": 64, "start": 0, "end": 3}, {"id": "dma", "size": 32, "start": 0, "end": 3}]
    problem = Problem.model_validate({"buffers": [rows[0], rows[1] | {"end_at_most": 40}]})
    plan = solve(problem)
    assert (plan.status, {row.id: row.offset for row in plan.placements}["dma"] + 32 <= 40) == ("optimal", True)
    placements = [{"id": "a", "pool": "default", "offset": 41}, {"id": "dma", "pool": "default", "offset": 9}]
    assert [each.rule for each in verify(problem, Plan.model_validate({"placements": placements}))] == ["too-high"]
    with pytest.raises(ProblemError, match=r"end_at_most: must be at least size \(32\), got 31"):
        Problem.model_validate({"buffers": [rows[1] | {"end_at_most": 31}]})


def test_a_buffer_begins_at_its_lowest_offset_or_above_it() -> None:
    rows = [{"id": "a", "size": 64, "start": 0, "end": 3}, {"id": "l1", "size": 32, "start": 0, "end": 3}]
    problem = Problem.model_validate({"buffers": [rows[0], rows[1] | {"start_at_least": 100}]})
    plan = solve(problem)
    assert (plan.status, plan.peak, plan.placement("l1").offset) == ("optimal", 132, 100)
    placements = [{"id": "a", "pool": "default", "offset": 0}, {"id": "l1", "pool": "default", "offset": 99}]
    assert [each.rule for each in verify(problem, Plan.model_validate({"placements": placements}))] == ["too-low"]
    both = Problem.model_validate({"buffers": [rows[0], rows[1] | {"start_at_least": 100, "end_at_most": 131}]})
    assert solve(both).status == "infeasible"
    assert "start_at_least" in (certify(problem, plan).reason or "")


@pytest.mark.parametrize("most", [40, 4096])
def test_a_problem_with_a_highest_offset_has_no_certificate_even_if_every_plan_keeps_it(most: int) -> None:
    rows = [{"id": "a", "size": 64, "start": 0, "end": 3}, {"id": "b", "size": 32, "start": 0, "end": 3}]
    pools = [{"name": "p", "size": 128}]
    problem = Problem.model_validate({"buffers": [rows[0], rows[1] | {"end_at_most": most}], "pools": pools})
    reason = certify(problem, solve(problem)).reason
    assert reason is not None
    assert reason.startswith("the proof needs rules that certificates leave out: end_at_most")
