"""The comparison of plans in which buffers move with the plan in which none does."""

from collections.abc import Iterator
from math import fsum

from memplan.planner.errors import PlanError, count_text, excerpt
from memplan.planner.model.moving import moving_buffers
from memplan.planner.model.plan import MovedBytes, Plan
from memplan.planner.model.problem import Problem, replace_fields
from memplan.planner.verify.moved import buffer_costs, moved_bytes
from memplan.planner.verify.verifier import verify
from memplan.questions.question import Answer, Control
from memplan.solvers.portfolio.solve import solve

WITH, WITHOUT = "with moves", "without moves"


class PlanOfMoves(Answer):
    """A plan of a problem with moves."""

    name: str
    """`given`, `without moves`, `baseline`, or `with moves`."""
    status: str
    """The status of the plan, such as `optimal`."""
    cost: float | None
    """The cost of all accesses and copies, which is counted here; null without a plan."""
    cost_lower_bound: float | None
    """The lower bound on this cost; null if there is none."""
    pieces: int
    """The number of pieces."""
    copies: int
    """The number of copies."""
    moved_bytes: tuple[MovedBytes, ...]
    """The copied bytes by pair of pools."""


class MovesComparison(Answer):
    """The comparison of plans in which buffers move with the plan in which none does."""

    plans: tuple[PlanOfMoves, ...]
    """The plan that was given, if there is one; and those without moves, of the baseline, and with moves."""
    saved: float | None
    """The cost without moves minus that with moves; null if one of the two is unknown."""
    saved_percent: float | None
    """The same saving in percent of the cost without moves; null if it is unknown."""
    status: str
    """The status of the plan with moves."""


def compare_moves(problem: Problem, given: Plan | None, running: Control) -> MovesComparison:
    """Return the costs of a problem's plans with moves and without; `given` is a plan with moves.

    Raises PlanError if the given plan breaks a rule.
    """
    if given is not None and (violations := verify(problem, given)):
        raise PlanError(f"plan: must be a valid plan of the problem: {violations[0].message}")
    rows = [] if given is None else [_figures("given", problem, given)]
    # No copy arrives in time, so no buffer moves.
    longest = max((row.end - row.start for row in moving_buffers(problem)), default=0)
    still = replace_fields(problem, moves={"lead": longest + 1})
    for name, part in ((WITHOUT, 0.3), ("baseline", 0.3), (WITH, 1.0)):
        control = running.limit_to(running.remaining_s * part)
        found = solve(
            still if name == WITHOUT else problem,
            time_limit_s=control.remaining_s,
            solver="greedy" if name == "baseline" else "auto",
            start=given if name == WITH else None,
            control=control.solve_control(),
        )
        rows.append(_figures(name, problem, found))
    before, after = (next(row.cost for row in rows if row.name == name) for name in (WITHOUT, WITH))
    saved = None if before is None or after is None else before - after
    percent = None if saved is None or not before else round(100 * saved / before, 2)
    return MovesComparison(plans=tuple(rows), saved=saved, saved_percent=percent, status=rows[-1].status)


def _figures(name: str, problem: Problem, plan: Plan) -> PlanOfMoves:
    is_placed = len(plan.placements) > 0
    return PlanOfMoves.from_fields(
        plan,
        name=name,
        cost=fsum(buffer_costs(problem, plan).values()) if is_placed else None,
        pieces=len(plan.placements),
        copies=len(plan.copies),
        moved_bytes=moved_bytes(plan),
    )


def lines_of_moves(found: MovesComparison) -> Iterator[str]:
    """Yield a line for each plan, with its cost, bound, pieces and copied bytes, and a line with the saving."""
    costs = ["-" if row.cost is None else f"{row.cost:,.12g}" for row in found.plans]
    width = max(map(len, costs))
    for row, cost in zip(found.plans, costs, strict=True):
        bound = "" if row.cost_lower_bound is None else f", lower bound {row.cost_lower_bound:,.12g}"
        moved = (f"{each.bytes:,} from {excerpt(each.source)} to {excerpt(each.to)}" for each in row.moved_bytes)
        copied = f", bytes copied: {', '.join(moved)}" if row.moved_bytes else ""
        pieces = f"{count_text(row.pieces, 'piece')}{copied}" if row.pieces else "no plan"
        yield f"{row.name:<13}  cost {cost:>{width}}  {row.status}{bound}; {pieces}"
    if found.saved is not None:
        percent = "" if found.saved_percent is None else f" ({found.saved_percent:.1f} %)"
        yield f"{'saved':<13}  cost {found.saved:>{width},.12g}{percent}"
