"""Comparison of a plan with the best one: the excess, the buffers above the best peak, and the fewest moves needed."""

from __future__ import annotations

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
    """A pool in a plan compared with the best: both uses in bytes, and the buffers above the best use."""

    name: str
    used: int
    best: int | None
    above_line: Ids


class FewestMoves(Answer):
    """The buffers that must move to reach the best peak; `proved` means that no fewer moves are enough.

    Buffers of one `same_offset` group count as one. `not_tried` says why no search for the fewest moves was made.
    """

    count: int
    moved: Ids
    at_least: int
    proved: bool
    not_tried: str | None = Field(None, exclude_if=lambda reason: reason is None)


class BesideBest(Answer):
    """A plan compared with the best one, in bytes; `gap` is the relative distance of its peak from the lower bound.

    `gap` and `too_much_bytes` are None for an invalid plan, whose peak is not comparable. `best` is the least peak
    found, and `status` that of its plan. `peak` is None if buffers are not placed, and `best` and the moves if no plan
    was found. `plan` has the best peak and keeps most places."""

    peak: int | None
    best: int | None
    lower_bound: int | None
    gap: float | None
    too_much_bytes: int | None
    status: str
    pools: tuple[PoolBeside, ...]
    fewest_moves: FewestMoves | None
    plan: Plan | None = Field(None, exclude_if=lambda plan: plan is None)


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
    """Return pool `q`'s bytes in a plan and in the best plan, and the buffers that end above the best plan's."""
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
    """Return the first ids as text, followed by the number of ids that are not shown."""
    more = f", and {len(ids) - MOST_NAMED:,} more" if len(ids) > MOST_NAMED else ""
    return ", ".join(excerpt(name) for name in ids[:MOST_NAMED]) + more
