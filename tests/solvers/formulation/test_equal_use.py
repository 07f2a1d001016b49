"""Pools of equal use (`equal_use`) with `same_offset` buffers: planned as one pool, verified as several."""

import json
import random
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

import memplan
from memplan.planner.model.placement_table import PlacementTable
from memplan.solvers.mip.model_file import write_model
from tests.checkers.checkers import answers
from tests.support.depth import seeds
from tests.support.values import require_value

ROWS: list[dict[str, Any]] = [
    {"id": "a0", "size": 64, "start": 0, "end": 2, "pools": ["core0"]},
    {"id": "a1", "size": 64, "start": 1, "end": 3, "pools": ["core1"]},
    {"id": "x", "size": 32, "start": 0, "end": 1, "pools": ["core0"]},
    {"id": "y", "size": 96, "start": 2, "end": 4, "pools": ["core1"]},
]
CORES = [{"name": "core0"}, {"name": "core1"}]
FIELDS: dict[str, Any] = {"buffers": ROWS, "pools": CORES, "same_offset": [["a0", "a1"]], "equal_use": True}
PROBLEM = memplan.Problem.model_validate(FIELDS)


def rules_broken_by_moves(plan: memplan.Plan, **offsets: int) -> list[str]:
    rows = [row.model_copy(update={"offset": offsets.get(str(row.id), row.offset)}) for row in plan.placements]
    wrong = plan.model_copy(update={"placements": PlacementTable.from_rows(rows)})
    return [violation.rule for violation in memplan.verify(PROBLEM, wrong).violations]


def test_pools_of_equal_use_report_the_usage_and_bound_of_the_fullest_pool() -> None:
    plan = memplan.solve(PROBLEM, time_limit_s=10)
    assert (plan.status, plan.peak, plan.lower_bound) == ("optimal", 320, 320)
    assert [(use.name, use.used, use.lower_bound) for use in plan.pools] == [("core0", 160, 160), ("core1", 160, 160)]
    assert plan.placement("a0").offset == plan.placement("a1").offset
    assert plan.proof is not None
    assert (plan.proof.time, set(plan.proof.buffers)) == (2, {"a1", "y"})
    assert memplan.solve(PROBLEM, start=plan, time_limit_s=10).peak == 320


def test_verify_detects_forged_plans_of_pools_of_equal_use() -> None:
    plan = memplan.solve(PROBLEM, time_limit_s=10)
    assert "offsets-differ" in rules_broken_by_moves(plan, a1=256)
    uses = [use.model_copy(update={"used": 96}) for use in plan.pools]
    for claim in ({"peak": 256}, {"pools": tuple(uses)}, {"lower_bound": 400}):
        found = memplan.verify(PROBLEM, plan.model_copy(update=claim)).violations
        assert {violation.rule for violation in found} == {"false-claim"}, claim
    small = memplan.Problem.model_validate(FIELDS | {"pools": [{"name": "core0", "size": 100}, {"name": "core1"}]})
    assert "past-capacity" in [v.rule for v in memplan.verify(small, plan).violations]


def test_equal_use_is_written_to_json_and_read_back() -> None:
    assert memplan.Problem.model_validate_json(PROBLEM.model_dump_json(exclude_defaults=True)) == PROBLEM


def test_profiles_and_certificates_refuse_equal_use_by_name() -> None:
    with pytest.raises(memplan.OptionError, match="profile: must not be given if pools have equal use"):
        memplan.solve(PROBLEM, profile="size")
    assert "equal-use, same-offset" in str(memplan.certify(PROBLEM, memplan.solve(PROBLEM, time_limit_s=10)).reason)


@pytest.mark.slow
def test_checkers_refuse_problems_with_unknown_rules(tmp_path: Path) -> None:
    problem, proof = tmp_path / "problem.json", tmp_path / "plan.proof"
    proof.write_text("memplan-lemmas/1\nsizes - -\nused 160 160\n")
    plain = {"buffers": ROWS, "pools": FIELDS["pools"]}
    for rule in ({"equal_use": True}, {"same_offset": [["a0", "a1"]]}, {"distance": [{"buffers": ["a0", "x"]}]}):
        problem.write_text(json.dumps(plain | rule))
        status, sentence = answers([problem, proof])
        assert (status, "unknown fields" in sentence) == (2, True), sentence


def test_the_integer_program_of_pools_of_equal_use_has_one_pool() -> None:
    text = write_model(PROBLEM, ".lp").decode()
    assert "3 buffers lie in 1 pool" in text
    assert "a1" not in text


def draw_problem(seed: int) -> memplan.Problem:
    """Return a random problem of two or three pools, up to three same-offset sets, and other buffers."""
    rng = random.Random(seed)
    cores = [f"core{q}" for q in range(rng.randint(2, 3))]
    rows: list[dict[str, Any]] = []
    sets = []
    for s in range(rng.randint(1, 3)):
        size, chosen = rng.randint(1, 6), rng.sample(cores, rng.randint(2, len(cores)))
        sets.append([f"s{s}.{core}" for core in chosen])
        rows += [{"id": f"s{s}.{core}", "size": size, "pools": [core]} for core in chosen]
    rows += [{"id": f"x{k}", "size": rng.randint(1, 8), "pools": [rng.choice(cores)]} for k in range(rng.randint(1, 3))]
    for row in rows:
        row |= {"start": rng.randint(0, 4), "alignment": rng.choice((1, 1, 1, 2, 4))}
        row["end"] = row["start"] + rng.randint(1, 3)
    pools = [{"name": core, "size": rng.choice((None, 40, 30, 18))} for core in cores]
    ids = [row["id"] for row in rows]
    conflicts = [rng.sample(ids, 2) for _ in range(rng.randint(0, 2))]
    fields = {"buffers": rng.sample(rows, len(rows)), "pools": pools, "same_offset": sets, "conflicts": conflicts}
    return memplan.Problem.model_validate(fields | {"equal_use": True})


def meet(a: memplan.Buffer, b: memplan.Buffer) -> bool:
    return any(low < until and since < high for low, high in a.intervals for since, until in b.intervals)


def min_use(problem: memplan.Problem) -> int | None:
    """Return the minimum equal use by first fit in every order, placing each same-offset set together."""
    sets = [*problem.same_offset, *((row.id,) for row in problem.buffers if str(row.id)[0] == "x")]
    bodies = [[row for row in problem.buffers if row.id in ids] for ids in sets]
    named = {frozenset(pair) for pair in problem.conflicts}
    most = min((pool.size for pool in problem.pools if pool.size is not None), default=2**40)
    best = None
    for order in permutations(range(len(bodies))):
        at: dict[int, int] = {}
        for k in order:
            taken = [
                (offset, offset + bodies[j][0].size)
                for j, offset in at.items()
                if any(
                    a.pools == b.pools and (meet(a, b) or frozenset((a.id, b.id)) in named)
                    for a in bodies[j]
                    for b in bodies[k]
                )
            ]
            size, step = bodies[k][0].size, max(row.alignment for row in bodies[k])
            at[k] = next(o for o in range(0, 2**20, step) if all(o + size <= low or high <= o for low, high in taken))
        end = max(offset + bodies[k][0].size for k, offset in at.items())
        best = end if best is None else min(best, end)
    return best if best is not None and best <= most else None


def raise_plan(plan: memplan.Plan, by: int) -> memplan.Plan:
    """Return a plan with all offsets `by` bytes higher and without claims."""
    rows = [row.model_copy(update={"offset": row.offset + by}) for row in plan.placements]
    return memplan.Plan(status="feasible", placements=PlacementTable.from_rows(rows))


@pytest.mark.drawn
@pytest.mark.parametrize("seed", seeds(12))
@pytest.mark.slow
def test_sweep_verify_and_check_report_the_same_peak_for_equal_use_as_plan(seed: int) -> None:
    problem = draw_problem(seed)
    best, k = memplan.solve(problem, time_limit_s=10), len(problem.pools)
    swept = memplan.sweep(problem, {problem.pools[0].name: (8, 20, 60)}, options=memplan.SweepOptions(time_limit_s=20))
    for row, found in zip(swept.points, swept.plans or (), strict=True):
        sized = row.problem_of(problem)
        alone = memplan.solve(sized, time_limit_s=10)
        assert memplan.verify(sized, found).valid
        each = alone.peak and alone.peak // k
        assert (row.peak, row.status, {use.used for use in row.pools}) == (alone.peak, alone.status, {each})
    if best.peak is None:
        return
    pools = [{"name": pool.name} for pool in problem.pools]
    free = memplan.Problem.model_validate(problem.model_dump(exclude={"pools"}) | {"pools": pools})
    high = raise_plan(best, 64)
    used = [best.peak // k + 64] * k
    better = memplan.verify(free, high, options=memplan.VerifyOptions(better=True, time_limit_s=20)).better
    assert better is not None
    assert (better.peak, better.best, better.too_much_bytes) == (sum(used), best.peak, 64 * k)
    assert [pool.used for pool in better.pools] == used
    assert better.fewest_moves is not None
    assert better.fewest_moves.count == better.fewest_moves.at_least
    # The old offsets are above the new pool sizes.
    options = memplan.CheckOptions(differences=True)
    now = memplan.check(problem, plan=best, baseline=high, baseline_problem=free, options=options)
    assert now.passed
    assert [(pool.before, pool.used) for pool in now.pools] == [(used[0], best.peak // k)] * k
    assert now.difference is not None
    assert [(pool.before, pool.after) for pool in now.difference.pools] == [(used[0], best.peak // k)] * k
    grown = memplan.check(free, plan=high, baseline=best, baseline_problem=problem)
    assert [(failure.rule, failure.pool) for failure in grown.failures] == [("grown", pool.name) for pool in free.pools]


def test_shapes_and_sweep_refuse_equal_use_by_name(tmp_path: Path) -> None:
    (tmp_path / "problem.json").write_text(json.dumps(FIELDS))
    with pytest.raises(memplan.ProblemError, match=r"must have one memory.*, got equal-use, pools, same-offset"):
        memplan.shapes(tmp_path / "problem.json")
    with pytest.raises(memplan.ProblemError, match=r"same_offset\[0\]\[1\]: must have the first buffer's size \(9\)"):
        memplan.sweep(PROBLEM, changes=((memplan.Change.model_validate({"buffer": "a0", "fields": {"size": 9}}),),))


@pytest.mark.drawn
@pytest.mark.parametrize("seed", seeds(200))
def test_plans_of_equal_use_match_the_best_first_fit_over_all_orders(seed: int) -> None:
    problem = draw_problem(seed)
    least = min_use(problem)
    for solver in ("auto", "exact"):
        best = memplan.solve(problem, solver=solver, time_limit_s=60)  # type: ignore[arg-type]
        assert memplan.verify(problem, best).valid
        if least is None:
            assert best.status == "infeasible"
        else:
            assert (best.status, best.peak) == ("optimal", least * len(problem.pools))
    if least is None:
        answer = memplan.explain(problem, options=memplan.ExplainOptions(time_limit_s=20))
        assert answer.explanation is not None
        assert answer.explanation.buffers
        assert memplan.verify(problem, memplan.Plan(status="infeasible", explanation=answer.explanation)).valid
    else:
        again = memplan.plan(problem, keep=best, options=memplan.PlanOptions(time_limit_s=20))
        assert (again.peak, require_value(again.kept).moved, again.placements) == (best.peak, 0, best.placements)


def test_a_plan_of_equal_use_is_kept_when_a_buffer_is_added() -> None:
    old = memplan.solve(PROBLEM, time_limit_s=10)
    rows = [*ROWS, {"id": "z", "size": 32, "start": 0, "end": 4, "pools": ["core1"]}]
    grown = memplan.Problem.model_validate(FIELDS | {"buffers": rows})
    kept = memplan.plan(grown, keep=old, options=memplan.PlanOptions(time_limit_s=10))
    assert (kept.peak, memplan.verify(grown, kept).valid) == (384, True)
    assert kept.kept is not None
    assert (kept.kept.moved, kept.kept.peak_without_keeping) == (0, 384)
    assert [kept.placement(name).offset for name in ("a0", "a1")] == [old.placement("a0").offset] * 2


@pytest.mark.parametrize(("least", "weight"), [("buffers", 1), ("bytes", 32)])
def test_a_buffer_that_changes_its_pool_counts_as_moved(least: str, weight: int) -> None:
    old = memplan.solve(PROBLEM, time_limit_s=10)
    rows = [*ROWS[:2], {**ROWS[2], "pools": ["core1"]}, ROWS[3]]
    for fields in (FIELDS, {"pools": FIELDS["pools"]}):  # with and without equal use
        problem = memplan.Problem.model_validate(fields | {"buffers": rows})
        options = memplan.PlanOptions.model_validate({"time_limit_s": 10, "least": least})
        kept = require_value(memplan.plan(problem, keep=old, options=options).kept)
        assert (kept.moved, kept.moved_bytes, kept.least_moves, kept.proved) == (1, 32, weight, True)


def test_explain_names_pool_time_and_sufficient_size_for_equal_use() -> None:
    small = memplan.Problem.model_validate(FIELDS | {"pools": [{"name": "core0", "size": 100}, {"name": "core1"}]})
    why = require_value(memplan.explain(small, options=memplan.ExplainOptions(time_limit_s=10)).explanation)
    assert why.irreducible
    assert (why.pool, why.time, set(why.buffers), why.missing_bytes) == ("core0", 2, {"a1", "y"}, 60)
    assert "lacks 60 bytes at time 2" in why.message
    assert require_value(why.would_do).size == 160
    assert 'in "core1"; 160 bytes of each would do' in why.message
    assert memplan.verify(small, memplan.Plan(status="infeasible", explanation=why)).valid
    pools = [{"name": "core0", "size": 100}, {"name": "core1", "size": 120}]
    both = memplan.Problem.model_validate(FIELDS | {"pools": pools})
    why = require_value(memplan.explain(both, options=memplan.ExplainOptions(time_limit_s=10)).explanation)
    assert why.would_do is None
    for option in ({"repairs": 1}, {"what_if": True}):
        with pytest.raises(memplan.OptionError, match="must not be given if pools have equal use"):
            memplan.explain(small, options=memplan.ExplainOptions.model_validate(option))


def test_same_offset_buffers_share_bytes_only_if_their_partners_in_other_pools_may() -> None:
    rows = [
        {"id": "a0", "size": 1, "start": 0, "end": 2, "pools": ["core0"]},
        {"id": "b0", "size": 2, "start": 1, "end": 3, "pools": ["core0"]},
        {"id": "a1", "size": 1, "start": 1, "end": 3, "pools": ["core1"]},
        {"id": "b1", "size": 2, "start": 4, "end": 6, "pools": ["core1"]},
    ]
    fields = {"buffers": rows, "pools": FIELDS["pools"], "equal_use": True, "same_offset": [["a0", "a1"], ["b0", "b1"]]}
    for pairs, least in (([["a1", "b1"]], 3), ([["a1", "b1"], ["a0", "b0"]], 2)):
        problem = memplan.Problem.model_validate(fields | {"may_share": pairs})
        found = memplan.plan(problem, options=memplan.PlanOptions(time_limit_s=2))
        assert (found.status, [pool.used for pool in found.pools]) == ("optimal", [least, least])
        assert memplan.verify(problem, found).valid


def test_equal_use_bounds_the_usage_of_each_pool_under_the_cost_objective() -> None:
    rows = [
        {"id": -1, "size": 3, "start": 1, "end": 2, "pools": ["core0"]},
        {"id": 1, "size": 3, "start": 2, "end": 3, "pools": ["core1"]},
        {"id": "2", "size": 1, "start": 0, "end": 2, "pools": ["core0"]},
    ]
    pools = [{"name": name, "bank_size": 5} for name in ("core0", "core1")]
    fields = {"buffers": rows, "pools": pools, "equal_use": True, "same_offset": [[1, -1]], "objective": "cost"}
    problem = memplan.Problem.model_validate(fields | {"bank": [{"buffers": [-1, "2"]}]})
    found = memplan.plan(problem, options=memplan.PlanOptions(time_limit_s=2))
    assert (found.status, [(pool.used, pool.lower_bound) for pool in found.pools]) == ("optimal", [(6, 6)] * 2)
    assert memplan.verify(problem, found).valid


@pytest.mark.parametrize("most", [None, 2])
@pytest.mark.parametrize("pair", [["a0", "b0"], ["a1", "b1"]])
def test_a_witness_excludes_pairs_that_conflict_only_through_partners(most: int | None, pair: list[str]) -> None:
    rows = [
        {"id": f"{name}{core}", "size": 2, "start": core, "end": 2 + core, "pools": [f"core{core}"]}
        for name in "ab"
        for core in range(2)
    ]
    pools = [{"name": "core0", "size": most}, {"name": "core1"}]
    sets = [["a0", "a1"], ["b0", "b1"]]
    fields = {"buffers": rows, "pools": pools, "equal_use": True, "same_offset": sets, "may_share": [pair]}
    problem = memplan.Problem.model_validate(fields)
    found = memplan.plan(problem, options=memplan.PlanOptions(time_limit_s=2))
    assert (found.status, found.peak) == (("optimal", 8) if most is None else ("infeasible", None))
    assert memplan.verify(problem, found).valid
