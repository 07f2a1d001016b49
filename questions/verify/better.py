"""Comparison of a plan with the best one: the excess, the buffers above the best peak, and the fewest moves needed."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from pydantic import Field

from memplan.planner.errors import count_text, excerpt
from memplan.planner.model.plan import Ids, Plan
from memplan.planner.model.problem import Problem
from memplan.planner.model.sizes import gap_text
from memplan.planner.verify.placed import PlacedBuffers
from memplan.questions.plan.replanning.replan import replan
from memplan.questions.question import Answer
from memplan.solvers.portfolio.options import DEFAULT_TIME_LIMIT_S
from memplan.solvers.search.control import Control

MOST_NAMED = 10
"""The maximum number of buffers named in a line; JSON names all buffers."""


class PoolBeside(Answer):
    """The use of a pool, compared with the best plan."""

    name: str
    """The name of the pool."""
    used: int
    """The bytes that the plan uses."""
    best: int | None
    """The bytes that the best plan uses; null if none was found."""
    above_line: Ids
    """The names of the buffers that end above `best`, highest first."""


class FewestMoves(Answer):
    """The buffers that must move to reach the best peak."""

    count: int
    """Their number; those of one `same_offset` group count as one."""
    moved: Ids
    """Their names."""
    at_least: int
    """The best peak takes at least this many moves."""
    proved: bool
    """True if no fewer moves are enough."""
    not_tried: str | None = Field(None, exclude_if=lambda reason: reason is None)
    """Why the fewest moves were not searched for, such as a package that is not installed; left out if they were."""


class BesideBest(Answer):
    """A plan compared with the best one."""

    peak: int | None
    """The peak of the plan, in bytes; null if buffers are not placed."""
    best: int | None
    """The least peak found, in bytes; null if no plan was found."""
    lower_bound: int | None
    """No plan has a smaller peak than this, in bytes; null if no bound is known."""
    gap: float | None
    """How far the peak is above the lower bound, as a fraction; null for an invalid plan, and if no bound above
    0 is known."""
    too_much_bytes: int | None
    """`peak` - `best`; null for an invalid plan, and if one of both is unknown."""
    status: str
    """The status of the best plan, such as `optimal`."""
    pools: tuple[PoolBeside, ...]
    """The use of each pool by both plans."""
    fewest_moves: FewestMoves | None
    """The buffers that must move to reach the best peak; null if no plan was found."""
    plan: Plan | None = Field(None, exclude_if=lambda plan: plan is None)
    """A plan with the best peak that keeps most places; left out unless the option `with_plans` is given."""


def compare_with_best(
    problem: Problem,
    plan: Plan,
    is_valid: bool = True,
    *,
    time_limit_s: float = DEFAULT_TIME_LIMIT_S,
    control: Control = Control(),
) -> BesideBest:
    """Return the comparison of a plan with the best plan found in the time limit; the plan's claims are ignored.

    The plan's peak is computed from its placements; it is None if a buffer of size above 0 has no placement.
    """
    placed = PlacedBuffers.from_placements(problem, plan.placements)
    has_bytes = problem.buffers.size > 0
    is_whole = bool((placed.pool[has_bytes] >= 0).all()) and bool((placed.offset >= 0).all())
    # A zero-size buffer may have any offset but uses no bytes, so its end counts as 0.
    ends = np.where(has_bytes, placed.end, np.uint64(0))
    used = list(placed.pool_uses().values())
    # With eps = 0, the replanned peak must be the best peak itself, not one near the best.
    better = replan(problem, plan, eps=0, time_limit_s=time_limit_s, control=control)
    used_by_name = {use.name: use.used for use in better.pools} if len(better.placements) else {}
    peak = sum(used) if is_whole else None
    best = better.peak if better.kept is None else better.kept.peak_without_keeping
    return BesideBest(
        peak=peak,
        best=best,
        lower_bound=better.lower_bound,
        gap=None if peak is None or not better.lower_bound or not is_valid else peak / better.lower_bound - 1,
        too_much_bytes=None if peak is None or best is None or not is_valid else peak - best,
        status=better.status,
        pools=tuple(
            _compared_pool(problem, placed, ends, q, used[q], used_by_name.get(pool.name))
            for q, pool in enumerate(problem.pools)
        ),
        fewest_moves=_fewest_moves(problem, plan, better),
        plan=better if len(better.placements) else None,
    )


def _fewest_moves(problem: Problem, plan: Plan, better: Plan) -> FewestMoves | None:
    """Return the buffers that must move from a plan to a better one; None if no search for few moves was made."""
    places = better.kept
    if places is None:
        return None
    table, old = problem.buffers, plan.placements
    one, moved = {name: ids[0] for ids in problem.same_offset for name in ids}, []
    for row in better.placements:
        i = problem.index[row.id]
        k = old.row_of.get(row.id)
        if k is not None and i not in table.aliases and table.size[i] > 0 and old[k] != row:
            moved.append(row.id)
    return FewestMoves(
        count=len({one.get(name, name) for name in moved}),
        moved=tuple(moved),
        at_least=places.least_moves,
        proved=places.proved,
        not_tried=places.not_tried,
    )


def _compared_pool(
    problem: Problem, placed: PlacedBuffers, ends: npt.NDArray[np.uint64], q: int, used: int, best: int | None
) -> PoolBeside:
    root = placed.root == np.arange(len(placed.root))
    here = np.flatnonzero((placed.pool == q) & root & (problem.buffers.size > 0))
    order = here[np.argsort(-ends[here].astype(np.int64), kind="stable")]
    above = () if best is None else tuple(problem.buffers.ids[i] for i in order.tolist() if int(ends[i]) > best)
    return PoolBeside(name=problem.pools[q].name, used=used, best=best, above_line=above)


def lines_beside_best(found: BesideBest) -> Iterator[str]:
    """Yield the text lines of a comparison with the best plan, one line for each fact."""
    best = "unknown" if found.best is None else f"{found.best:,}"
    bound = "unknown" if found.lower_bound is None else f"{found.lower_bound:,}"
    peak = "unknown, as some buffers are not placed" if found.peak is None else f"{found.peak:,} bytes"
    if found.peak is not None and found.best is not None and found.too_much_bytes is None:
        peak += " of a plan that is not valid"
    gap = "" if found.gap is None else f", gap {gap_text(found.gap)}"
    yield f"peak {peak}; best {best}, lower bound {bound}{gap}"
    if found.too_much_bytes:
        yield f"{found.too_much_bytes:+,} bytes against the best plan found"
    for pool in found.pools:
        if pool.above_line:
            above = f"{count_text(len(pool.above_line), 'buffer')} above {pool.best:,}"
            yield f"{pool.name}: {above}: {_names_text(pool.above_line)}"
    if (moves := found.fewest_moves) is not None and moves.moved:
        rule = "no fewer are enough" if moves.proved else f"at least {moves.at_least:,} must"
        yield f"the best peak takes {count_text(moves.count, 'move')} ({rule}): {_names_text(moves.moved)}"
        if moves.not_tried is not None:
            yield f"not tried: {moves.not_tried}"


def _names_text(ids: tuple[int | str, ...]) -> str:
    more = f", and {len(ids) - MOST_NAMED:,} more" if len(ids) > MOST_NAMED else ""
    return ", ".join(excerpt(name) for name in ids[:MOST_NAMED]) + more
