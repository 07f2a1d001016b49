"""The capability `check`: whether a plan keeps budgets and is near its baseline, and which buffers made a peak grow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from memplan.capabilities.capability import Answer, Capability, Control, SearchOptions
from memplan.capabilities.check.budgets import Tolerance, plan_within, read_budgets
from memplan.capabilities.inputs import EXAMPLE, PLAN, PROBLEM, PlanAndProblem
from memplan.capabilities.plan.baseline import (
    Baseline,
    as_baseline,
    baseline_problem,
    checked_baseline,
    read_baseline_field,
    read_baseline_parts,
)
from memplan.capabilities.plan.planning import planned
from memplan.capabilities.question import Input
from memplan.planner.errors import OptionError, PlanError, shown
from memplan.planner.model.placement_table import PlacementTable
from memplan.planner.model.plan import Disturbance, Findings, Plan, Status
from memplan.planner.model.problem import Problem, Profile
from memplan.planner.model.rows import as_tuple
from memplan.planner.peak_growth import Cause, LiveSet, Occupancy, growths, occupancies
from memplan.planner.verify.verifier import verify
from memplan.solvers.portfolio.options import SolveOptions

Rule = Literal["no-plan", "over-budget", "grown"]
RULES: Mapping[Rule, str] = {
    "no-plan": "A plan is found that fits the pools.",
    "over-budget": "No pool uses more than its budget.",
    "grown": "No pool uses more than the baseline does, beyond the tolerance.",
}
_NAMED = 5
"""The most buffers that a sentence names."""


class CheckOptions(SearchOptions):
    """Options of a check."""

    budgets: Annotated[tuple[str, ...], BeforeValidator(as_tuple)] = Field(
        (), description="What a pool may use: 256KiB, or sram=256KiB for each."
    )
    tolerance: str = Field("0", description="How much a pool may use beyond the baseline: a size, or 2%.")
    profile: Profile | None = Field(None, description="What several pools are for; by default balanced.")
    subject: str | None = Field(None, description="The name in reports; by default that of the problem.")
    with_plan: bool = Field(False, description="Answer with the plan, too.")


@dataclass(frozen=True)
class Failure:
    """A rule that is broken, by which pool if it is one, and the sentence that says so."""

    rule: Rule
    pool: str | None
    message: str


class CheckedPool(Answer):
    """The use of a pool in bytes, its budget and its use in the baseline; None for numbers that are not known or given.

    `growth` is the difference of both; `causes` are what `live_set`, that of its peak, has more than there was before.
    """

    name: str
    used: int
    lower_bound: int | None
    size: int | None
    budget: int | None
    over_budget: int | None
    before: int | None
    growth: int | None
    allowed_growth: int | None
    live_set: LiveSet
    live_bytes_before: int | None
    causes: tuple[Cause, ...] | None

    @property
    def grown(self) -> int:
        """The bytes above what was used before; 0 where it did not grow, or nothing is known of before."""
        return max(0, self.growth or 0)

    @property
    def is_beyond_tolerance(self) -> bool:
        """True if it grew more than is allowed."""
        return self.grown > (self.allowed_growth or 0)


class PlacementChanges(Answer):
    """The numbers of buffers that stay, move, are new and are gone, compared with the baseline."""

    same: int
    moved: int
    new: int
    gone: int


class Check(Answer):
    """The result of checking a plan against budgets and a baseline: pool by pool, and the rules that are broken."""

    passed: bool
    subject: str
    status: Status
    solver: str | None
    reproducible: bool | None
    disturbed_by: Disturbance | None
    findings: Findings
    failures: tuple[Failure, ...]
    pools: tuple[CheckedPool, ...]
    placements: PlacementChanges | None
    wall_time_s: float | None = None
    plan: Plan | None = None


def check(
    problem: Problem,
    plan: Plan | None = None,
    baseline: Plan | Baseline | None = None,
    baseline_problem: Problem | None = None,
    options: CheckOptions = CheckOptions(),
    control: Control = Control(),
) -> Check:
    """Check what a plan uses against budgets and a baseline, and name the buffers that made a peak grow.

    Where no plan is given, one is made.
    """
    running = control.begun(options)
    tolerance = Tolerance.read(options.tolerance)
    problem, budgets = read_budgets(options.budgets, problem)
    if baseline is None and baseline_problem is not None:
        raise OptionError("baseline-problem: must come with a baseline")
    then = None if baseline is None else checked_baseline(as_baseline(baseline, baseline_problem), problem)
    if plan is None:
        chosen = SolveOptions(**options.fields("time_limit_s", "deterministic", "profile"))
        plan = plan_within(problem, budgets, partial(planned, options=chosen, running=running))
    elif violations := verify(problem, plan):
        raise PlanError(f"plan: must be valid: {violations[0].rule}: {violations[0].message}")
    found = checked(problem, plan, budgets, then, tolerance)
    named = found if options.subject is None else found.model_copy(update={"subject": options.subject})
    return named.model_copy(update={"plan": plan}) if options.with_plan else named


def checked(
    problem: Problem, plan: Plan, budgets: Mapping[str, int], baseline: Baseline | None, tolerance: Tolerance
) -> Check:
    """Check a plan that is valid for the problem."""
    pools: tuple[CheckedPool, ...] = ()
    failures: list[Failure] = []
    changes = None
    if plan.status in ("infeasible", "unknown") and len(plan.placements) == 0:
        why = plan.explanation.message if plan.explanation else "no plan was found in time"
        failures = [Failure("no-plan", plan.explanation.pool if plan.explanation else None, why)]
    else:
        now = occupancies(problem, plan)
        pools = tuple(_pools(problem, plan, now, budgets, baseline, tolerance))
        failures = [failure for pool in pools for failure in _failures(pool, now[pool.name])]
        changes = None if baseline is None else _changes(plan.placements, baseline.plan.placements)
    return Check.of(
        plan,
        passed=not failures,
        subject=problem.name or "problem",
        failures=tuple(failures),
        pools=pools,
        placements=changes,
    )


def _pools(
    problem: Problem,
    plan: Plan,
    now: Mapping[str, Occupancy],
    budgets: Mapping[str, int],
    baseline: Baseline | None,
    tolerance: Tolerance,
) -> Iterator[CheckedPool]:
    bounds = {use.name: use.lower_bound for use in plan.pools}
    growth = {} if baseline is None or baseline.occupancies is None else growths(now, baseline.occupancies)
    for pool in problem.pools:
        used, budget, grown = now[pool.name].used, budgets.get(pool.name), growth.get(pool.name)
        before = None if baseline is None else baseline.used.get(pool.name, 0)
        yield CheckedPool(
            name=pool.name,
            used=used,
            lower_bound=bounds.get(pool.name),
            size=pool.size,
            budget=budget,
            over_budget=None if budget is None else max(0, used - budget),
            before=before,
            growth=None if before is None else used - before,
            allowed_growth=None if before is None else tolerance.allowed(before),
            live_set=now[pool.name].live_set,
            live_bytes_before=None if grown is None else grown.bytes_before,
            causes=None if grown is None else grown.causes,
        )


def _changes(now: PlacementTable, then: PlacementTable) -> PlacementChanges:
    places, before = _places(now), _places(then)
    both = places.keys() & before.keys()
    same = sum(places[name] == before[name] for name in both)
    new, gone = len(places) - len(both), len(before) - len(both)
    return PlacementChanges(same=same, moved=len(both) - same, new=new, gone=gone)


def _places(table: PlacementTable) -> dict[int | str, tuple[str, int]]:
    rows = zip(table.ids, table.pool.tolist(), table.offset.tolist(), strict=True)
    return {name: (table.pool_names[pool], offset) for name, pool, offset in rows}


def _failures(pool: CheckedPool, lies: Occupancy) -> list[Failure]:
    found = []
    if pool.over_budget:
        least = "" if pool.lower_bound is None else f"; it needs at least {pool.lower_bound:,}"
        message = (
            f"pool {shown(pool.name)}: uses {pool.used:,} bytes, {pool.over_budget:,} above its budget of "
            f"{pool.budget:,}{least}. {_alive(pool.live_set, lies.sizes)}"
        )
        found.append(Failure("over-budget", pool.name, message))
    if pool.is_beyond_tolerance:
        message = (
            f"pool {shown(pool.name)}: uses {pool.used:,} bytes, {pool.grown:,} more than the {pool.before:,} of the "
            f"baseline, where {pool.allowed_growth:,} are allowed. {why_grown(pool)}"
        )
        found.append(Failure("grown", pool.name, message))
    return found


def _alive(peak: LiveSet, sizes: Mapping[int | str, int]) -> str:
    where = "" if peak.time is None else f" at {peak.time}"
    named = [f"{shown(name)} ({sizes[name]:,})" for name in peak.buffers[:_NAMED]]
    return f"Alive{where}: {_listed(named, len(peak.buffers))}"


def why_grown(pool: CheckedPool) -> str:
    """Say in a sentence which buffers made the peak grow."""
    if pool.causes is None:
        return "The baseline says no sizes and lifetimes, so which buffers made it grow is not known"
    more = [cause for cause in pool.causes if cause.bytes > 0]
    if not more:
        return "No more bytes are alive than before: the plan packs them less well"
    return f"At the peak there are more of: {_listed([cause_text(cause) for cause in more[:_NAMED]], len(more))}"


def cause_text(cause: Cause) -> str:
    """Write a cause: the buffer, its bytes, and the reason."""
    was = f", was {cause.before:,}" if cause.kind in ("grown", "shrunk") else ""
    return f"{shown(cause.buffer)} ({cause.bytes:+,} bytes, {cause.kind.replace('-', ' ')}{was})"


def _listed(named: list[str], count: int) -> str:
    return ", ".join(named) + (f", and {count - len(named)} others" if count > len(named) else "")


def lines(found: Check) -> Iterator[str]:
    """Yield the lines for people: what is odd, what fails, and the use of each pool."""
    for finding in found.findings:
        yield f"warning: {finding.rule}: {finding.message}"
    if found.reproducible is False:
        yield f"warning: not reproducible: the search was ended, or changed, by: {found.disturbed_by}"
    for failure in found.failures:
        yield f"{failure.rule}: {failure.message}"
    for pool in found.pools:
        budget = "" if pool.budget is None else f" of {pool.budget:,}"
        change = "" if pool.growth is None else f" ({pool.growth:+,})"
        yield f"{pool.name}: {pool.used:,} bytes{budget}{change}"


_BASELINE = Input(
    "baseline",
    Plan | PlanAndProblem,
    lambda value: read_baseline_field(value, "baseline"),
    Baseline.as_json,
    "What was used before: a plan, or what --save-baseline wrote.",
    from_file=lambda _, data, name, question: read_baseline_parts(data, name, question.get("baseline_problem")),
    required=False,
    named_by_flag=True,
    reads_last=True,
)
CAPABILITY = Capability(
    check,
    inputs=(
        PROBLEM,
        replace(PLAN, help="Check this plan instead of making one.", required=False, named_by_flag=True),
        _BASELINE,
        baseline_problem("baseline_problem", "a baseline"),
    ),
    lines=lines,
    exit_status=lambda found: 0 if found.passed else 1,
    exits={0: "within", 1: "over budget, grown beyond the tolerance or no plan"},
    status=lambda found: "passed" if found.passed else "failed",
    example={"problem": EXAMPLE, "options": {"budgets": ["1KiB"], "subject": "model.json"}},
)
