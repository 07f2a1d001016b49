"""Mutation test of the verifier: each small change to its code changes the verdict on some plan."""

import random
import warnings
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import Any

import pytest

from memplan import solve
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify import claims, overlaps, placed, tie_rules, verifier
from memplan.planner.verify.verifier import MAX_LISTED, verify
from tests.support.code_mutants import equivalent_names, survivors
from tests.support.meeting_kinds import problems
from tests.support.oracle import check
from tests.support.wrong_claims import A, B, Case, lifetime_cases, table, wrong_claims

PROBLEMS, FEW_PROBLEMS = 90, 30
FEW = 8
"""The maximum number of lifetimes that the overlap check compares pairwise in these tests."""
WITHOUT = {"pairs_kept_clear", "clearances_are_kept"}
"""Functions reached only by constraint kinds of extensions, so mutants of them are not tested here."""
_CROWD = "overlaps: return float((end.astype(np.float64) - start).sum()) / (int(end.max()) - int(start.min()))"
_MEET = "overlaps: return not ((low[i] < high[j]) & (low[j] < high[i])).any()"
_NEAR = "overlaps: if (k > 0 and highs[k - 1] > bottom) or (k < len(lows) and lows[k] < top):"
_BELOW = "overlaps: if (self.low > self.high).any():  # Another check reports negative offsets, so skip this sweep."
EQUIVALENT = {
    "verifier: problem = replace_profile(problem, plan.profile) if len(problem.pools) > 1 else problem"
    " -> len(problem.pools) >= 1": "a profile says something of several pools",
    "verifier: if len(table.pool_choices) > 1: -> len(table.pool_choices) >= 1": "the first choice is any pool",
    "verifier: for step, whose in ((step, whose) for step, whose in steps if (step > 1).any()):"
    " -> step >= 1": "every address is a multiple of 1",
    "placed: ties = {i: (int(root[j]), min(distance + int(above[j]), MAX_BYTES)) for i, (j, distance) in named.items()}"
    " -> distance - int(above[j])": "what is proved of groups reads it, no rule of places",
    "placed: return top[root], distance[root] + above"
    " -> distance[root] - above": "what is proved of groups reads it, no rule of places",
    **dict.fromkeys(
        (
            "overlaps: if len(start) == 0: -> len(start) != 0",
            f"{_CROWD} -> int(end.max()) + int(start.min())",
            f"{_CROWD} -> end.astype(np.float64) + start",
            "overlaps: if len(self.start) <= _FEW: -> len(self.start) > _FEW",
            "overlaps: if len(self.start) <= _FEW: -> len(self.start) < _FEW",
            *(
                "overlaps: if _mean_overlap_count(self.start, self.end) <= _mean_overlap_count(self.low, self.high):"
                f" -> _mean_overlap_count(self.start, self.end) {sign} _mean_overlap_count(self.low, self.high)"
                for sign in "><"
            ),
        ),
        "each of the ways to compare is right, and one is quicker",
    ),
    **dict.fromkeys(
        (
            f"{_MEET} -> low[i] <= high[j]",
            f"{_MEET} -> low[j] <= high[i]",
            f"{_NEAR} -> highs[k - 1] >= bottom",
            f"{_NEAR} -> lows[k] <= top",
            f"{_BELOW} -> self.low <= self.high",
            f"{_BELOW} -> self.low >= self.high",
        ),
        "where it does not see that all lie apart, pairs are looked for, and there is none",
    ),
    **dict.fromkeys(
        (
            "overlaps: count[i] += 1 if event < m else -1 -> count[i] -= 1 if event < m else -1",
            "overlaps: count[i] += 1 if event < m else -1 -> event >= m",
        ),
        "what is counted down comes to 0 as soon as what is counted up",
    ),
    "overlaps: if event < m and count[i] == 0: -> event <= m": "what is born has died, from the end of time",
    "claims: if least > cost: -> least >= cost": "equal ones went before",
    "claims: if most is not None and most < cost and not isclose(most, cost, rel_tol=1e-9):"
    " -> most <= cost": "as above",
    'claims: if least is not None and not is_equal and (least > truth or plan.status == "optimal"):'
    " -> least >= truth": "as above",
    "claims: if pool.lower_bound > mine: -> pool.lower_bound >= mine": "as above",
}
"""Equivalent mutants, which change no verdict, each with the reason."""


def plan_mutants(problem: Problem, plan: Plan, draw: random.Random) -> Iterator[Plan]:
    rows: list[dict[str, Any]] = [{"id": row.id, "pool": row.pool, "offset": row.offset} for row in plan.placements]
    rows = rows or [{"id": buffer.id, "pool": problem.pools[0].name, "offset": 0} for buffer in problem.buffers]
    yield plan
    for way in draw.sample(range(7), 5):
        changed = [dict(row) for row in rows]
        one, other = draw.choice(changed), draw.choice(changed)
        if way == 0:
            one["offset"] = max(0, one["offset"] + draw.choice((-8, -4, -1, 1, 4, 8)))
        elif way == 1:
            one |= {"offset": other["offset"], "pool": other["pool"]}
        elif way == 2:
            one["pool"] = draw.choice(problem.pools).name
        elif way == 3:
            changed.remove(one)
        elif way == 4:
            changed.append(one | {"offset": 0})
        else:
            one |= {"id": "nobody"} if way == 5 else {"pool": "nowhere"}
        places = table(*((row["id"], row["pool"], row["offset"]) for row in changed))
        yield Plan(placements=places)
        yield plan.model_copy(update={"placements": places})


def handmade_cases() -> Iterator[Case]:
    """Yield cases that random problems lack: the end of the address space, many violations, offsets from views."""
    a, b = A, B
    alone = Problem(buffers=[a])
    for offset in (-1, 0, 2**63 - 5, 2**63 - 4, 2**63 - 3):
        yield alone, Plan(placements=table(("a", "default", offset)))
    for count in (MAX_LISTED, MAX_LISTED + 1):
        yield Problem(buffers=[a | {"id": k} for k in range(count)]), Plan(placements=table())
    view = {"id": "view", "size": 1, "alias_of": "a", "alias_offset": 2}
    above = b | {"relative": {"to": "view", "offset": 5}}
    for buffers in ([a, view, above], [above, view, a]):
        for offset in (5, 6, 7, 8, 9):
            places = table(("a", "default", 0), ("view", "default", 2), ("b", "default", offset))
            yield Problem(buffers=buffers), Plan(placements=places)
    for pool, size, offsets in (
        ({"base_address": 2, "alignment": 8}, 4, (2, 6)),
        ({"reserved": [[2, 0]]}, 4, (0,)),
        ({"reserved": [[2, 4]]}, 0, (3, 9)),
    ):
        for offset in offsets:
            yield Problem(buffers=[a | {"size": size}], pools=[pool]), Plan(placements=table(("a", "default", offset)))
    moving = Problem.model_validate({"buffers": [a, b], "moves": True})
    rows = [
        {"id": row["id"], "pool": "default", "offset": 0, "start": row["start"], "end": row["end"]} for row in (a, b)
    ]
    yield moving, Plan.model_validate({"placements": rows})  # pieces that overlap
    for offset in (0, 1, 2, 3):
        yield Problem(buffers=[a | {"size": 4, "end_at_most": 6}]), Plan(placements=table(("a", "default", offset)))
    two = Problem(buffers=[a, b], pools=[{"name": "x"}, {"name": "y"}], together=[["a", "b"]])
    for where in (("x", "x"), ("x", "y"), ("y", "y"), ("y", "x"), ("nowhere", "y")):
        yield two, Plan(placements=table(("a", where[0], 0), ("b", where[1], 8)))
    for pair in (["a", "b"], ["b", "a"]):
        after = Problem(buffers=[a, b | {"start": 2}], may_share=[pair])
        yield after, Plan(placements=table(("a", "default", 0), ("b", "default", 0)), shared=())
    priced = Problem(buffers=[a, b], reuse=[{"pairs": [["a", "b"]], "cost": 3}], objective="cost")
    yield priced, solve(priced).model_copy(update={"lower_bound": 1})


@cache
def cases(count: int = PROBLEMS) -> list[tuple[Problem, Plan, object]]:
    draw = random.Random(5)
    found = list(handmade_cases())
    with warnings.catch_warnings(action="ignore"):
        for _, problem, _ in problems(3, count):
            plan = solve(problem, solver="greedy", time_limit_s=0.1, deterministic=True)
            found += [(problem, each) for each in plan_mutants(problem, plan, draw)]
    return [(problem, plan, verdict(problem, plan)) for problem, plan in found]


def cases_of(module: ModuleType) -> list[tuple[Problem, Plan, object]]:
    own = {overlaps: lifetime_cases(FEW + 2), claims: wrong_claims()}.get(module)
    if own is None:
        return cases()
    return [*((problem, plan, verdict(problem, plan)) for problem, plan in own), *cases(FEW_PROBLEMS)]


def verdict(problem: Problem, plan: Plan) -> object:
    try:
        return verify(problem, plan)
    except Exception as fault:  # noqa: BLE001 - a mutant may raise anything
        return type(fault)


def test_the_verifier_agrees_with_the_oracle_on_mutated_plans() -> None:
    placed_only = [(problem, plan, said) for problem, plan, said in cases() if "peak" not in plan.model_fields_set]
    assert len(placed_only) > 4 * PROBLEMS
    for problem, plan, said in placed_only:
        if plan.placements and len(problem.buffers) < 10 and all(offset >= 0 for offset in plan.placements.offset):
            assert bool(said) == bool(check(problem, [*plan.placements])), (problem, plan.placements)


@pytest.mark.drawn
@pytest.mark.parametrize(
    "module", [verifier, placed, tie_rules, overlaps, claims], ids=lambda module: module.__name__.rpartition(".")[2]
)
def test_each_verifier_mutant_changes_the_verdict_on_some_plan(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlaps, "_FEW", FEW)
    tried = [
        ((problem, plan), said) for problem, plan, said in cases_of(module)
    ]  # pairs of a case and its verdict before mutation
    count, alive = survivors(module, tried, lambda case: verdict(*case), WITHOUT)
    assert count >= 10
    assert alive == equivalent_names(module, EQUIVALENT)
