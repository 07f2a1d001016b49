"""Findings about plans of other systems, which their planners are known to get wrong."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator
from itertools import chain, islice
from math import lcm

import numpy as np

from memplan.planner.errors import shown
from memplan.planner.model.finding import MAX_LISTED, Finding
from memplan.planner.model.placement_table import PlacementTable
from memplan.planner.model.problem import Pool, Problem

Id = int | str
_LOOKS, _NEAREST = 1_000_000, 1_000
"""The numbers of buffers below others that are looked at, in all and for one."""


def lint_plan(problem: Problem, placements: PlacementTable) -> tuple[Finding, ...]:
    """Return where buffers lie as only a neighbour's alignment explains; at most MAX_LISTED findings.

    TVM's planners round the end of what lies below up to the alignment of that, not to the buffer's own. So a buffer
    may lie where it must not, or higher than it need to. The plan may have any violations.
    """
    return tuple(islice(_rounded_to_a_neighbour(problem, placements), MAX_LISTED))


def _rounded_to_a_neighbour(problem: Problem, placements: PlacementTable) -> Iterator[Finding]:
    ids, looks, rivals = problem.buffers.ids, _LOOKS, _Rivals(problem)
    free = _placed_by_alignment_alone(problem)
    alignments = set(problem.buffers.alignment.tolist())
    for pool in problem.pools:
        if len({lcm(each, pool.alignment) for each in alignments}) < 2:
            continue  # what all are rounded to
        rows = _rows(problem, placements, pool)
        steps = {i: lcm(int(problem.buffers.alignment[i]), pool.alignment) for _, _, i in rows}
        widest = max(steps.values(), default=1)
        ends = sorted((end, i) for _, end, i in rows)
        for at, _, i in rows:
            lowest: int | None = None  # above the highest that it conflicts with
            below = bisect(ends, (at, len(ids))) if i in free else 0
            for end, j in reversed(ends[max(0, below - _NEAREST) : below]):
                looks -= 1
                if looks < 0 or end <= at - widest or lowest == at:
                    break
                if not rivals.conflict(i, j):
                    continue
                if lowest is None:
                    lowest = _rounded(end, steps[i], pool)
                if lowest != at and _rounded(end, steps[j], pool) == at:
                    yield _finding(pool, (ids[i], at, steps[i]), (ids[j], end, steps[j]), lowest)
                    break


def _finding(pool: Pool, upper: tuple[Id, int, int], lower: tuple[Id, int, int], lowest: int) -> Finding:
    """Say that the upper buffer (id, offset, alignment) lies where the lower one ends (id, end, alignment)."""
    (name, at, step), (other, end, others_step) = upper, lower
    message = (
        f"buffer {shown(name)}: lies at {at} of {shown(pool.name)}, the end of {shown(other)} ({end}) rounded up to the"
        f" alignment of that ({others_step}); its own ({step}) asks for {lowest}"
    )
    return Finding("neighbours-alignment", message, (name, other))


def _rounded(end: int, step: int, pool: Pool) -> int:
    """Return the first offset from `end` on whose address `step` divides."""
    return end + -(pool.base_address + end) % step


def _rows(problem: Problem, placements: PlacementTable, pool: Pool) -> list[tuple[int, int, int]]:
    """Return (offset, end, buffer) of what lies in a pool with a room of its own."""
    table, roots = problem.buffers, problem.roots
    rows = []
    for name, q, offset in zip(placements.ids, placements.pool.tolist(), placements.offset.tolist(), strict=True):
        i = problem.index.get(name)
        if i is not None and i not in roots and table.size[i] and placements.pool_names[q] == pool.name:
            rows.append((offset, offset + int(table.size[i]), i))
    return rows


def _placed_by_alignment_alone(problem: Problem) -> set[int]:
    """Return the buffers that nothing but alignment and what they conflict with keeps from lying lower."""
    table = problem.buffers
    tied = {problem.root_of(name) for use in problem.bank for name in use.buffers}
    pairs = chain(problem.may_share, *(row.pairs for row in problem.reuse))
    tied.update(problem.root_of(name) for pair in pairs for name in pair)
    tied.update(
        problem.rigid, table.rules["no_cross"], table.rules["offset_mod"], (root for root, _ in problem.roots.values())
    )
    return set(np.flatnonzero(table.offset < 0).tolist()) - tied


class _Rivals:
    """The buffers that must lie apart, by lifetimes (with those of their aliases) or by name."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.pairs = {frozenset((problem.root_of(a), problem.root_of(b))) for a, b in problem.conflicts}
        self.aliases: dict[int, list[int]] = {}
        for i, (root, _) in problem.roots.items():
            self.aliases.setdefault(root, []).append(i)

    def conflict(self, i: int, j: int) -> bool:
        """Return True if two buffers must not share bytes."""
        mine, others = self._lifetimes(i), self._lifetimes(j)
        is_alive = any(low < until and since < high for low, high in mine for since, until in others)
        return is_alive or frozenset((i, j)) in self.pairs

    def _lifetimes(self, i: int) -> list[tuple[int, int]]:
        members = (i, *self.aliases.get(i, ()))
        return [span for member in members for span in self.problem.buffers.intervals(member)]
