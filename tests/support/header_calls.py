"""The C API of `memplan.h`, called through ctypes, for problems that the header can express."""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, pairwise
from math import lcm
from typing import Any

from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import Buffer, Placement
from memplan.solvers.core.build import HERE, library_of

FREE, UNLIMITED, NONE = -(2**63), 2**63 - 1, 2**64 - 1
STATUSES = ("optimal", "feasible", "infeasible", "unknown", "invalid", "out of memory")
_TYPES = {"i": ctypes.c_int64, "n": ctypes.c_size_t, "p": ctypes.c_void_p, "c": ctypes.c_int}


def _struct(fields: str) -> Any:
    rows = [word.split(":") for word in fields.split()]
    return type("Row", (ctypes.Structure,), {"_fields_": [(name, _TYPES[letter]) for name, letter in rows]})


_BUFFER = _struct("size:i begin:i end:i alignment:i pin:i lowest:i limit:i no_cross:i")
_GAP = _struct("buffer:n begin:i end:i")
_PAIR = _struct("first:n second:n")
_PRICE = _struct("first:n second:n price:i")
_RANGE = _struct("begin:i end:i")
_MEMORY = _struct("capacity:i base:i reserved:p reserved_count:n bank:i")
_PROBLEM = _struct(
    "buffers:p count:n capacity:i base:i only_pairs:c pairs:p pair_count:n gaps:p gap_count:n joins:p join_count:n"
    " reserved:p reserved_count:n memories:p memory_count:n memory_of:p prices:p price_count:n same_offset:p"
    " bank:i banks:p bank_count:n shares:p share_count:n places:p place_count:n"
)
_RESULT = _struct(
    "status:c rule:c proof:c ran_out:c buffer:n other:n peak:i bound:i cost:i cost_bound:i nodes:i orders:c order:c"
    " memory:n moved:i moved_bound:i missed:i least:i"
)
_LATER = 10**6
"""The first time given to buffers without a lifetime, one step each, so that they conflict only explicitly."""


@dataclass(frozen=True)
class Answer:
    """The C API's answer for a problem: status, ends of the memories or their sum, and the cost of pairs."""

    status: str
    peak: int
    bound: int
    cost: int
    cost_bound: int
    placements: tuple[Placement, ...]


@cache
def _plan() -> Any:
    function = ctypes.CDLL(str(library_of(HERE))).memplan_plan
    function.restype, function.argtypes = _RESULT, [ctypes.c_void_p] * 3
    return function


def can_state(problem: Problem) -> bool:
    """Return True if the header can express all rules of a problem, and its objective."""
    rows = problem.buffers
    plain = all(row.size and row.relative is None and row.offset_mod is None and row.alias_of is None for row in rows)
    priced = bool(problem.reuse) and (len(problem.pools) > 1 or any(row.no_cross for row in rows))
    goal = problem.objective == ("cost" if problem.reuse else "peak") and not any(pool.cost for pool in problem.pools)
    homes = len(problem.pools) == 1 or all(len(_homes(problem, row)) == 1 for row in rows)
    mixed = problem.equal_use and any(pool.reserved or pool.base_address for pool in problem.pools)
    ties = [[rows[problem.index[name]] for name in names] for names in problem.same_offset]
    mixed |= any(len({(row.alignment, row.offset, row.no_cross) for row in names}) > 1 for names in ties)
    banked = bool(problem.bank) and bool(any(use.weight for use in problem.bank) or problem.equal_use or problem.reuse)
    shared = bool(problem.may_share) and bool(problem.equal_use or problem.reuse)
    others = banked or shared or problem.together
    return plain and goal and homes and not (priced or mixed or others)


def _homes(problem: Problem, row: Buffer) -> list[int]:
    named = [q for q, pool in enumerate(problem.pools) if row.pools is None or pool.name in row.pools]
    return [q for q in named if problem.pools[q].name not in row.forbid_pools]


def plan(problem: Problem) -> Answer | None:
    """Return the C API's answer; None if a buffer is allowed in no pool, which the header cannot express."""
    rows, position = list(problem.buffers), {row.id: k for k, row in enumerate(problem.buffers)}
    homes = [_homes(problem, row) for row in rows]
    if not all(homes):
        return None
    lives = [row.intervals or [(_LATER + k, _LATER + k + 1)] for k, row in enumerate(rows)]
    gaps = [(k, a, b) for k, row in enumerate(lives) for (_, a), (b, _) in pairwise(_join_intervals(row)) if a < b]
    pools = [problem.pools[home[0]] for home in homes]
    pins = [FREE if row.offset is None else row.offset for row in rows]
    steps = [lcm(row.alignment, pool.alignment) for row, pool in zip(rows, pools, strict=True)]
    spans = [(min(a for a, _ in life), max(b for _, b in life)) for life in lives]
    buffers = [
        (row.size, *span, step, pin, 0, 0, row.no_cross or 0)
        for row, span, step, pin in zip(rows, spans, steps, pins, strict=True)
    ]
    pairs = [(position[a], position[b]) for a, b in problem.conflicts]
    prices = [(position[a], position[b], row.cost) for row in problem.reuse for a, b in row.pairs]
    ends = [UNLIMITED if pool.size is None else pool.size for pool in problem.pools]
    ranges = [_array(_RANGE, _ranges(pool.reserved)) for pool in problem.pools]
    counts = [len(_ranges(pool.reserved)) for pool in problem.pools]
    given = _PROBLEM(count=len(rows), capacity=ends[0], base=problem.pools[0].base_address)
    given.bank = problem.pools[0].bank_size or 0
    given.buffers = _address(kept := _array(_BUFFER, buffers))
    banks = [(position[a], position[b]) for use in problem.bank for a, b in combinations(dict.fromkeys(use.buffers), 2)]
    shares = [(position[a], position[b]) for a, b in problem.may_share]
    lists: list[Any] = [(_PAIR, pairs), (_GAP, gaps), (_PRICE, prices), (_PAIR, banks), (_PAIR, shares)]
    tables = [_array(kind, rows) for kind, rows in lists]
    given.pairs, given.gaps, given.prices, given.banks, given.shares = map(_address, tables)
    given.bank_count, given.share_count = len(banks), len(shares)
    given.pair_count, given.gap_count, given.price_count = len(pairs), len(gaps), len(prices)
    given.reserved, given.reserved_count = _address(ranges[0]), counts[0]
    memories = [
        _MEMORY(end, pool.base_address, _address(table), count, pool.bank_size or 0)
        for end, pool, table, count in zip(ends, problem.pools, ranges, counts, strict=True)
    ]
    memory_table, home_table = _array(_MEMORY, memories), (ctypes.c_size_t * len(rows))(*(home[0] for home in homes))
    if len(memories) > 1:
        given.memories, given.memory_count = _address(memory_table), len(memories)
        given.memory_of = ctypes.addressof(home_table)
    first = {name: min(position[each] for each in _tied_buffers(problem, name)) for name in position}
    ties = (ctypes.c_size_t * len(rows))(
        *(NONE if len(_tied_buffers(problem, row.id)) == 1 else first[row.id] for row in rows)
    )
    if problem.equal_use:
        given.same_offset = ctypes.addressof(ties)
    offsets = (ctypes.c_int64 * max(1, len(rows)))()
    found = _plan()(ctypes.addressof(given), None, ctypes.addressof(offsets))
    del kept, tables, ranges, memory_table
    placed = zip(rows, offsets, pools, strict=False) if found.status < 2 else ()
    rows_of_plan = tuple(Placement(id=row.id, pool=pool.name, offset=at) for row, at, pool in placed)
    return Answer(STATUSES[found.status], found.peak, found.bound, found.cost, found.cost_bound, rows_of_plan)


def _tied_buffers(problem: Problem, name: int | str) -> set[int | str]:
    found = {name}
    while more := {each for names in problem.same_offset if found & {*names} for each in names} - found:
        found |= more
    return found


def _join_intervals(intervals: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for a, b in sorted(intervals):
        if found and a <= found[-1][1]:
            found[-1] = (found[-1][0], max(b, found[-1][1]))
        else:
            found.append((a, b))
    return found


def _ranges(reserved: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    return _join_intervals([(low, low + size) for low, size in reserved if size])


def _array(of: Any, rows: Sequence[Any]) -> Any:
    return (of * max(1, len(rows)))(*rows)


def _address(array: Any) -> int:
    return ctypes.addressof(array)
