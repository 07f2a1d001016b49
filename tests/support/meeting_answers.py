"""The answers to all questions about a problem that combines constraint kinds, checked by brute force."""

import random
from collections import Counter
from collections.abc import Generator, Iterator

import memplan
from memplan.planner.errors import InputError, InvalidPlanError, OptionError
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import Placement
from tests.support import equal_pools, meeting_questions, oracle
from tests.support.changed_problems import min_moves
from tests.support.whole_answers import faults_of_plan

_ENGINES = ("cp-sat", "highs", "cbc", "exact", "prices", "memory-choice")
_EVERY, _KEPT = 16, 3
"""A named engine runs on every 16th problem, and a re-plan on every 3rd."""
_SECONDS = 0.2


def faults(
    number: int, problem: Problem, tally: Counter[str], post: meeting_questions.Post | None = None, every: int = 1
) -> Iterator[str]:
    """Yield a line for each false statement about a problem and each answer that memplan refuses; count in `tally`.

    Questions other than for a plan are asked for each problem whose number is a multiple of `every`.
    """
    try:
        plan = yield from _faults(number, problem, tally)
        if number % every == 0:
            yield from meeting_questions.faults(number // every, problem, plan, tally, post)
    except InvalidPlanError as error:
        yield f"a fault of memplan: {error}"


def _faults(number: int, problem: Problem, tally: Counter[str]) -> Generator[str, None, Plan]:
    rng = random.Random(number)
    profile = rng.choice((None, None, "speed", "size", "balanced"))
    if problem.objective != "peak" or problem.equal_use:
        profile = None
    plan = memplan.solve(problem, profile=profile, time_limit_s=_SECONDS)
    tally[f"plans {plan.status}"] += 1
    yield from faults_of(problem, plan)
    if number % _EVERY == 0:
        yield from _engine_faults(_ENGINES[number // _EVERY % len(_ENGINES)], problem, tally)
    if plan.peak is not None:
        yield from _mutant_faults(rng, problem, plan, tally)
        if number % _KEPT == 0:
            yield from _replan_faults(rng, problem, plan, tally)
    elif not problem.equal_use:
        yield from _refusal_faults(problem, plan, tally)
    return plan


def faults_of(problem: Problem, plan: Plan, name: str = "auto") -> Iterator[str]:
    found = equal_pools.faults_of_plan(problem, plan) if problem.equal_use else faults_of_plan(problem, plan)
    found += oracle.check(problem, plan.placements) if plan.peak is not None else []
    yield from (f"{name}: {fault}" for fault in found)


def _engine_faults(engine: str, problem: Problem, tally: Counter[str]) -> Iterator[str]:
    try:
        plan = memplan.solve(problem, solver=engine, time_limit_s=2 * _SECONDS)  # type: ignore[arg-type]
    except OptionError:
        tally[f"refused by {engine}"] += 1
        return
    tally[f"plans by {engine}"] += 1
    yield from faults_of(problem, plan, engine)


def _mutant_faults(rng: random.Random, problem: Problem, plan: Plan, tally: Counter[str]) -> Iterator[str]:
    """Yield plans with a moved buffer that `verify` and brute force judge differently, and unrefuted false claims."""
    rows: list[Placement] = list(plan.placements)
    for _ in range(2):
        k = rng.randrange(len(rows))
        at = max(0, rows[k].offset + rng.choice((-3, -2, -1, 1, 2, 3)))
        pool = rng.choice(problem.pools).name if rng.random() < 0.3 else rows[k].pool
        moved = [*rows[:k], rows[k].model_copy(update={"offset": at, "pool": pool}), *rows[k + 1 :]]
        mutant = Plan.model_validate({"status": "feasible", "placements": moved})
        said = [violation.message for violation in memplan.verify(problem, mutant).violations]
        wrong = oracle.check(problem, moved)
        tally["plans with a buffer elsewhere"] += 1
        if bool(said) != bool(wrong):
            yield f"verify of a mutant: {said or 'valid'}, where brute force says {wrong or 'right'}"
    for claim in ({"peak": (plan.peak or 0) - 1}, {"status": "infeasible"}, {"lower_bound": (plan.peak or 0) + 1}):
        tally["plans with a false claim"] += 1
        if not memplan.verify(problem, plan.model_copy(update=claim)).violations:
            yield f"verify passes a plan of peak {plan.peak} that says {claim}"


def _replan_faults(rng: random.Random, problem: Problem, plan: Plan, tally: Counter[str]) -> Iterator[str]:
    """Yield faults of a re-plan near a random old plan: a wrong plan, or wrong numbers of moved buffers."""
    old: list[Placement] = [
        row.model_copy(update={"offset": row.offset + rng.choice((0, 0, 1, 2))})
        for row in plan.placements
        if rng.random() < 0.8
    ]
    try:
        keep = Plan.model_validate({"status": "feasible", "placements": old})
        options = memplan.PlanOptions(time_limit_s=_SECONDS, accept=0.0 if problem.objective != "fit" else None)
        found = memplan.plan(problem, keep=keep, options=options)
    except InputError:
        tally["keeping refused"] += 1
        return
    if found.peak is None or found.kept is None:
        return
    tally["plans kept"] += 1
    yield from (f"keep: {fault}" for fault in oracle.check(problem, found.placements))
    places = {row.id: (row.pool, row.offset) for row in found.placements}
    before = {row.id: (row.pool, row.offset) for row in old}
    own = {row.id for row in problem.buffers if row.alias_of is None and row.size}
    own -= {name for names in problem.same_offset for name in names}  # a same-offset set counts as one move
    stayed = sum(places[name] == before[name] for name in before if name in own)
    counts = stayed, sum(name in own for name in before) - stayed
    yield from _min_move_faults(problem, found, [row for row in old if row.id in own], tally)
    has_hints = any(row.hint is not None and row.id not in before for row in problem.buffers)
    if not (problem.same_offset or has_hints) and (found.kept.stayed, found.kept.moved) != counts:
        said = f"{found.kept.stayed} stayed and {found.kept.moved} moved"
        yield f"keep: says {said}, where {stayed} stayed of {len(before)}"


def _min_move_faults(problem: Problem, found: Plan, old: list[Placement], tally: Counter[str]) -> Iterator[str]:
    """Yield false statements about the fewest buffers that must move in the only pool at the least peak."""
    plain = problem.objective == "peak" and len(problem.pools) == 1 and not problem.same_offset
    if not plain or found.kept is None or any(row.hint is not None or not row.size for row in problem.buffers):
        return  # not comparable: hints act as old offsets, and empty buffers may exceed the peak
    best = oracle.best_score(problem)
    assert best is not None
    tally["fewest moves"] += 1
    kept = Plan.model_validate({"status": "feasible", "placements": old})
    fewest = min_moves(problem, kept, {problem.pools[0].name: int(best[0])})
    if fewest is None or found.kept.least_moves > fewest or (found.kept.proved and found.kept.moved != fewest):
        said = f"{found.kept.moved} moved, {found.kept.least_moves} at least"
        yield f"keep: {said}{', proved' * found.kept.proved}, where {fewest} is the fewest"


def _refusal_faults(problem: Problem, plan: Plan, tally: Counter[str]) -> Iterator[str]:
    tally["without a plan"] += 1
    if plan.status == "infeasible" and oracle.best_score(problem) is not None:
        yield "infeasible, though a plan exists"
