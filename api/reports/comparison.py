"""The bytes of a model by its own planner and by memplan, and the lower bound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from memplan.planner.audit import verify
from memplan.planner.errors import FormatError
from memplan.planner.importers import detect, read_model
from memplan.planner.importers.imported import Imported, ImportOptions, ViewFacts
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.solvers.order.placement.programs import reorder_program
from memplan.solvers.portfolio.options import DEFAULT_TIME_LIMIT_S, SolveControl
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.studies.audit.audit import audit

RECORDED = "the plan in the file"
_OWN: Mapping[str, str] = {"tflite": "reference:tflite-micro-greedy"}
"""From a format to the planner that its runtime has, where the file has no plan of its own."""


@dataclass(frozen=True)
class OwnPlan:
    """The peak of the model's own planner; None where it has no valid plan, and `message` says why."""

    name: str
    peak: int | None
    message: str | None = None


@dataclass(frozen=True)
class OwnAudit:
    """The audit of that plan, where its offsets are known: what it breaks, and how little would mend it.

    `above_line` counts the buffers that end above the best peak, `fewest_moves` those that must leave their places to
    reach it; none less than `at_least` do.
    """

    valid: bool
    peak: int | None
    best: int | None
    too_much_bytes: int | None
    gap: float | None
    above_line: int
    fewest_moves: int | None
    at_least: int | None
    proved: bool


@dataclass(frozen=True)
class OurPlan:
    """The peak of memplan for the model's buffers, and its lower bound."""

    peak: int | None
    lower_bound: int | None
    status: str
    solver: str | None
    buffers: int


@dataclass(frozen=True)
class ModelComparison:
    """The comparison for one model. `own` plans each view as a buffer, so does `memplan`; `memplan_with_views` shares.

    `saved` counts from the model's own plan, or, where none is known, from `nothing_shared`. `memplan_reordered` plans
    the operations in a better order, and `saved_by_order` is what that saves of memplan's best plan otherwise; both are
    None for a file without operations.
    """

    format: str
    nothing_shared: int
    own: OwnPlan | None
    memplan: OurPlan
    memplan_with_views: OurPlan | None
    memplan_reordered: OurPlan | None
    saved_by_order: int | None
    views: ViewFacts
    saved: int | None
    saved_percent: float | None
    warnings: tuple[str, ...]
    own_audit: OwnAudit | None = None


def compare(
    data: bytes, name: str | None, options: ImportOptions, time_limit_s: float = DEFAULT_TIME_LIMIT_S
) -> ModelComparison:
    """Plan a model in each way; each plan gets the time limit. Raises InputError."""
    found = detect(data, name)
    if found is None:
        raise FormatError(f"must be a model file, got {data[:20]!r}")
    apart = read_model(data, name, options.model_copy(update={"views": "separate"}))
    shared = read_model(data, name, options)
    plan = _planned(apart.problem, time_limit_s)
    in_place = _planned(shared.problem, time_limit_s) if shared.views.aliases else None
    own, audited = _own(found, (apart, shared), time_limit_s)
    everything = sum(buffer.size for buffer in apart.problem.buffers if buffer.alias_of is None)
    before = everything if own is None or own.peak is None else own.peak
    after = (in_place or plan).peak
    # Another order is planned from the operations, which know nothing of scratch: it would promise too much.
    reordered = None if shared.has_scratch else _reordered(shared, options, time_limit_s)
    saved = None if after is None or shared.has_unknown_scratch else before - after
    return ModelComparison(
        format=found,
        nothing_shared=everything,
        own=own,
        memplan=plan,
        memplan_with_views=in_place,
        memplan_reordered=reordered,
        saved_by_order=None if reordered is None else _saved(after, reordered.peak),
        views=shared.views,
        saved=saved,
        saved_percent=None if saved is None or not before else round(100 * saved / before, 2),
        warnings=tuple(warning.message for warning in shared.warnings),
        own_audit=audited,
    )


def _planned(problem: Problem, time_limit_s: float) -> OurPlan:
    plan = solve(problem, time_limit_s=time_limit_s)
    return OurPlan(plan.peak, plan.lower_bound, plan.status, plan.solver, len(problem.buffers))


def _reordered(imported: Imported, options: ImportOptions, time_limit_s: float) -> OurPlan | None:
    if imported.operations is None:
        return None
    placed = reorder_program(imported.operations, options.reading, time_limit_s=time_limit_s).placed
    plan = placed.plan
    if plan.peak is None or plan.peak > placed.result.peak:
        start = None if plan.peak is None else plan
        plan = solve(placed.problem, time_limit_s=time_limit_s, control=SolveControl(start=start))
    return OurPlan(plan.peak, plan.lower_bound, plan.status, plan.solver, len(placed.problem.buffers))


def _saved(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else max(0, before - after)


def _own(found: str, read: tuple[Imported, Imported], time_limit_s: float) -> tuple[OwnPlan | None, OwnAudit | None]:
    """Return the model's own plan, and its audit where its offsets are known.

    `read` has the model with views apart, and with views in their sources: audited is what the plan breaks less of.
    """
    apart = read[0]
    if apart.own_peak is not None:
        known = [(each.problem, each.own_plan) for each in read if each.own_plan is not None]
        chosen = min(known, key=lambda pair: len(verify(*pair)), default=None)
        return OwnPlan(RECORDED, apart.own_peak), None if chosen is None else _audited(*chosen, time_limit_s)
    if found not in _OWN:
        return None, None
    plan = solve(apart.problem, time_limit_s=time_limit_s, solver=_OWN[found])
    own = OwnPlan(_OWN[found], plan.peak, plan.explanation.message if plan.explanation else None)
    return own, None if plan.peak is None else _audited(apart.problem, plan, time_limit_s)


def _audited(problem: Problem, plan: Plan, time_limit_s: float) -> OwnAudit:
    found = audit(problem, plan, time_limit_s=time_limit_s)
    moves = found.moves
    return OwnAudit(
        valid=found.valid,
        peak=found.peak,
        best=found.best,
        too_much_bytes=found.too_much_bytes,
        gap=found.gap,
        above_line=sum(len(pool.above_line) for pool in found.pools),
        fewest_moves=None if moves is None else len(moves.moved),
        at_least=None if moves is None else moves.at_least,
        proved=moves is not None and moves.proved,
    )


def lines(comparison: ModelComparison) -> list[str]:
    """Write the comparison for people, one line a fact."""
    rows: list[tuple[str, int | None, str]] = [("nothing shared", comparison.nothing_shared, "")]
    own, views = comparison.own, comparison.memplan_with_views
    if own is not None:
        rows.append((own.name, own.peak, own.message or ""))
    rows.append(("memplan", comparison.memplan.peak, comparison.memplan.status))
    if views is not None:
        rows.append(("memplan, views in place", views.peak, views.status))
    bound = (views or comparison.memplan).lower_bound
    rows.append(("lower bound", bound, ""))
    percent = "" if comparison.saved_percent is None else f"{comparison.saved_percent:.1f} %"
    rows.append(("saved", comparison.saved, percent))
    audited = comparison.own_audit
    if audited is not None and audited.fewest_moves:
        rule = "no fewer do" if audited.proved else f"at least {audited.at_least:,} must"
        valid = "" if audited.valid else "its own plan is not valid; "
        rows.append(("moves to the best", audited.fewest_moves, f"{valid}{audited.above_line:,} end above it; {rule}"))
    reordered = comparison.memplan_reordered
    if reordered is not None:
        moved = f"{reordered.status}; the order saves {comparison.saved_by_order or 0:,}"
        rows.append(("memplan, reordered", reordered.peak, moved))
    width = max(len(name) for name, _, _ in rows)
    counts = ["-" if count is None else f"{count:,}" for _, count, _ in rows]
    digits = max(map(len, counts))
    return [
        f"{name:<{width}}  {count:>{digits}}  {note}".rstrip()
        for (name, _, note), count in zip(rows, counts, strict=True)
    ]
