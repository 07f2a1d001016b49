"""Cached plans: translated for equivalent problems, compared with each other, and with lint findings."""

import json
import random
import re
import time
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import memplan
from memplan.api.cli.main import main
from memplan.api.service.cache.cached_plan import CachedPlan, better_of, result_of, units_of
from memplan.api.service.cache.canonical_plan import canonical_plan, translate_plan
from memplan.api.service.cache.compiled_problem import CompiledProblem
from memplan.api.store.stored_plan import StoredPlan
from memplan.planner.bounds.lower_bound import lower_bound
from memplan.planner.formats import memplan_json
from memplan.planner.model.buffer_table import I64, column
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify
from memplan.solvers.portfolio.solve import solve
from tests.support.renaming import Data, problem_data, respell
from tests.support.server import RunningServer
from tests.support.strategies import raw_problems, tied_problems
from tests.support.values import require_value
from tests.support.workers import searched_result

TWO = {"buffers": [{"id": "a", "size": 8, "start": 0, "end": 2}, {"id": "b", "size": 4, "start": 1, "end": 3}]}


def compile_data(data: Data) -> CompiledProblem:
    return CompiledProblem.from_problem(Problem.model_validate(data))


ASKED = compile_data(TWO)


def check_translation(first: CompiledProblem, other: CompiledProblem) -> None:
    plan = solve(first.problem, solver="local-search", time_limit_s=0.05)
    known = CachedPlan.from_result(first, searched_result(first, plan), 1.0)
    assert (known is None) == (plan.peak is None)
    if known is None:
        return
    stored = require_value(CachedPlan.read(known.compress(first.hash)))
    for kept, claims in ((known, units_of(first) == units_of(other)), (stored, False)):
        result = result_of(kept, other)
        if result is None:  # past the address space
            assert lower_bound(other.instance).nothing_fits is not None
            return
        again = result.plan
        assert verify(other.problem, again) == ()
        if claims and plan.status == "optimal":
            assert again.status == "optimal"
        if again.status == "optimal" and not claims and other.instance.objective != "cost":
            shown = lower_bound(other.instance).score
            assert shown >= tuple((pool.used or 0) // other.instance.unit for pool in reversed(again.pools))
    assert again.problem_hash == first.hash == other.hash
    assert again.peak is not None
    assert again.peak * first.instance.unit == require_value(plan.peak) * other.instance.unit
    told = require_value(translate_plan(other, canonical_plan(first.hash, stored)))
    assert verify(other.problem, told) == ()
    assert (told.peak, told.status) == (again.peak, again.status)


@given(data=raw_problems(5), rng=st.randoms(use_true_random=False), k=st.integers(1, 5))
def test_a_cached_plan_is_valid_for_every_equivalent_problem(data: Data, rng: random.Random, k: int) -> None:
    check_translation(compile_data(data), compile_data(respell(data, rng, k)))


@given(problem=tied_problems(5), rng=st.randoms(use_true_random=False), k=st.integers(1, 5))
def test_a_cached_plan_with_constraints_fits_equivalent_problems(problem: Problem, rng: random.Random, k: int) -> None:
    other = compile_data(respell(problem_data(problem), rng, k))
    if not other.instance.unplaceable:
        check_translation(CompiledProblem.from_problem(problem), other)


def loose_plan(gap: int, bound: int, searched_s: float = 1.0) -> CachedPlan:
    """Return a plan of TWO with `gap` unused units between its buffers, and a proved lower bound in units."""
    offset = column_of({"a": 0, "b": 2 + gap})
    return CachedPlan(
        "feasible", offset * 0, offset, (2 + gap + 1,), (bound,), bound, solver="by hand", searched_s=searched_s
    )


def column_of(offsets: dict[str, int]) -> I64:
    names = [ASKED.problem.buffers.ids[int(ASKED.instance.source[i])] for i in ASKED.order]
    return column([offsets[str(name)] for name in names])


def test_the_better_of_two_cached_plans_keeps_its_own_bound() -> None:
    assert ASKED.instance.unit == 4
    worse, better = loose_plan(2, 2, searched_s=9), loose_plan(1, 1)
    assert better_of(ASKED, worse, better) is better_of(ASKED, better, worse) is better


def test_the_plan_of_the_longer_search_is_kept_among_equal_plans() -> None:
    brief, long = loose_plan(1, 2), loose_plan(1, 1, searched_s=3)
    assert better_of(ASKED, brief, long) is better_of(ASKED, long, brief) is long
    assert better_of(ASKED, brief, replace(brief)) is brief


def test_the_better_of_two_cached_plans_gets_the_better_bound_if_their_units_agree() -> None:
    units = units_of(ASKED)
    worse, better = replace(loose_plan(2, 3), units=units), replace(loose_plan(1, 1), units=units)
    for found in (better, replace(better, units=None)):  # a plan without units carries no usable bound
        for both in ((worse, found), (found, worse)):
            best = better_of(ASKED, *both)
            assert (best.offset.tolist(), best.bound, best.units) == (better.offset.tolist(), (3,), units)
    # A bound in other units belongs to another instance and must not be used.
    assert better_of(ASKED, replace(worse, units=(1, 1)), better) is better


def test_a_proved_plan_is_never_replaced() -> None:
    proved = replace(loose_plan(1, 4), status="optimal")
    better = loose_plan(0, 1, searched_s=3)
    assert better_of(ASKED, proved, better) is better_of(ASKED, better, proved) is proved


def test_an_optimality_proof_in_other_units_yields_to_a_plan_in_the_current_units() -> None:
    proved = replace(loose_plan(1, 4), status="optimal", units=(1, 1))
    found = replace(loose_plan(0, 1), units=units_of(ASKED))
    assert better_of(ASKED, proved, found) is found


@pytest.mark.parametrize("size", [1, 8])
def test_the_plan_cache_does_not_store_infeasible_results(size: int) -> None:
    tight = Problem.model_validate(TWO | {"pools": [{"name": "sram", "size": size}]})
    compiled = CompiledProblem.from_problem(tight)
    assert CachedPlan.from_result(compiled, searched_result(compiled, solve(tight)), 1.0) is None
    content = b'{"pool": null, "offset": null, "used": [], "total": 0}'
    assert CachedPlan.read(StoredPlan("", zlib.compress(content), "infeasible", 1.0, 0)) is None


def test_cached_plan_offsets_are_rounded_down_to_multiples_of_the_unit() -> None:
    plan = Plan.model_validate(
        {"placements": [{"id": "b", "pool": "default", "offset": 9}, {"id": "a", "pool": "default", "offset": 1}]}
    )
    assert require_value(CachedPlan.from_result(ASKED, searched_result(ASKED, plan), 0.0)).used == (3,)


CHAIN = [{"id": k, "size": 4 * k + 4, "start": 2 * k, "end": 2 * k + 1} for k in range(6)]
CLOSED: dict[str, Any] = {"buffers": CHAIN}
"""Lifetimes that leave a gap of one step before each next start, so inclusive ends were probably meant."""
SOUND: dict[str, Any] = {"buffers": [row | {"end": row["end"] + 2} for row in CHAIN]}


def test_a_plan_lists_probable_mistakes_in_its_problem_also_when_read_back() -> None:
    problem = Problem.model_validate(CLOSED)
    plan = memplan.solve(problem)
    assert [finding.rule for finding in plan.findings] == ["inclusive-ends"]
    assert "--inclusive" in plan.findings[0].message
    assert [finding.rule for finding in memplan.plan(problem, keep=plan).findings] == ["inclusive-ends"]
    assert memplan_json.read_plan(memplan_json.write_plan(plan, problem), problem).findings == plan.findings
    for broken in ({"rule": 1, "message": ""}, {"rule": "x"}, {"rule": "x", "message": "y", "more": 1}, 7):
        with pytest.raises(memplan.PlanError, match=r"findings\[0\]"):
            Plan.model_validate({"findings": [broken]})


def test_a_plan_without_lint_findings_omits_the_field_findings() -> None:
    problem = Problem.model_validate(SOUND)
    assert b"findings" not in memplan_json.write_plan(memplan.solve(problem), problem)


def test_a_check_reports_lint_findings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "closed.json").write_text(json.dumps(CLOSED))
    assert main(["check", str(tmp_path / "closed.json"), "--deterministic", "--budget", "1MiB"]) == 0
    told, said = capsys.readouterr()
    answer = json.loads(told)
    assert [finding["rule"] for finding in answer["findings"]] == ["inclusive-ends"]
    assert answer["reproducible"] is True
    assert "warning: inclusive-ends" in said


def test_the_service_reports_lint_findings_in_cached_answers_too(server: RunningServer) -> None:
    for _ in range(3):
        answer = server.client.post("/v1/plan", json=CLOSED).json()
        assert [finding["rule"] for finding in answer["findings"]] == ["inclusive-ends"]
    kept = server.client.post("/v1/plan", json={"problem": CLOSED, "keep": answer}).json()
    assert [finding["rule"] for finding in kept["findings"]] == ["inclusive-ends"]
    assert "findings" not in server.client.post("/v1/plan", json=SOUND).json()


@pytest.mark.parametrize(("call", "status"), [("plan", 200), ("explain", 504)])
def test_an_answer_after_its_deadline_counts_as_miss_and_refusal(server: RunningServer, call: str, status: int) -> None:
    rows = [{"id": k, "size": 1, "start": 0, "end": 1} for k in range(9)]
    problem = {"buffers": rows, "bank": [{"buffers": list(range(9))}], "pools": [{"name": "a", "bank_size": 8}]}
    body = json.dumps({"problem": problem, "options": {"time_limit_s": 0.05}}).encode()

    def send_slowly() -> Iterator[bytes]:
        yield body[:100]
        time.sleep(0.7)  # the time of a call begins with its first byte
        yield body[100:]

    def misses() -> float:
        (found,) = re.findall(r"^memplan_deadline_misses_total (\S+)", server.client.get("/metrics").text, re.MULTILINE)
        return float(found)

    before = misses()
    answer = server.client.post(f"/v1/{call}", content=send_slowly(), headers={"Content-Type": "application/json"})
    assert (answer.status_code, misses()) == (status, before + 1)
