"""Conversion of a problem to an instance, and of an assignment back to placements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from memplan.planner.errors import ProblemError
from memplan.planner.instance.columns import Axis, blank, common_unit, scale_column
from memplan.planner.instance.instance import COLUMNS, I64_MAX, ON, CompiledPool, Instance
from memplan.planner.instance.legal_offsets import LegalPlaces, Ranges, families, last_end, legal_places, merge_ranges
from memplan.planner.instance.objective import used_ends
from memplan.planner.model.buffer_table import ABSENT, I64, BufferTable, column, freeze
from memplan.planner.model.constraints.kept import KeptBuffers, first_of_equals
from memplan.planner.model.constraints.kinds import columns_of
from memplan.planner.model.placement_table import PlacementTable
from memplan.planner.model.problem import Problem

MOST_CELLS = 20_000_000
"""The most buffers times pools: some columns have a number for each."""


def compile_problem(problem: Problem, exact: I64 | None = None) -> Instance:
    """Compile a problem for the solvers. O(m log m) time and linear memory; only pairs that are named are listed.
    Raises ProblemError for more than `MOST_CELLS` buffers times pools.

    The unit also divides the offsets `exact`, in bytes, which so can be written in units.
    """
    table = problem.buffers
    if (cells := len(table) * len(problem.pools)) > MOST_CELLS:
        raise ProblemError(f"pools: must be at most {MOST_CELLS} times buffers, got {cells}")
    family = families(problem)
    is_root = family == np.arange(len(table))
    source = np.flatnonzero((table.size > 0) & is_root)
    position = np.full(len(table), ABSENT)
    position[source] = np.arange(len(source))
    first, start, end, time = _live_sets(*_lifetimes(table, position[family], len(source)), len(source))
    places = legal_places(problem)
    unplaceable = np.flatnonzero(~places.allowed.any(axis=0) & is_root)
    places = places.restrict(source) if len(source) < len(table) else places
    buffers = KeptBuffers(
        problem, source, position, position[family], first, start, end, places.allowed, places.colocation
    )
    columns: dict[str, Any] = {
        "objective": problem.objective,
        "source": source,
        "size": table.size[source],
        "pin": places.pin,
        "hint": table.hint[source],
        "traffic": _traffic(problem)[source],
        "allowed": places.allowed,
        # Neutral where a pool is closed, so that offsets that no buffer can use do not make the unit finer.
        "alignment": np.where(places.allowed, places.alignment, 1),
        "lowest": np.where(places.allowed, places.lowest, 0),
        "highest": np.where(places.allowed, places.highest, I64_MAX),
        "first": first,
        "start": start,
        "end": end,
        "live_set_time": time,
        "unplaceable": tuple(unplaceable.tolist()),
    }
    columns |= columns_of(buffers) | (_pages(problem, places) if places.page.any() else {})
    if places.barred_ranges:
        columns["barred"] = np.where(places.allowed, places.barred, ABSENT)
    declared = {name: COLUMNS[name] for name in columns}
    banks = [
        (pool.bank_size, pool.base_address % pool.bank_size) if pool.bank_size else (0, 0) for pool in problem.pools
    ]
    barred_ends = np.array([high for ranges in places.barred_ranges for _, high in ranges], dtype=np.int64)
    more = (*places.reserved, np.array(banks), barred_ends, *(() if exact is None else (exact,)))
    unit = common_unit(declared, columns, more)
    pools = _pools(problem, places, banks, unit)
    scaled = {name: scale_column(column, columns[name], unit) for name, column in declared.items()}
    if "barred" in scaled:
        scaled |= _barred_columns(scaled["barred"], places.barred_ranges, unit)
    for name in COLUMNS.keys() - scaled.keys() - {*ON[Axis.WHOLE], *ON[Axis.POOL]}:
        scaled[name] = freeze(blank(COLUMNS[name], len(source), len(pools)))
    return Instance(unit=unit, pools=pools, **scaled)


def _pools(problem: Problem, places: LegalPlaces, banks: list[tuple[int, int]], unit: int) -> tuple[CompiledPool, ...]:
    """Return the pools in units; `banks` are the width and the shift of each one's, in bytes."""
    return tuple(
        CompiledPool(
            pool.name,
            last_end(pool) // unit,
            pool.size is not None,
            column(reserved // unit),
            pool.cost,
            width // unit,
            shift // unit,
        )
        for pool, reserved, (width, shift) in zip(problem.pools, places.reserved, banks, strict=True)
    )


def lift(problem: Problem, instance: Instance, pool: I64, offset: I64) -> PlacementTable:
    """Return the placements for an assignment to an instance's buffers, in the problem's order and in bytes.

    Buffers of no bytes go where they do not raise a peak, where there is such a place; aliases go into their buffers.
    """
    table = problem.buffers
    pools, offsets = np.zeros(len(table), dtype=np.int64), np.zeros(len(table), dtype=np.int64)
    pools[instance.source], offsets[instance.source] = pool, offset * instance.unit
    # Buffers of no bytes are in no instance (decision 004), but a plan places them as well.
    empty = (table.size == 0).nonzero()[0]
    if len(empty) and len(empty := empty[families(problem)[empty] == empty]):
        ends = np.array(used_ends(instance, pool, offset)) * instance.unit
        places = legal_places(problem)
        home = np.full(len(table), ABSENT)
        home[places.colocation[instance.source]] = pool
        pools[empty], offsets[empty] = _place_empty(places, empty, ends, home[places.colocation[empty]])
    for i, (root, distance) in problem.roots.items() if table.aliases else ():
        pools[i], offsets[i] = pools[root], offsets[root] + distance
    names = tuple(pool.name for pool in problem.pools)
    return PlacementTable(table.ids, names, column(pools), column(offsets))


def _place_empty(places: LegalPlaces, empty: I64, used: I64, home: I64) -> tuple[I64, I64]:
    """Place buffers of no bytes: in the first pool whose peak they leave alone, else as low as can be.

    A colocation group gets the pool of its other buffers (`home`; ABSENT: none yet), or the pool where its highest end
    is lowest.
    """
    offset = places.lowest[:, empty]
    rank = np.where(offset <= used[:, None], 0, 1 + offset.astype(np.float64))
    rank[~places.allowed[:, empty]] = np.inf
    # A group that must be in one pool follows its members that have bytes.
    rank[(home >= 0) & (np.arange(len(rank))[:, None] != home)] = np.inf
    colocation = first_of_equals(places.colocation[empty])
    worst = np.zeros_like(rank.T)
    np.maximum.at(worst, colocation, rank.T)
    pool = worst[colocation].argmin(axis=1)
    return pool, offset[pool, np.arange(len(empty))]


def _pages(problem: Problem, places: LegalPlaces) -> dict[str, I64]:
    """Return `page` and `page_shift` in bytes; 0 where a buffer has no such rule or may not use the pool."""
    page, base = np.where(places.allowed, places.page, 0), np.array([pool.base_address for pool in problem.pools])
    return {"page": page, "page_shift": np.where(page > 0, base[:, None] % np.maximum(page, 1), 0)}


def _barred_columns(number: I64, ranges: Sequence[Ranges], unit: int) -> dict[str, Any]:
    """Return `barred` and `barred_ranges` in units; the numbers are those of the ranges in ascending order."""
    scaled = [merge_ranges((-(-low // unit), high // unit) for low, high in rows) for rows in ranges]
    kinds = sorted({scaled[k] for k in set(number.ravel().tolist()) - {ABSENT}} - {()})
    numbers = np.array([*(kinds.index(rows) if rows in kinds else ABSENT for rows in scaled), ABSENT])
    return {
        "barred": freeze(numbers[number]),
        "barred_ranges": tuple(column(np.array(rows, dtype=np.int64).reshape(-1, 2)) for rows in kinds),
    }


def _traffic(problem: Problem) -> I64:
    """Return the bytes that each family moves: the traffic of its buffers that have bytes, at most 2^63 - 1."""
    table = problem.buffers
    traffic = np.where(table.size == 0, 0, np.where(table.traffic >= 0, table.traffic, table.size))
    for i, (root, _) in problem.roots.items() if table.aliases else ():
        traffic[root] = min(int(traffic[root]) + int(traffic[i]), I64_MAX)
    return traffic


def _lifetimes(table: BufferTable, home: I64, n: int) -> tuple[I64, I64, I64]:
    """Return the lifetimes of the kept buffers as (buffer, start, end), sorted by these, disjoint and apart.

    `home` is the kept buffer that each buffer lives in, `n` how many there are.
    """
    counts = np.diff(table.first)
    if n == len(home) == len(table.start) and (counts == 1).all():
        return home, table.start, table.end
    lifetime_buffer = home[np.repeat(np.arange(len(table)), counts)]
    has_lifetime = lifetime_buffer >= 0
    lifetime_buffer, start, end = lifetime_buffer[has_lifetime], table.start[has_lifetime], table.end[has_lifetime]
    if len(lifetime_buffer) == 0 or np.bincount(lifetime_buffer).max() == 1:
        order = np.argsort(lifetime_buffer, kind="stable")
        return lifetime_buffer[order], start[order], end[order]
    order = np.lexsort((start, lifetime_buffer))
    merged: list[tuple[int, int, int]] = []
    for i, low, high in zip(lifetime_buffer[order].tolist(), start[order].tolist(), end[order].tolist(), strict=True):
        if merged and merged[-1][0] == i and low <= merged[-1][2]:
            merged[-1] = (i, merged[-1][1], max(high, merged[-1][2]))
        else:
            merged.append((i, low, high))
    rows = np.array(merged, dtype=np.int64)
    return rows[:, 0], rows[:, 1], rows[:, 2]


def _live_sets(lifetime_buffer: I64, start: I64, end: I64, n: int) -> tuple[I64, I64, I64, I64]:
    """Cut time into maximal live sets, given the lifetimes of `n` buffers, sorted by buffer.

    Returns the first lifetime of each buffer, (n + 1,), the first set of each lifetime and the set after it, (m,), and
    times.
    """
    first = np.searchsorted(lifetime_buffer, np.arange(n + 1))
    return first, *live_sets(start, end)


def live_sets(start: I64, end: I64) -> tuple[I64, I64, I64]:
    """Cut time into maximal live sets, given lifetimes.

    Returns each lifetime's first set and the set after its last, and a time in each set. Going through all starts and
    ends in time order, ends first, a set is a run of starts that an end follows; so the live set of a start is the
    number of sets that are closed before it.
    """
    m = len(start)
    order = np.argsort(np.concatenate((end, start)), kind="stable")
    starts = order >= m
    closes = starts[:-1] & ~starts[1:]
    live_set = np.zeros(2 * m, dtype=np.int64)
    live_set[order[1:]] = np.cumsum(closes)
    return live_set[m:].copy(), live_set[:m].copy(), start[order[:-1][closes] - m]
