"""Cached answers are verified before use: for other callers, in other processes, and after a restart."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memplan.api.service.cache.cached_plan import CachedPlan, result_of
from memplan.api.service.cache.compiled_problem import CompiledProblem
from memplan.api.store.store import Store
from memplan.planner.errors import InputError
from memplan.planner.instance.canonical import problem_hash
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.model.problem_fields import BankUse, Pool, ReuseCost
from memplan.planner.model.rows import Buffer, Value
from memplan.solvers.portfolio.solve import solve
from tests.support.cache_pairs import Verdicts, pairs
from tests.support.depth import DEPTH
from tests.support.oracle import best_score
from tests.support.plan_services import AloneService
from tests.support.renaming import Data, problem_data, scale
from tests.support.values import require_value
from tests.support.workers import searched_result

TWO = Problem.model_validate({"buffers": [{"id": k, "size": 1024, "start": 0, "end": 1} for k in range(2)]})
TOO_LARGE = Problem.model_validate({"buffers": [{"id": k, "size": 2**62, "start": 0, "end": 1} for k in range(2)]})
# A ring of five conflicts needs three offsets, but its largest clique proves a bound of only two.
ABOVE_ITS_BOUND = Problem.model_validate(
    {"buffers": [{"id": k, "size": 4} for k in range(5)], "conflicts": [(k, (k + 1) % 5) for k in range(5)]}
)
_AMPLE_S = 30.0
"""Seconds that suffice for each of these problems, even on a busy machine."""


def answers(*problems: Problem, service: AloneService | None = None) -> list[Plan]:
    async def ask() -> list[Plan]:
        asked = service or AloneService()
        return [await asked.plan_problem(problem) for problem in problems]

    return asyncio.run(ask())


def test_a_cached_infeasible_answer_is_not_reused_for_a_smaller_problem() -> None:
    assert [plan.status for plan in answers(TOO_LARGE, TWO)] == ["infeasible", "optimal"]
    assert [plan.status for plan in answers(TWO, TOO_LARGE, TWO)] == ["optimal", "infeasible", "optimal"]


def test_a_stored_infeasible_answer_is_not_reused_for_a_smaller_problem_after_restart(tmp_path: Path) -> None:
    for problem, status in ((TOO_LARGE, "infeasible"), (TWO, "optimal"), (TOO_LARGE, "infeasible")):
        with closing(Store.open(None, tmp_path)) as store:
            service = AloneService(store)
            assert [plan.status for plan in answers(problem, service=service)] == [status]
            asyncio.run(service.cache.write())


def forge_plan(problem: Problem, status: str = "optimal") -> tuple[CompiledProblem, CachedPlan]:
    compiled = CompiledProblem.from_problem(problem)
    plan = solve(problem, time_limit_s=1.0)
    known = require_value(CachedPlan.from_result(compiled, searched_result(compiled, plan), 1e6))
    sizes = compiled.instance.size[compiled.order]
    offset = sizes.cumsum() - sizes
    end = int(sizes.sum())
    changes: dict[str, Any] = {"offset": offset, "used": (end,), "bound": (end,), "total": end, "status": status}
    return compiled, replace(known, **changes)


@pytest.mark.parametrize("status", ["optimal", "feasible"])
def test_a_forged_bound_in_the_store_is_not_reported(tmp_path: Path, status: str) -> None:
    compiled, known = forge_plan(ABOVE_ITS_BOUND, status)
    with closing(Store.open(None, tmp_path)) as store:
        store.plans.change({compiled.hash: lambda _: known.compress(compiled.hash)})
        (plan,) = answers(ABOVE_ITS_BOUND, service=AloneService(store))
    best = require_value(best_score(ABOVE_ITS_BOUND))
    assert (plan.lower_bound or 0) <= best[0]
    if status == "optimal":  # a forged optimum is only a warm start: the search must still run
        assert (plan.status, plan.peak) == ("optimal", best[0])


@pytest.mark.parametrize(
    "spoil",
    [
        lambda record: replace(record, plan=b"nothing"),
        lambda record: replace(record, plan=record.plan[:-3]),
        lambda record: replace(record, plan=forge_plan(TWO)[1].compress("").plan),
    ],
    ids=["no zlib", "cut off", "another problem"],
)
def test_an_unreadable_row_of_the_store_is_ignored(tmp_path: Path, spoil: Callable[[Any], Any]) -> None:
    compiled, known = forge_plan(ABOVE_ITS_BOUND)
    with closing(Store.open(None, tmp_path)) as store:
        store.plans.change({compiled.hash: lambda _: spoil(known.compress(compiled.hash))})
        (plan,) = answers(ABOVE_ITS_BOUND, service=AloneService(store))
    assert plan.status == "optimal"


def test_a_cached_proof_is_reported_only_by_its_process_and_for_equal_sizes() -> None:
    compiled = CompiledProblem.from_problem(ABOVE_ITS_BOUND)
    plan = solve(ABOVE_ITS_BOUND)
    assert (plan.status, plan.peak, plan.proof is not None and plan.proof.kind) == ("optimal", 12, "search")
    known = require_value(CachedPlan.from_result(compiled, searched_result(compiled, plan), 1.0))
    stored = require_value(CachedPlan.read(known.compress(compiled.hash)))
    other = CompiledProblem.from_problem(Problem.model_validate(scale(problem_data(ABOVE_ITS_BOUND), 3)))
    assert other.hash == compiled.hash
    told = [result_of(known, compiled), result_of(stored, compiled), result_of(known, other)]
    assert [one and (one.plan.status, one.plan.lower_bound) for one in told] == [
        *(("optimal", 12), ("feasible", 8), ("feasible", 24))
    ]


@pytest.mark.slow
@pytest.mark.drawn
def test_answers_through_a_shared_cache_match_a_fresh_service() -> None:
    async def day() -> Verdicts:
        shared, found = AloneService(), Verdicts()
        for one, other in pairs(11, 20 * DEPTH):
            for each in (one, other):
                found.add(await shared.plan_problem(each, _AMPLE_S), await AloneService().plan_problem(each, _AMPLE_S))
        return found

    found = asyncio.run(day())
    assert (found.wrong, found.weaker) == ([], 0)


BASE: Data = {
    "buffers": [
        {"id": 0, "size": 5, "start": 0, "end": 3, "pools": ["fast"]},
        {"id": 1, "size": 3, "start": 2, "end": 5, "traffic": 2},
        {"id": 2, "size": 4, "start": 2, "end": 4, "pools": ["slow"]},
    ],
    "pools": [{"name": "fast", "size": 9}, {"name": "slow", "cost": 1.0}, {"name": "spare", "size": 3}],
    "conflicts": [],
}
FIELDS: dict[str, tuple[Any, ...]] = {
    "Buffer.id": ("a", 7),
    "Buffer.size": (0, 1, 6, 100),
    "Buffer.start": (1, 4),
    "Buffer.end": (4, 9),
    "Buffer.lifetimes": (((0, 1), (4, 6)), ((2, 4),)),
    "Buffer.alignment": (2, 8),
    "Buffer.pools": (("slow",), ("fast", "slow"), None),
    "Buffer.offset": (0, 3),
    "Buffer.traffic": (0, 9),
    "Buffer.hint": (0, 5),
    "Buffer.alias_of": (0,),
    "Buffer.alias_offset": (1, 2),
    "Buffer.relative": ({"to": 1, "offset": 3}, {"to": 1, "offset": -4}),
    "Buffer.no_cross": (4, 8),
    "Buffer.offset_mod": ({"modulus": 4, "remainder": 1}, {"modulus": 3, "remainder": 2}),
    "Buffer.end_at_most": (4, 9, 17),
    "Buffer.start_at_least": (4, 9, 17),
    "Buffer.forbid_pools": (("fast",), ("slow",)),
    "Buffer.accesses": ((2,), (2, 3), (3, {"time": 3, "kind": "write"})),
    "Buffer.given": ("slow", "fast"),
    "Buffer.kept_in": ("slow", "spare"),
    "Pool.name": ("other",),
    "Pool.size": (None, 4, 5, 7, 2**63 - 1),
    "Pool.alignment": (2, 8),
    "Pool.base_address": (1, 6),
    "Pool.cost": (0.5, 3.0),
    "Pool.reserved": (((0, 1),), ((4, 2), (9, 1))),
    "Pool.bank_size": (2, 16),
    "Pool.device": ("gpu", "gpu:1"),
    "Pool.direct": (False,),
    "BankUse.buffers": ((0, 1), (1, 2)),
    "BankUse.weight": (None, 5.0),
    "ReuseCost.pairs": (((0, 1),), ((0, 2), (1, 2))),
    "ReuseCost.cost": (1, 7),
    "Problem.format": ("memplan/1",),
    "Problem.name": ("another",),
    "Problem.buffers": (BASE["buffers"][:2], BASE["buffers"][::-1]),
    "Problem.conflicts": (((0, 1),), ((0, 2), (1, 2))),
    "Problem.may_share": (((1, 2),),),
    "Problem.bank": (({"buffers": (1, 2)},),),
    "Problem.reuse": (({"pairs": ((0, 1), (1, 2)), "cost": 2},),),
    "Problem.together": (((0, 1),), ((0, 1, 2),)),
    "Problem.same_offset": (((1, 2),),),
    "Problem.equal_use": (True, False),
    "Problem.pools": (BASE["pools"][:1], BASE["pools"][::-1]),
    "Problem.objective": ("cost", "fit", ("peak", "cost")),
    "Problem.interval": ("closed", "half-open"),
    "Problem.moves": (True, {"lead": 1}, {"bytes_per_step": 4}),
    "Problem.read_with": ({"dims": {"batch": 1}},),
}
"""Changed values of each field; buffer values are tried on every buffer but the first, pool values on each pool."""


def test_the_hash_test_covers_every_field_of_a_problem() -> None:
    models: tuple[type[Value], ...] = (Buffer, Pool, BankUse, ReuseCost, Problem)
    assert FIELDS.keys() == {f"{model.__name__}.{field}" for model in models for field in model.model_fields}


_BESIDE = {("start", "lifetimes"), ("end", "lifetimes")}
"""Pairs of mutually exclusive buffer fields."""
BANKED = [{"name": "fast", "size": 9, "bank_size": 4}, {"name": "slow", "cost": 1.0}, {"name": "spare", "size": 3}]
BANKS: Data = {"bank": [{"buffers": [1, 2], "weight": 2.0}], "pools": BANKED}
REUSE: Data = {"reuse": [{"pairs": [[1, 2]], "cost": 3}], "objective": "cost"}
IN_SLOW = {"id": 2, "size": 3, "start": 2, "end": 4, "pools": ["slow"]}
EQUAL: Data = {"buffers": [*BASE["buffers"][:2], IN_SLOW], "pools": [{"name": "fast"}, {"name": "slow"}]}
EQUAL["equal_use"] = True
EQUAL["buffers"][1] = EQUAL["buffers"][1] | {"pools": ["fast"]}
COST = {"objective": "cost"}
BASES: tuple[Data, ...] = (
    *(EQUAL, BASE | REUSE, BASE, BASE | COST, BASE | {"moves": True}, BASE | BANKS, BASE | BANKS | COST),
)


def changed_copies(data: Data, field: str) -> Iterator[Data]:
    where, name = field.split(".")
    if where == "Problem":
        yield from (data | {name: value} for value in FIELDS[field])
        return
    listed = {"Buffer": "buffers", "Pool": "pools", "BankUse": "bank", "ReuseCost": "reuse"}[where]
    rows = data.get(listed, [])
    more = {"alias_of": 0} if name == "alias_offset" else {}
    for k in range(1 if where == "Buffer" else 0, len(rows)):
        row = {key: value for key, value in rows[k].items() if (key, name) not in _BESIDE}
        for value in FIELDS[field]:
            yield data | {listed: [row | more | {name: value} if i == k else rows[i] for i in range(len(rows))]}


@pytest.mark.parametrize("field", FIELDS)
def test_a_change_of_one_field_changes_the_hash_or_leaves_the_answer_equal(field: str) -> None:
    tried = 0
    for data in BASES:
        original = Problem.model_validate(data)
        for copy in changed_copies(data, field):
            try:
                other = Problem.model_validate(copy)
            except InputError:
                continue
            tried += 1
            if problem_hash(other) == problem_hash(original):
                assert best_score(other) == best_score(original)
    assert tried
