"""The verifier's constraints between buffers, and the lowest offsets that they allow."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.places import differences, loose_plan
from memplan import Buffer, solve
from memplan.planner.model.placement_table import PlacementTable
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import Placement
from memplan.planner.verify.placed import PlacedBuffers
from memplan.planner.verify.places import lowest_places
from memplan.planner.verify.verifier import Violation, verify
from memplan.questions.verify.verify import verdict_on
from tests.support.depth import seeds
from tests.support.oracle import check
from tests.support.rule_names import KINDS
from tests.support.strategies import placements, tied_problems

A = {"id": "a", "size": 4, "start": 0, "end": 2}
B = {"id": "b", "size": 3, "start": 1, "end": 3}
C = {"id": "c", "size": 2, "start": 1, "end": 2}
TWO = [{"name": "x"}, {"name": "y"}]


def problem(*buffers: dict[str, Any], **fields: Any) -> Problem:
    return Problem.model_validate({"buffers": list(buffers), **fields})


def plan(*places: tuple[str, str, int], **claims: Any) -> Plan:
    rows = [Placement(id=name, pool=pool, offset=offset) for name, pool, offset in places]
    return Plan(placements=PlacementTable.from_rows(rows), **claims)


def rules_and_messages(value: Problem, *places: tuple[str, str, int], **claims: Any) -> list[tuple[str, str]]:
    return [(violation.rule, violation.message) for violation in verify(value, plan(*places, **claims))]


def relative(to: str, offset: int) -> dict[str, Any]:
    return {"relative": {"to": to, "offset": offset}}


LIES = 'buffer "b": must lie 4 bytes from "a", at offset 4 of "x", got offset %d of "%s"'
TOO_FAR, ELSEWHERE = (("relative-misplaced", LIES % place) for place in ((8, "x"), (4, "y")))
CROSSES = ("straddles", 'buffer "a": must not cross a multiple of 8 among its addresses, got offset 4 of "x"')
REMAINS = ("wrong-remainder", 'buffer "a": must have an offset that leaves 3 when divided by 8, got offset 8')
FORBIDDEN = ("pool-not-allowed", 'buffer "a": must be in a pool that it does not forbid, got offset 0 of "y"')
APART = ("not-together", 'buffer "b": must be in the pool of "c" ("x"), got "y"')
CLASH = ("bank-clash", 'buffers "a" and "c" touch a common bank of "x", but are used at the same step')
SHARE = 'buffers "a" and "%s" share bytes [%d, 4) of "default", but both are alive in [1, 2)'
OVER_B, OVER_C = (("overlap", SHARE % place) for place in (("b", 1), ("c", 3)))
STEPS = (("a", 0), ("b", 0), ("c", 3))
BANK, BANKED = [{"buffers": ["a", "c"]}], {"name": "x", "bank_size": 4}
LEAVES_3 = A | {"offset_mod": {"modulus": 8, "remainder": 3}}


@pytest.mark.parametrize(
    ("value", "places", "violation"),
    [
        (problem(A, B | relative("a", 4), pools=TWO), [("a", "x", 0), ("b", "x", 8)], TOO_FAR),
        (problem(A, B | relative("a", 4), pools=TWO), [("a", "x", 0), ("b", "y", 4)], ELSEWHERE),
        (problem(A | {"no_cross": 8}, pools=[{"name": "x", "base_address": 2}]), [("a", "x", 4)], CROSSES),
        (problem(LEAVES_3, pools=[{"name": "x", "base_address": 3}]), [("a", "x", 8)], REMAINS),
        (problem(A | {"forbid_pools": ["y"]}, pools=TWO), [("a", "y", 0)], FORBIDDEN),
        (problem(A, B, C, together=[["c", "a", "b"]], pools=TWO), [("a", "x", 0), ("b", "y", 0), ("c", "x", 4)], APART),
        (problem(A, C, bank=BANK, pools=[BANKED]), [("a", "x", 0), ("c", "x", 6)], None),
        (problem(A, C, bank=BANK, pools=[BANKED | {"base_address": 2}]), [("a", "x", 0), ("c", "x", 4)], CLASH),
        (problem(A, B, may_share=[["a", "b"]]), [("a", "default", 0), ("b", "default", 1)], OVER_B),
        (problem(A, B, C, may_share=[["a", "b"]]), [(name, "default", at) for name, at in STEPS], OVER_C),
    ],
)
def test_the_verifier_reports_violated_constraints_between_buffers(
    value: Problem, places: list[tuple[str, str, int]], violation: tuple[str, str] | None
) -> None:
    assert rules_and_messages(value, *places) == ([] if violation is None else [violation])


def test_the_gap_between_members_of_a_rigid_group_is_free_for_other_buffers() -> None:
    value = problem(A, B | relative("a", 10), C)
    assert rules_and_messages(value, ("a", "default", 0), ("b", "default", 10), ("c", "default", 5)) == []
    (wrong,) = rules_and_messages(value, ("a", "default", 0), ("b", "default", 10), ("c", "default", 9))
    assert wrong[1] == 'buffers "b" and "c" share bytes [10, 11) of "default", but both are alive in [1, 2)'


def test_the_verifier_computes_banks_exactly_at_the_end_of_the_address_space() -> None:
    last = 2**63 - 5
    pools = [{"name": "x", "base_address": 2**62, "bank_size": 2**62}]
    value = problem(A, C, bank=[{"buffers": ["a", "c"]}], pools=pools)
    assert rules_and_messages(value, ("a", "x", last), ("c", "x", 2**62 - 2)) == []
    assert [rule for rule, _ in rules_and_messages(value, ("a", "x", last), ("c", "x", 2**62))] == ["bank-clash"]


CLASHES = 'bank_clashes: must be [["b", "c"], ["c", "b"]] by the placements, got [["b", "c"]]'
COST = "cost: must be 14.0, the sum of traffic x cost and of prices of pairs, got 19.0"
ON_A = [("a", "default", 0), ("b", "default", 0), ("c", "default", 4)]
STACKED = [("a", "default", 0), ("b", "default", 4), ("c", "default", 7)]
SHARING = problem(A, B, C, may_share=[["b", "a"], ["c", "b"], ["c", "a"]])
WEIGHED = problem(
    *(A, B, C),
    pools=[{"name": "x", "cost": 2, "bank_size": 8}, {"name": "y"}],
    bank=[{"buffers": ["a", "b", "c"], "weight": 5}, {"buffers": ["c", "b"], "weight": 0.5}],
    objective="cost",
)


@pytest.mark.parametrize(
    ("value", "places", "claims", "sentence"),
    [
        (SHARING, ON_A, {"shared": ()}, 'shared: must be [["b", "a"]] by the placements, got []'),
        (SHARING, STACKED, {"shared": (("b", "a"),)}, 'shared: must be [] by the placements, got [["b", "a"]]'),
        (WEIGHED, [("a", "y", 0), ("b", "x", 4), ("c", "x", 7)], {"bank_clashes": (("b", "c"),)}, CLASHES),
        (WEIGHED, [("a", "x", 0), ("b", "x", 8), ("c", "y", 0)], {"cost": 19.0}, COST),
    ],
)
def test_the_verifier_reports_wrong_claims_about_pairs(
    value: Problem, places: list[tuple[str, str, int]], claims: dict[str, Any], sentence: str
) -> None:
    assert rules_and_messages(value, *places, **claims) == [("false-claim", sentence)]


def test_a_plan_without_pair_lists_makes_no_claims_about_pairs() -> None:
    assert rules_and_messages(SHARING, ("a", "default", 0), ("b", "default", 0), ("c", "default", 4)) == []


def test_a_plan_without_placements_must_not_claim_shared_pairs() -> None:
    nothing = Plan.model_validate({"status": "infeasible", "shared": [["b", "a"]], "bank_clashes": []})
    assert [violation.message for violation in verify(SHARING, nothing)] == [
        'shared: must be empty if nothing is placed, got [["b", "a"]]'
    ]


def test_a_thousand_overlapping_views_are_verified_quickly() -> None:
    """A thousand overlapping views of one buffer, which are allowed to overlap each other."""
    views = [{"id": k, "size": 8, "start": 0, "end": 9, "relative": {"to": "all", "offset": 4 * k}} for k in range(999)]
    value = problem({"id": "all", "size": 4_000, "start": 0, "end": 9}, *views)
    rows = [Placement(id="all", pool="default", offset=16)]
    rows += [Placement(id=k, pool="default", offset=16 + 4 * k) for k in range(999)]
    assert verify(value, Plan(placements=PlacementTable.from_rows(rows))) == ()


@given(data=st.data())
def test_the_verifier_agrees_with_the_oracle_under_constraints_between_buffers(data: st.DataObject) -> None:
    value = data.draw(tied_problems(4))
    rows = data.draw(placements(value))
    found = {_violation_key(value, each) for each in verify(value, Plan(placements=PlacementTable.from_rows(rows)))}
    assert found == {(line.split()[0], *sorted(line.split()[1:])) for line in check(value, rows)}


def _violation_key(value: Problem, violation: Violation) -> tuple[str, ...]:
    """Return a violation in the oracle's form, which names one buffer for `together` and no aliases for `bank`."""
    kind = KINDS[violation.rule]
    names = [violation.first, violation.second] if kind != "together" else [violation.first]
    if kind == "bank":
        names = [value.buffers.ids[value.root_of(name)] for name in names if name is not None]
    return kind, *sorted(repr(name) for name in names if name is not None)


@pytest.mark.drawn
def test_lowest_offsets_and_peaks_match_the_verifier_and_exhaustive_counting() -> None:
    for seed in seeds(8):
        problem, plan = loose_plan(seed)
        if plan is not None:
            assert list(differences(problem, plan, verdict_on(problem, plan))) == [], seed


def test_lowest_places_returns_none_for_more_pairs_than_allowed() -> None:
    problem = Problem(buffers=[Buffer(id=k, size=8, start=0, end=1) for k in range(10)])
    placed = PlacedBuffers.from_placements(problem, solve(problem).placements)
    assert lowest_places(problem, placed, most_pairs=44) is None
    assert lowest_places(problem, placed, most_pairs=45) is not None


def test_lowest_offsets_are_exact_if_their_sums_exceed_2_to_62() -> None:
    rows = [Buffer(id="big", size=2**61 + 2, start=0, end=1), Buffer(id="step", size=2**61, start=0, end=1)]
    problem = Problem(buffers=[rows[0], rows[1].model_copy(update={"alignment": 2**61})])
    found = verdict_on(problem, solve(problem)).places
    assert found is not None
    assert sorted(found.lowest) == [0, 2**61]
