"""The independent verifier of plans: deliberately simple, and without code of the solvers.

A buffer is alive, with all its bytes, whenever one of its aliases is; an alias never conflicts with the buffer that
contains it. Zero-size buffers need a legal offset, but share no bytes and add nothing to a pool's use.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any

import numpy as np
import numpy.typing as npt

from memplan.planner.errors import excerpt
from memplan.planner.extensions import extensions
from memplan.planner.model.buffer_table import ABSENT, I64
from memplan.planner.model.columns import repeated_positions
from memplan.planner.model.placement_table import PlacementTable
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import ADDRESS_SPACE, Pool, Problem, replace_profile
from memplan.planner.verify.claims import claims, claims_without_placements
from memplan.planner.verify.moved import verify_moved
from memplan.planner.verify.overlaps import no_two_share_bytes
from memplan.planner.verify.placed import PlacedBuffers
from memplan.planner.verify.tie_rules import PAIR_RULES, groups_are_together, relatives_lie_where_they_must
from memplan.planner.verify.violation import Violation, buffer_violation

__all__ = ["MAX_LISTED", "Violation", "check_places", "verify"]

MAX_LISTED = 1000
"""The maximum number of listed violations of one kind, such as misplaced buffers, shared bytes or claims."""


def verify(problem: Problem, plan: Plan) -> tuple[Violation, ...]:
    """Return all violations of a plan from any source; empty for a valid plan. O(m log m) time for m lifetimes.

    A plan with status `infeasible` or `unknown` is valid if it places nothing. A plan's claims (peak, used, bounds,
    gap, cost) must agree with its placements; costs are computed as its profile requires. At most MAX_LISTED violations
    of each kind are listed, followed by one that states that there are more.
    """
    problem = replace_profile(problem, plan.profile) if len(problem.pools) > 1 else problem
    if plan.status in ("infeasible", "unknown") and len(plan.placements) == 0:
        return tuple(_limit_list(claims_without_placements(problem, plan)))
    if problem.moves:
        return tuple(chain.from_iterable(map(_limit_list, verify_moved(problem, plan, _plan_violations))))
    placed = PlacedBuffers.from_placements(problem, plan.placements)
    kinds = [_incomplete_placements(problem, plan.placements), check_places(problem, placed)]
    if problem.buffers.rules["relative"]:
        kinds.append(relatives_lie_where_they_must(problem, placed))
    if problem.together:
        kinds.append(groups_are_together(problem, placed))
    kinds.append(no_two_share_bytes(problem, placed))
    kinds += [rule(problem, placed) for field, rule in PAIR_RULES.items() if getattr(problem, field)]
    kinds.append(claims(problem, plan, placed))
    return tuple(chain.from_iterable(map(_limit_list, kinds)))


def _plan_violations(problem: Problem, plan: Plan) -> Iterator[Violation]:
    yield from verify(problem, plan)


def _limit_list(violations: Iterable[Violation]) -> list[Violation]:
    listed = list(islice(violations, MAX_LISTED + 1))
    if len(listed) > MAX_LISTED:
        listed[-1] = Violation("not-all-listed", f"only {MAX_LISTED} violations of this kind are listed")
    return listed


def _incomplete_placements(problem: Problem, placements: PlacementTable) -> Iterator[Violation]:
    """Yield a violation for each unknown pool, and for each unknown, repeated or missing buffer."""
    ids, pools = problem.buffers.ids, {pool.name for pool in problem.pools}
    for row, pool in enumerate(placements.pool_names):
        if pool not in pools:
            for k in np.flatnonzero(placements.pool == row).tolist():
                yield buffer_violation(
                    placements.ids[k], "unknown-pool", f"must be in a pool of the problem, got {excerpt(pool)}"
                )
    if placements.ids == ids:
        return
    expected, there = set(ids), set(placements.ids)
    for k, name in enumerate(placements.ids):
        if name not in expected:
            yield buffer_violation(name, "unknown-buffer", f"must be one of the problem's, got placements[{k}]")
    for first, k in repeated_positions(placements.ids):
        yield buffer_violation(
            placements.ids[k], "repeated-buffer", f"must be placed once, got placements[{first}] and [{k}]"
        )
    for name in ids:
        if name not in there:
            yield buffer_violation(name, "unplaced-buffer", "must be placed, got no placement")


def check_places(problem: Problem, placed: PlacedBuffers) -> Iterator[Violation]:
    """Yield the violations of rules that concern one placement, for all buffers that are in a pool."""
    for q, pool in enumerate(problem.pools):
        here = np.flatnonzero(placed.pool == q)
        for rule, bad, sentence in _pool_rule_breaks(problem, pool, here, placed):
            for i in here[bad].tolist() if bad.any() else ():
                at = f"got offset {placed.offset[i]} of {excerpt(pool.name)}"
                yield buffer_violation(problem.buffers.ids[i], rule, f"{sentence}, {at}")
    ids, size = problem.buffers.ids, problem.buffers.size
    for field, (word, wrong) in FIELD_RULES.items():
        for i, value in problem.buffers.rules[field].items():
            q = int(placed.pool[i])
            broken = wrong(value, int(placed.offset[i]), int(size[i]), problem.pools[q]) if q >= 0 else None
            if broken is not None:
                yield buffer_violation(ids[i], word, broken)
    for i in problem.buffers.aliases:
        root, distance = (int(values[i]) for values in placed.root_distances)
        if misplacement := placed.required_and_actual(i, root, distance):
            yield buffer_violation(
                ids[i], "alias-misplaced", f"must lie in {excerpt(ids[root])}, {', '.join(misplacement)}"
            )


def _page_border_sentence(page: int, offset: int, size: int, pool: Pool) -> str | None:
    """Return the error sentence for a buffer that crosses a page border; None if the buffer does not."""
    if (pool.base_address + offset) % page + size <= page:
        return None
    return f"must not cross a multiple of {page} among its addresses, got offset {offset} of {excerpt(pool.name)}"


def _remainder_sentence(rule: tuple[int, int], offset: int, size: int, pool: Pool) -> str | None:
    """Return the error sentence for an offset with a wrong remainder; None if the remainder is right."""
    modulus, remainder = rule
    if offset % modulus == remainder:
        return None
    return f"must have an offset that leaves {remainder} when divided by {modulus}, got offset {offset}"


def _end_sentence(most: int, offset: int, size: int, pool: Pool) -> str | None:
    """Return the error sentence for a buffer that ends above its last allowed offset; None if it does not."""
    if offset + size <= most:
        return None
    return f"must end at {most} or below, got offset {offset} of {excerpt(pool.name)} with {size} bytes"


def _start_sentence(least: int, offset: int, size: int, pool: Pool) -> str | None:
    """Return the error sentence for a buffer that begins below its first allowed offset; None if it does not."""
    if offset >= least:
        return None
    return f"must begin at {least} or above, got offset {offset} of {excerpt(pool.name)}"


FIELD_RULES: Mapping[str, tuple[str, Callable[[Any, int, int, Pool], str | None]]] = {
    "no_cross": ("straddles", _page_border_sentence),
    "offset_mod": ("wrong-remainder", _remainder_sentence),
    "end_at_most": ("too-high", _end_sentence),
    "start_at_least": ("too-low", _start_sentence),
    **extensions("checkers"),
}
"""For each rare field of buffers, the rule's word, and the function that checks an offset in a pool."""


def _pool_rule_breaks(
    problem: Problem, pool: Pool, here: I64, placed: PlacedBuffers
) -> Iterator[tuple[str, npt.NDArray[np.bool_], str]]:
    """Yield (name of a rule, mask of the buffers `here` that break it, sentence) for each rule on offsets in a pool."""
    table = problem.buffers
    offset, end = placed.offset[here], placed.end[here]
    if len(table.pool_choices) > 1:
        is_open = np.array([not names or pool.name in names for names in table.pool_choices], dtype=np.bool_)
        yield "pool-not-allowed", ~is_open[table.pool_choice[here]], "must be in a pool that it names"
    if forbidden := [i for i, names in table.rules["forbid_pools"].items() if pool.name in names]:
        yield "pool-not-allowed", np.isin(here, np.array(forbidden)), "must be in a pool that it does not forbid"
    steps = ((table.alignment[here], "its"), (np.array([pool.alignment]), "its pool's"))
    for step, whose in ((step, whose) for step, whose in steps if (step > 1).any()):
        # Alignments are at most 2^62, so the sum of two remainders stays below 2^63 and fits int64.
        address = (pool.base_address % step + offset % step) % step if pool.base_address else offset % step
        base = f" from base address {pool.base_address}" if pool.base_address else ""
        yield "misaligned", address != 0, f"must have an address{base} that {whose} alignment divides"
    capacity = ADDRESS_SPACE - 1 if pool.size is None else pool.size
    yield "past-capacity", offset < 0, "must not start below its pool"
    yield "past-capacity", (offset >= 0) & (end > np.uint64(capacity)), f"must end at or below {capacity}"
    pin = table.offset[here]
    yield "pin-missed", (pin != ABSENT) & (offset != pin), "must be at its pinned offset"
    ranges = sorted((low, low + width) for low, width in pool.reserved if width > 0)
    if ranges:
        lows, highs = np.array(ranges, dtype=np.uint64).T
        # Ranges are sorted by start, so a buffer first meets one where the largest end so far exceeds its offset.
        first = np.searchsorted(np.maximum.accumulate(highs), offset.astype(np.uint64), side="right")
        low = np.append(lows, np.uint64(2**64 - 1))[first]
        yield "reserved-range", (table.size[here] > 0) & (low < end), "must not overlap reserved ranges"
