"""Comparison of each pool's use with its budget and baseline, with a sentence for each broken rule."""

from collections.abc import Iterator, Mapping
from typing import Literal

from memplan.planner.errors import count_text, excerpt
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.peak_growth import Cause, LiveSet, Occupancy, growths
from memplan.questions.check.budgets import Tolerance
from memplan.questions.plan.baseline import Baseline
from memplan.questions.question import Answer

Rule = Literal["unread", "no-plan", "over-budget", "unknown-arena", "grown", "moved"]
RULES: Mapping[Rule, str] = {
    "unread": "The file of a model, and its options, can be read.",
    "no-plan": "A plan is found that fits the pools.",
    "over-budget": "No pool uses more than its budget.",
    "unknown-arena": "What the kernels of the runtime take of a budget is known.",
    "grown": "No pool uses more than the baseline does, beyond the tolerance.",
    "moved": "Where nothing may move, no buffer comes, goes or moves against the baseline.",
}
_NAMED = 5
"""The maximum number of buffers that a sentence names."""


class Failure(Answer):
    """A broken rule of a check."""

    rule: Rule
    """`unread` (the model cannot be read), `no-plan` (none was found that fits), `over-budget`, `unknown-arena` (what
    kernels take of a budget is unknown), `grown` (beyond the tolerance), or `moved` (although nothing may move)."""
    pool: str | None
    """The pool concerned; null if it is not one pool."""
    message: str
    """The broken rule as a sentence, with the numbers."""


class CheckedPool(Answer):
    """The use of a pool by a plan, compared with its budget and with the baseline."""

    name: str
    """The name of the pool."""
    used: int
    """The bytes that the plan uses."""
    lower_bound: int | None
    """The plan's lower bound on `used`, in bytes; null if it states none."""
    size: int | None
    """The capacity of the pool, in bytes; null if it has none."""
    budget: int | None
    """The bytes that it may use; null without a budget."""
    over_budget: int | None
    """The bytes of `used` above the budget; null without a budget."""
    before: int | None
    """The bytes that the baseline uses; null if that is unknown."""
    growth: int | None
    """`used` - `before`; null if `before` is."""
    allowed_growth: int | None
    """The bytes by which `used` may exceed `before`, by the option `tolerance`; null if `before` is."""
    live_set: LiveSet
    """The buffers that are alive at the peak of the live bytes."""
    live_bytes_before: int | None
    """The bytes that are alive in the baseline when most of these buffers are; null if its problem is unknown."""
    causes: tuple[Cause, ...] | None
    """The buffers that made the live bytes change, by decreasing bytes; null if the baseline's problem is unknown."""

    @property
    def growth_bytes(self) -> int:
        """The bytes by which the pool grew since the baseline; 0 if it did not grow or its earlier use is unknown."""
        return max(0, self.growth or 0)

    @property
    def is_beyond_tolerance(self) -> bool:
        """True if the pool grew by more bytes than the tolerance allows."""
        return self.growth_bytes > (self.allowed_growth or 0)


def checked_pools(
    problem: Problem,
    plan: Plan,
    now: Mapping[str, Occupancy],
    budgets: Mapping[str, int],
    baseline: Baseline | None,
    tolerance: Tolerance,
) -> Iterator[CheckedPool]:
    """Yield, for each pool, the bytes that a valid plan uses, its budget, and its use in the baseline."""
    is_comparable = baseline is not None and (baseline.occupancies is not None or bool(baseline.used))
    bounds = {use.name: use.lower_bound for use in plan.pools}
    growth = {} if baseline is None or baseline.occupancies is None else growths(now, baseline.occupancies)
    for pool in problem.pools:
        budget, grown = budgets.get(pool.name), growth.get(pool.name)
        used = now[pool.name].used
        before = None if baseline is None or not is_comparable else baseline.used.get(pool.name, 0)
        yield CheckedPool(
            name=pool.name,
            used=used,
            lower_bound=bounds.get(pool.name),
            size=pool.size,
            budget=budget,
            over_budget=None if budget is None else max(0, used - budget),
            before=before,
            growth=None if before is None else used - before,
            allowed_growth=None if before is None else tolerance.allowed_growth(before),
            live_set=now[pool.name].live_set,
            live_bytes_before=None if grown is None else grown.bytes_before,
            causes=None if grown is None else grown.causes,
        )


def failures_of(pool: CheckedPool, lies: Occupancy) -> list[Failure]:
    """Return a failure for each rule that the pool breaks: it exceeds its budget, or grew beyond the tolerance."""
    failures = []
    if pool.over_budget:
        least = "" if pool.lower_bound is None else f"; it needs at least {pool.lower_bound:,}"
        message = (
            f"pool {excerpt(pool.name)}: uses {pool.used:,} bytes, {pool.over_budget:,} above its budget of "
            f"{pool.budget:,}{least}. {_live_set_sentence(pool.live_set, lies.sizes)}"
        )
        failures.append(Failure(rule="over-budget", pool=pool.name, message=message))
    if pool.is_beyond_tolerance:
        message = (
            f"pool {excerpt(pool.name)}: uses {pool.used:,} bytes, {pool.growth_bytes:,} more than the {pool.before:,} "
            f"of the baseline, where {pool.allowed_growth:,} are allowed. {growth_sentence(pool)}"
        )
        failures.append(Failure(rule="grown", pool=pool.name, message=message))
    return failures


def _live_set_sentence(peak: LiveSet, sizes: Mapping[int | str, int]) -> str:
    where = "" if peak.time is None else f" at {peak.time}"
    named = [f"{excerpt(name)} ({sizes[name]:,})" for name in peak.buffers[:_NAMED]]
    return f"Alive{where}: {_list_text(named, len(peak.buffers))}"


def growth_sentence(pool: CheckedPool) -> str:
    """Return a sentence that names the buffers responsible for the growth of a pool's peak."""
    if pool.causes is None:
        return "The baseline states no sizes and lifetimes, so it is not known which buffers made the pool grow"
    more = [cause for cause in pool.causes if cause.bytes > 0]
    if not more:
        return "No more bytes are alive than before: the plan packs them less well"
    return f"At the peak there are more of: {_list_text([cause_text(cause) for cause in more[:_NAMED]], len(more))}"


def cause_text(cause: Cause) -> str:
    """Return one cause of growth as a phrase: the buffer, its bytes, and what changed."""
    was = f", was {cause.before:,}" if cause.kind in ("grown", "shrunk") else ""
    return f"{excerpt(cause.buffer)} ({cause.bytes:+,} bytes, {cause.kind.replace('-', ' ')}{was})"


def _list_text(named: list[str], count: int) -> str:
    return ", ".join(named) + (f", and {count_text(count - len(named), 'other')}" if count > len(named) else "")
