"""The check of a plan against budgets and a baseline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from memplan.api.checks.budgets import NOTHING_MORE, Tolerance
from memplan.capabilities.plans.baseline import Baseline
from memplan.planner.errors import shown
from memplan.planner.model.placement_table import PlacementTable
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.peak_growth import Cause, LiveSet, Occupancy, PeakGrowth, growths, occupancies

Rule = Literal["no-plan", "over-budget", "grown"]
RULES: Mapping[Rule, str] = {
    "no-plan": "A plan is found that fits the pools.",
    "over-budget": "No pool uses more than its budget.",
    "grown": "No pool uses more than the baseline does, beyond the tolerance.",
}
_NAMED = 5
"""The most buffers that a sentence names."""


@dataclass(frozen=True)
class Failure:
    """A rule that is broken, by which pool if it is one, and the sentence that says so."""

    rule: Rule
    pool: str | None
    message: str


@dataclass(frozen=True)
class PoolCheck:
    """The use of a pool in bytes, its budget and its use in the baseline; None for numbers that are not known or given.

    `growth` has the causes of its peak's growth; `peak`, its live set at the peak.
    """

    name: str
    used: int
    size: int | None
    lower_bound: int | None
    budget: int | None
    before: int | None
    allowed_growth: int | None
    peak: LiveSet
    growth: PeakGrowth | None

    @property
    def over_budget(self) -> int:
        """The bytes above the budget; 0 within."""
        return 0 if self.budget is None else max(0, self.used - self.budget)

    @property
    def grown(self) -> int:
        """The bytes above what was used before; 0 where it did not grow, or nothing is known of before."""
        return 0 if self.before is None else max(0, self.used - self.before)

    @property
    def is_beyond_tolerance(self) -> bool:
        """True if it grew more than is allowed."""
        return self.grown > (self.allowed_growth or 0)


@dataclass(frozen=True)
class PlacementChanges:
    """The numbers of buffers that stay, move, are new and are gone, compared with the baseline."""

    same: int
    moved: int
    new: int
    gone: int


@dataclass(frozen=True)
class CheckResult:
    """The result of checking a plan against budgets and a baseline: pool by pool, and the rules that are broken."""

    subject: str
    plan: Plan
    pools: tuple[PoolCheck, ...]
    changes: PlacementChanges | None
    failures: tuple[Failure, ...]

    @property
    def passed(self) -> bool:
        """True if no rule is broken."""
        return not self.failures


def check(
    subject: str,
    problem: Problem,
    plan: Plan,
    budgets: Mapping[str, int],
    baseline: Baseline | None = None,
    tolerance: Tolerance = NOTHING_MORE,
) -> CheckResult:
    """Check a plan that is valid for the problem, whose file or name is the `subject`."""
    if plan.status in ("infeasible", "unknown") and len(plan.placements) == 0:
        why = plan.explanation.message if plan.explanation else "no plan was found in time"
        pool = plan.explanation.pool if plan.explanation else None
        return CheckResult(subject, plan, (), None, (Failure("no-plan", pool, why),))
    now = occupancies(problem, plan)
    bounds = {use.name: use.lower_bound for use in plan.pools}
    before = {} if baseline is None else baseline.used
    growth = {} if baseline is None or baseline.occupancies is None else growths(now, baseline.occupancies)
    pools = tuple(
        PoolCheck(
            pool.name,
            now[pool.name].used,
            pool.size,
            bounds.get(pool.name),
            budgets.get(pool.name),
            None if baseline is None else before.get(pool.name, 0),
            None if baseline is None else tolerance.allowed(before.get(pool.name, 0)),
            now[pool.name].live_set,
            growth.get(pool.name),
        )
        for pool in problem.pools
    )
    failures = tuple(failure for pool in pools for failure in _failures(pool, now[pool.name]))
    changes = None if baseline is None else _changes(plan.placements, baseline.plan.placements)
    return CheckResult(subject, plan, pools, changes, failures)


def _changes(now: PlacementTable, then: PlacementTable) -> PlacementChanges:
    places, before = _places(now), _places(then)
    both = places.keys() & before.keys()
    same = sum(places[name] == before[name] for name in both)
    return PlacementChanges(same, len(both) - same, len(places) - len(both), len(before) - len(both))


def _places(table: PlacementTable) -> dict[int | str, tuple[str, int]]:
    rows = zip(table.ids, table.pool.tolist(), table.offset.tolist(), strict=True)
    return {name: (table.pool_names[pool], offset) for name, pool, offset in rows}


def _failures(pool: PoolCheck, lies: Occupancy) -> list[Failure]:
    found = []
    if pool.over_budget:
        least = "" if pool.lower_bound is None else f"; it needs at least {pool.lower_bound:,}"
        message = (
            f"pool {shown(pool.name)}: uses {pool.used:,} bytes, {pool.over_budget:,} above its budget of "
            f"{pool.budget:,}{least}. {_alive(pool.peak, lies.sizes)}"
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


def why_grown(pool: PoolCheck) -> str:
    """Say in a sentence which buffers made the peak grow."""
    if pool.growth is None:
        return "The baseline says no sizes and lifetimes, so which buffers made it grow is not known"
    more = [cause for cause in pool.growth.causes if cause.bytes > 0]
    if not more:
        return "No more bytes are alive than before: the plan packs them less well"
    return f"At the peak there are more of: {_listed([cause_text(cause) for cause in more[:_NAMED]], len(more))}"


def cause_text(cause: Cause) -> str:
    """Write a cause: the buffer, its bytes, and the reason."""
    was = f", was {cause.before:,}" if cause.kind in ("grown", "shrunk") else ""
    return f"{shown(cause.buffer)} ({cause.bytes:+,} bytes, {cause.kind.replace('-', ' ')}{was})"


def _listed(named: list[str], count: int) -> str:
    return ", ".join(named) + (f", and {count - len(named)} others" if count > len(named) else "")
