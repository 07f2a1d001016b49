"""Instances that no part can be taken from: cut into blocks for a start, then planned by the portfolio.

The models of such an instance are its largest modules: buffers that all others conflict with alike. The plan of each
is cut by walls at every so many bytes, which no buffer crosses, and what lies between two walls is a block. Blocks are
few, so the best places of all of them are soon found. On a ring of five, halves need two and a half models where whole
ones need three.
"""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import combinations, product

import numpy as np

from memplan.planner.instance.compile import compile_problem
from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import I64
from memplan.planner.model.problem import ADDRESS_SPACE, Problem
from memplan.solvers.formulation.subinstance import part_of
from memplan.solvers.packing.place import drop
from memplan.solvers.portfolio import registry, stages
from memplan.solvers.search.incumbent import Search, SearchState
from memplan.solvers.search.meanwhile import meanwhile
from memplan.solvers.search.result import Assignment

NAME = "parts:blocks"
_LOOK_EVERY_S = 0.02
_MOST_MODELS = 32
_MOST_PIECES = 3
"""The most pieces of equal height that a model's plan is cut into; rings of five are best in two, of seven in three."""
_SHARE = 0.2
"""The part of the time left, or of the work, for all blocks; half of it is for their places."""


def plan_leaf(instance: Instance, near: list[int], search: Search, share: float) -> SearchState:
    """Return the search for a leaf, in a part of the time left of the search that it is a part of."""
    inner = _begun(instance, search, share)
    start_in_blocks(instance, near, inner)
    return _run(inner, search, "auto")


def start_in_blocks(instance: Instance, near: list[int], search: Search) -> None:
    """Offer plans whose models are in two pieces or in three; none where there are no models."""
    models = [members(each) for each in _modules(near)]
    if not 3 < len(models) < len(instance):
        return
    share = _SHARE / (2 * _MOST_PIECES * (len(models) + 1))
    owns = [alone(instance, each) for each in models]
    plans = [_run(_begun(own, search, share), search).best for own in owns]
    whole = [_Cut(own, plan, ADDRESS_SPACE - 1) for own, plan in zip(owns, plans, strict=True) if plan]
    if len(whole) < len(models):
        return
    for pieces in range(2, _MOST_PIECES + 1):
        cuts = [_cut(own, each, pieces, search, share) for own, each in zip(owns, whole, strict=True)]
        best = _stacked(cuts, models, near, search, share)
        # A cut model may take more than a whole one; of an odd ring it is often enough to cut one.
        for k in range(len(models)):
            if best is None or search.is_over or len(cuts[k].heights) == 1:
                continue
            fewer = [*cuts[:k], whole[k], *cuts[k + 1 :]]
            found = _stacked(fewer, models, near, search, share)
            if found is not None and found[0] <= best[0]:
                cuts, best = fewer, found
        pool = np.zeros(len(instance), dtype=np.int64)
        if best is not None and (offset := drop(instance, pool, best[1], search.flag)) is not None:
            search.offer(pool, offset, NAME)


def alone(instance: Instance, kept: list[int]) -> Instance:
    """Return the instance of some buffers in a pool without end."""
    chosen = np.zeros(len(instance), dtype=np.bool_)
    chosen[kept] = True
    own = part_of(instance, chosen)
    pool = replace(own.pools[0], capacity=(ADDRESS_SPACE - 1) // own.unit, is_limited=False)
    return replace(own, pools=(pool,), objective="peak")


def members(part: int) -> list[int]:
    """Return the positions of the bits of a part, rising."""
    return [i for i, bit in enumerate(reversed(f"{part:b}")) if bit == "1"]


class _Cut:
    """A model's plan, cut by walls that no buffer crosses: the block of each buffer, its offset there, and heights."""

    def __init__(self, own: Instance, found: Assignment, wall: int) -> None:
        block = found.offset // wall
        self.within = found.offset % wall
        kinds, self.block = np.unique(block, return_inverse=True)
        self.heights = [int((self.within + own.size)[block == kind].max()) for kind in kinds]


def _cut(own: Instance, whole: _Cut, pieces: int, search: Search, share: float) -> _Cut:
    """Cut a model's plan into pieces, planned anew behind walls; it stays whole where the time is too short."""
    wall = max(-(-whole.heights[0] // pieces), int(own.size.max()))
    if wall >= whole.heights[0]:
        return whole
    walls = np.full_like(own.page, wall)
    walls.setflags(write=False)
    found = _run(_begun(replace(own, page=walls), search, share), search, "local-search").best
    return whole if found is None else _Cut(own, found, wall)


def _stacked(
    cuts: list[_Cut], models: list[list[int]], near: list[int], search: Search, share: float
) -> tuple[int, I64] | None:
    """Return the end of all blocks, and the offsets of all buffers; None where the time was too short."""
    first = np.concatenate(([0], np.cumsum([len(each.heights) for each in cuts]))).tolist()
    blocks = [range(first[k], first[k + 1]) for k in range(len(cuts))]
    pairs = [pair for each in blocks for pair in combinations(each, 2)]
    for a, b in combinations(range(len(cuts)), 2):
        if near[models[a][0]] >> models[b][0] & 1:
            pairs += product(blocks[a], blocks[b])
    rows = [{"id": k, "size": height} for k, height in enumerate(height for each in cuts for height in each.heights)]
    instance = compile_problem(Problem(buffers=rows, conflicts=pairs))
    found = _run(_begun(instance, search, share), search).best
    if found is None:
        return None
    base = np.zeros(len(rows), dtype=np.int64)
    base[instance.source] = found.offset * instance.unit
    offset = np.zeros(len(near), dtype=np.int64)
    for k, (each, model) in enumerate(zip(cuts, models, strict=True)):
        offset[model] = base[first[k] + each.block] + each.within
    return int(found.score[-1]) * instance.unit, offset


def _begun(own: Instance, search: Search, share: float) -> SearchState:
    return SearchState(
        own,
        deadline=time.monotonic() + share * search.remaining_s,
        seed=search.seed,
        deterministic=search.deterministic,
        work_limit=max(1, int(share * search.work_limit)),
        trusted=frozenset(row.name for row in registry.SOLVERS if row.is_trusted),
    )


def _run(inner: SearchState, search: Search, solver: str = "exact") -> SearchState:
    """Search with a solver, until the search that it is a part of is over."""

    def stop_if_over() -> None:
        if search.is_over:
            inner.stop("cancelled")

    with meanwhile(stop_if_over, _LOOK_EVERY_S, "memplan-parts"):
        for line in stages.run(inner.instance, inner, stages.chosen(inner.instance, solver)):
            search.log(line)
    return inner


def _modules(near: list[int]) -> list[int]:
    """Return the largest sets of buffers that all others conflict with alike; none where they are too many.

    No part can be taken from the instance, so these sets have no buffer in common.
    """
    found: list[int] = []
    left = everything = (1 << len(near)) - 1
    while left and len(found) < _MOST_MODELS:
        mine = left & -left
        a, apart = mine.bit_length() - 1, everything & ~left
        for x in members(left & ~mine):
            if mine >> x & 1:
                continue
            grown = _closed(near, a, x, apart)
            if grown in (0, everything):
                apart |= 1 << x
            else:
                mine |= grown
        found.append(mine)
        left &= ~mine
    return [] if left else found


def _closed(near: list[int], a: int, x: int, apart: int) -> int:
    """Return the least set with both that all others conflict with alike; 0 once it has one of those apart."""
    inside, front = 1 << a, 1 << x
    while front:
        if front & apart:
            return 0
        inside |= front
        split = 0
        while front:
            split |= near[(front & -front).bit_length() - 1] ^ near[a]
            front &= front - 1
        front = split & ~inside
    return inside
