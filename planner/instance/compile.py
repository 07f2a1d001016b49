"""Conversion of a problem to an instance, and of a solver's assignment back to placements."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from memplan.planner.errors import ProblemError
from memplan.planner.instance.columns import Axis, common_unit, default_column, scale_column
from memplan.planner.instance.instance import COLUMNS, I64_MAX, ON, CompiledPool, Instance
from memplan.planner.instance.legal_offsets import LegalPlaces, Ranges, families, last_end, legal_places, merge_ranges
from memplan.planner.instance.objective import used_ends
from memplan.planner.model.buffer_table import ABSENT, I64, BufferTable, column, freeze
from memplan.planner.model.constraints.kept import KeptBuffers, first_of_equals
from memplan.planner.model.constraints.kinds import columns_of
from memplan.planner.model.moving import refuse_moves
from memplan.planner.model.placement_table import PlacementTable
from memplan.planner.model.problem import Problem

MOST_CELLS = 20_000_000
"""The maximum product of buffers and pools, as some columns have an entry for each combination."""


def compile_problem(problem: Problem, exact: I64 | None = None) -> Instance:
    """Compile a problem to its instance, in O(m log m) time and linear memory for m lifetimes.

    The unit also divides the offsets `exact`, given in bytes, so that they can be converted to units. Raises
    ProblemError if the product of buffers and pools exceeds `MOST_CELLS`.
    """
    refuse_moves(problem, "here, where each buffer stays in one place")
    table = problem.buffers
    if (cells := len(table) * len(problem.pools)) > MOST_CELLS:
        raise ProblemError(f"pools: must have at most {MOST_CELLS} pairs of a pool and a buffer, got {cells}")
    family = families(problem)
    is_root = family == np.arange(len(table))
    source = np.flatnonzero((table.size > 0) & is_root)
    position = np.full(len(table), ABSENT)
    position[source] = np.arange(len(source))
    first, start, end, time = _live_set_columns(*_merged_lifetimes(table, position[family], len(source)), len(source))
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
        "traffic": _family_traffic(problem)[source],
        "allowed": places.allowed,
        # Pools that a buffer may not use get neutral values, so that their offsets do not make the unit smaller.
        "alignment": np.where(places.allowed, places.alignment, 1),
        "lowest": np.where(places.allowed, places.lowest, 0),
        "highest": np.where(places.allowed, places.highest, I64_MAX),
        "first": first,
        "start": start,
        "end": end,
        "live_set_time": time,
        "unplaceable": tuple(unplaceable.tolist()),
    }
    columns |= columns_of(buffers) | (_page_columns(problem, places) if places.page.any() else {})
    if places.barred_ranges:
        columns["barred"] = np.where(places.allowed, places.barred, ABSENT)
    declared = {name: COLUMNS[name] for name in columns}
    banks = [
        (pool.bank_size, pool.base_address % pool.bank_size) if pool.bank_size else (0, 0) for pool in problem.pools
    ]
    barred_ends = np.array([high for ranges in places.barred_ranges for _, high in ranges], dtype=np.int64)
    more = (*places.reserved, np.array(banks), barred_ends, *(() if exact is None else (exact,)))
    unit = common_unit(declared, columns, more)
    pools = _compiled_pools(problem, places, banks, unit)
    scaled = {name: scale_column(column, columns[name], unit) for name, column in declared.items()}
    if "barred" in scaled:
        scaled |= _barred_columns(scaled["barred"], places.barred_ranges, unit)
    for name in COLUMNS.keys() - scaled.keys() - {*ON[Axis.WHOLE], *ON[Axis.POOL]}:
        scaled[name] = freeze(default_column(COLUMNS[name], len(source), len(pools)))
    return Instance(unit=unit, pools=pools, **scaled)


def _compiled_pools(
    problem: Problem, places: LegalPlaces, banks: list[tuple[int, int]], unit: int
) -> tuple[CompiledPool, ...]:
    """Return the pools of an instance, in units; `banks` has the width and shift of each pool's banks in bytes."""
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
    """Return the placements for an assignment of an instance's buffers, in bytes and in the problem's order.

    Aliases are placed inside the buffers that contain them. Zero-size buffers are placed where they raise no peak, if
    possible.
    """
    table = problem.buffers
    pools, offsets = np.zeros(len(table), dtype=np.int64), np.zeros(len(table), dtype=np.int64)
    pools[instance.source], offsets[instance.source] = pool, offset * instance.unit
    # Instances leave out zero-size buffers (decision 004), but a plan must place them, so place them here.
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
    """Return the arrays (pool, offset) that place zero-size buffers.

    A buffer is put into the first allowed pool whose peak it does not raise, or else into the pool where its offset is
    lowest. A colocation group (buffers that must be in one pool) is put into the pool of its non-empty buffers (`home`;
    ABSENT if none is placed), or else into the pool where its highest offset is lowest.
    """
    offset = places.lowest[:, empty]
    rank = np.where(offset <= used[:, None], 0, 1 + offset.astype(np.float64))
    rank[~places.allowed[:, empty]] = np.inf
    # If a colocation group also has non-empty members, its zero-size members must go into their pool.
    rank[(home >= 0) & (np.arange(len(rank))[:, None] != home)] = np.inf
    colocation = first_of_equals(places.colocation[empty])
    worst = np.zeros_like(rank.T)
    np.maximum.at(worst, colocation, rank.T)
    pool = worst[colocation].argmin(axis=1)
    return pool, offset[pool, np.arange(len(empty))]


def _page_columns(problem: Problem, places: LegalPlaces) -> dict[str, I64]:
    page, base = np.where(places.allowed, places.page, 0), np.array([pool.base_address for pool in problem.pools])
    return {"page": page, "page_shift": np.where(page > 0, base[:, None] % np.maximum(page, 1), 0)}


def _barred_columns(number: I64, ranges: Sequence[Ranges], unit: int) -> dict[str, Any]:
    """Return the columns `barred` and `barred_ranges` in units, with the distinct sets of ranges in ascending order.

    `ranges` has sets of barred offsets in bytes, and `number` the index of each buffer's set in each pool, or ABSENT.
    """
    scaled = [merge_ranges((-(-low // unit), high // unit) for low, high in rows) for rows in ranges]
    kinds = sorted({scaled[k] for k in set(number.ravel().tolist()) - {ABSENT}} - {()})
    numbers = np.array([*(kinds.index(rows) if rows in kinds else ABSENT for rows in scaled), ABSENT])
    return {
        "barred": freeze(numbers[number]),
        "barred_ranges": tuple(column(np.array(rows, dtype=np.int64).reshape(-1, 2)) for rows in kinds),
    }


def _family_traffic(problem: Problem) -> I64:
    table = problem.buffers
    traffic = np.where(table.size == 0, 0, np.where(table.traffic >= 0, table.traffic, table.size))
    for i, (root, _) in problem.roots.items() if table.aliases else ():
        traffic[root] = min(int(traffic[root]) + int(traffic[i]), I64_MAX)
    return traffic


def _merged_lifetimes(table: BufferTable, home: I64, n: int) -> tuple[I64, I64, I64]:
    """Return the kept buffers' lifetimes as sorted columns (buffer, start, end), with touching lifetimes merged.

    `home` has, for each buffer, the position of the kept buffer that contains it; `n` is the number of kept buffers.
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


def _live_set_columns(lifetime_buffer: I64, start: I64, end: I64, n: int) -> tuple[I64, I64, I64, I64]:
    """Return the columns `first`, `start`, `end` and `live_set_time` of an instance, in this order.

    They have n + 1, m, m, and as many entries as there are live sets, for `n` buffers and m lifetimes. The lifetimes
    must be sorted by buffer.
    """
    first = np.searchsorted(lifetime_buffer, np.arange(n + 1))
    return first, *live_sets(start, end)


def live_sets(start: I64, end: I64) -> tuple[I64, I64, I64]:
    """Return each lifetime's first and end live set (half-open), and a time within each maximal live set.

    If the starts and ends of lifetimes are sorted by time, with ends first at equal times, each start that an end
    follows completes a maximal live set. The number of a lifetime's first live set is the count of live sets completed
    before the lifetime starts.
    """
    m = len(start)
    order = np.argsort(np.concatenate((end, start)), kind="stable")
    starts = order >= m
    closes = starts[:-1] & ~starts[1:]
    live_set = np.zeros(2 * m, dtype=np.int64)
    live_set[order[1:]] = np.cumsum(closes)
    return live_set[m:].copy(), live_set[:m].copy(), start[order[:-1][closes] - m]
