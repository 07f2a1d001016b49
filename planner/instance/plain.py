"""Compiling plain problems: few buffers of one pool, with one lifetime each and no rule but capacity and alignment.

It comes to the same as `compile.py`; but most of the columns of such an instance require nothing, and depend on the
number of buffers only, so they are made once.
"""

from __future__ import annotations

from functools import lru_cache
from math import gcd
from typing import Any

import numpy as np

from memplan.planner.instance.columns import blank, distinct
from memplan.planner.instance.instance import COLUMNS, I64_MAX, CompiledPool, Instance
from memplan.planner.model.buffer_table import I64, column, frozen
from memplan.planner.model.constraints.kinds import kinds_of
from memplan.planner.model.problem import Problem
from memplan.planner.model.problem_fields import counts_cost

_MOST = 512
_NO_RANGES = column(np.zeros((0, 2)))


def compile_plain(problem: Problem) -> Instance | None:
    """Compile a problem that is small and plain; None for others."""
    table, pool = problem.buffers, problem.pools[0]
    if not 0 < len(table) <= _MOST or not _is_plain(problem):
        return None
    limit, largest = I64_MAX if pool.size is None else pool.size, int(table.size.max())
    if int(table.size.min()) == 0 or largest > limit:
        return None
    unit, steps = int(np.gcd.reduce(table.size)), distinct(table.alignment)
    while rest := [step for step in steps if unit % step and gcd(unit, step) != unit]:
        unit = gcd(unit, *rest)
    alignment = _alignments(table.alignment, steps, unit)
    start, end, time = live_sets(table.start, table.end)
    requires_nothing = _blanks(len(table))
    instance = Instance(
        **requires_nothing,
        unit=unit,
        objective=problem.objective,
        pools=(CompiledPool(pool.name, limit // unit, pool.size is not None, _NO_RANGES, pool.cost),),
        size=frozen(table.size // unit),
        traffic=frozen(np.where(table.traffic >= 0, table.traffic, table.size)) if table.has_traffic else table.size,
        alignment=frozen(alignment.reshape(1, -1)),
        start=frozen(start),
        end=frozen(end),
        live_set_time=frozen(time),
    )
    is_aligned = any(unit % step for step in steps)
    words = {"capacity": pool.size is not None, "alignment": is_aligned, "cost": counts_cost(problem.objective)}
    features = frozenset([word for word, is_so in words.items() if is_so])
    known = {"has_one_lifetime_each": True, "lifetime_buffer": requires_nothing["source"], "features": features}
    if len(table) * (largest + max(steps)) // unit < 2**60:
        known["is_small_numbered"] = True
    instance.__dict__.update(known, is_plain=not words["cost"])  # where cached properties are kept
    return instance


def _is_plain(problem: Problem) -> bool:
    """Return True if nothing is required but sizes, one lifetime each, alignments, a capacity, and what cost counts."""
    table, pool = problem.buffers, problem.pools[0]
    if len(problem.pools) > 1 or pool.reserved or pool.base_address or pool.bank_size or pool.alignment > 1:
        return False
    if kinds_of(problem) or len(table.pool_choices) > 1:
        return False
    return table.has_one_lifetime_each and not table.has_pins and not table.has_hints


def _alignments(alignment: I64, steps: list[int], unit: int) -> I64:
    """Return alignments, whose values are `steps`, in units; 1 where the unit does already."""
    if len(steps) == 1:
        return np.full(len(alignment), 1 if unit % steps[0] == 0 else steps[0] // unit)
    scaled = alignment // unit
    scaled[unit % alignment == 0] = 1
    return scaled


@lru_cache(maxsize=64)
def _blanks(n: int) -> dict[str, Any]:
    """Return the columns by which `n` plain buffers require nothing, or whose values follow from their number."""
    made = {
        "unit",
        "objective",
        "pools",
        "size",
        "traffic",
        "alignment",
        "start",
        "end",
        "live_set_time",
        "unplaceable",
    }
    found = {name: frozen(blank(column, n, 1)) for name, column in COLUMNS.items() if name not in {*made, "first"}}
    found |= {"first": frozen(np.arange(n + 1)), "source": frozen(np.arange(n))}
    return found | {"allowed": frozen(np.ones((1, n), dtype=np.bool_))}


def live_sets(start: I64, end: I64) -> tuple[I64, I64, I64]:
    """Cut time into maximal live sets, given lifetimes.

    Returns each lifetime's first set and the set after its last, and a time in each set. Going through all starts and
    ends in time order, ends first, a set is a run of starts that an end follows; so each start belongs to the set after
    those that are closed before it.
    """
    m = len(start)
    order = np.argsort(np.concatenate((end, start)), kind="stable")
    starts = order >= m
    closes = starts[:-1] & ~starts[1:]
    live_set = np.zeros(2 * m, dtype=np.int64)
    live_set[order[1:]] = np.cumsum(closes)
    return live_set[m:].copy(), live_set[:m].copy(), start[order[:-1][closes] - m]
