"""One call of the compiled core for plain problems: lower bound, greedy orders and, if a gap remains, exact search.

A plain problem has one pool, one lifetime per buffer, and no rules except capacity and alignment.
"""

import weakref
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import Any, NamedTuple, cast

import numpy as np

from memplan.planner.bounds.lower_bound import Bound, Witness
from memplan.planner.instance.columns import Axis, default_column
from memplan.planner.instance.instance import COLUMNS, I64_MAX, ON, CompiledPool, Instance
from memplan.planner.model.buffer_table import I64, column, freeze
from memplan.planner.model.constraints.kinds import kinds_of
from memplan.planner.model.problem import Pool, Problem
from memplan.solvers.core import exact
from memplan.solvers.core.exact import close_parts, close_search
from memplan.solvers.core.tables import CORE, Handle, Reference, Rows

_MOST = 512
"""The limit of buffers: up to it, a scan of all placed buffers is fast."""
_LARGEST = 2**60
_MADE = ("unit", "objective", "pools", "size", "traffic", "alignment", "start", "end", "live_set_time")
_NO_RANGES = column(np.zeros((0, 2)))
_RULES = attrgetter(*(Pool.model_fields.keys() - {"name", "size", "cost"}))
"""A function that returns a pool's rules other than its size."""
_NO_RULES = _RULES(Pool.model_construct())


class PlainTask(NamedTuple):
    """The input and the results of one call of the core for a plain problem with `n` buffers.

    See OrderTask in quick_orders.hpp, and `Turn` for the exact search. If `nodes` is 0, there is no exact search. After
    `seconds` (0: no limit), or once flag[0] is not 0, no further search starts. `columns` receives sizes and alignments
    in units, starts and ends in live sets, the times of the live sets, and the canonical order. `offset` receives the
    offsets, in units, of the best greedy order and of the exact search.
    """

    size: I64  # (n,): size of each buffer, always positive
    begin: I64
    end: I64
    alignment: I64
    capacity: int
    target: int
    first: int
    near: float
    nodes: int
    seed: int
    inferences: int
    seconds: float
    columns: Rows  # (6, n): sizes, alignments, starts, ends, times of live sets, canonical order
    offset: Rows  # (2, n): offset of each buffer in the best greedy order, then in the exact search
    answer: I64  # (20,): results, in the order of the fields of PlainAnswer in exact.cpp
    flag: I64  # (1,): flag that stops the call once it is not 0


plan_plain = CORE.kernel("plan_plain", tables=1)
"""`plan_plain(task)`: compile the buffers, compute a lower bound, pack greedily, and search exactly."""


@dataclass(frozen=True, eq=False)
class BegunSearch:
    """An exact search in the core after its first step; `offset` has its best plan, unless `peak` is ABSENT."""

    parts: Handle
    search: Handle
    outcome: int
    nodes: int
    bound: int
    peak: int
    is_proving: bool
    offset: I64


@dataclass(frozen=True, slots=True, eq=False)
class PlainStart:
    """The result of one call of the compiled core for a plain problem: bound, best greedy order, begun exact search.

    `rule` is the number of the best greedy order, or -1 if the buffers fit in no order. `order` is the canonical order
    of the buffers, as an array (n,).
    """

    instance: Instance
    proof: Bound
    rule: int
    tried: int
    offset: I64
    order: I64
    exact: BegunSearch | None


class Limits(NamedTuple):
    """The limits of one call of the compiled core, as in PlainTask; packing stops at a peak of `target` units."""

    target: int = 0
    first: int = 2**62
    near: float = 0.0
    nodes: int = 0
    seed: int = 0
    seconds: float = 0.0


def is_suitable(problem: Problem) -> bool:
    """Return True if a problem is plain and small enough: at most 512 buffers, and numbers below 2^60.

    A plain problem has one pool with only a size and an alignment, and one lifetime per buffer.
    """
    table, pool = problem.buffers, problem.pools[0]
    if problem.objective not in ("peak", "fit") or not 0 < len(table) <= _MOST or len(problem.pools) > 1:
        return False
    if kinds_of(problem) or _RULES(pool) != _NO_RULES or len(table.pool_choices) > 1:
        return False
    if not table.has_one_lifetime_each or table.has_any(table.offset) or table.has_any(table.hint):
        return False
    least, largest = int(table.size.min()), int(table.size.max())
    is_small = len(table) * (largest + int(table.alignment.max())) < _LARGEST
    return least > 0 and is_small and (pool.size is None or largest <= pool.size)


def suits_instance(instance: Instance) -> bool:
    """Return True if an instance is plain (one pool, only capacity and alignment) and has at most 512 buffers."""
    return len(instance) <= _MOST and instance.is_plain and instance.is_small_numbered


def solve_plain(problem: Problem, limits: Limits, instance: Instance | None = None) -> PlainStart:
    """Bound the peak of a suitable problem, pack it greedily, and search exactly, in one call of the compiled core.

    The problem is also compiled, unless its `instance` is given.
    """
    table, pool = problem.buffers, problem.pools[0]
    capacity = I64_MAX if pool.size is None else pool.size
    task = _run_core(
        (table.size, table.start, table.end, table.alignment), capacity, limits, np.zeros(1, dtype=np.int64)
    )
    return _start_from_task(_instance_of(problem, task) if instance is None else instance, task, 1)


def _instance_of(problem: Problem, task: PlainTask) -> Instance:
    """Return the instance of a problem, built from the columns that a call of the compiled core filled."""
    table, pool = problem.buffers, problem.pools[0]
    unit, n_sets = int(task.answer[0]), int(task.answer[1])
    size, step, start, end, time, _ = freeze(task.columns)
    fields: dict[str, Any] = {
        "unit": unit,
        "objective": problem.objective,
        "pools": (CompiledPool(pool.name, task.capacity // unit, pool.size is not None, _NO_RANGES, pool.cost),),
        "size": size,
        "traffic": table.size
        if not table.has_any(table.traffic)
        else freeze(np.where(table.traffic >= 0, table.traffic, table.size)),
        "alignment": step.reshape(1, -1),
        "start": start,
        "end": end,
        "live_set_time": time[:n_sets],
    }
    blanks = _default_columns(len(table))
    instance = Instance(**blanks, **fields)
    words = {"capacity": pool.size is not None, "alignment": bool((step > 1).any())}
    # Store the values of cached properties in __dict__, so that they are not computed again.
    instance.__dict__.update(
        has_one_lifetime_each=True,
        lifetime_buffer=blanks["source"],
        features=frozenset([word for word, is_so in words.items() if is_so]),
        is_small_numbered=True,
        is_plain=True,
    )
    return instance


def offsets_at_bound(size: I64, start: I64, end: I64, alignment: int, nodes: int) -> I64 | None:
    """Return offsets in one pool whose peak equals the lower bound, or None if no such offsets were found.

    The arguments describe plain buffers: sizes, lifetimes [start, end) and one alignment. The exact search stops after
    `nodes` nodes. Callers must verify the offsets and handle None.
    """
    n = len(size)
    if not 0 < n <= _MOST or int(size.min()) <= 0 or n * (int(size.max()) + alignment) >= _LARGEST:
        return None
    columns = size, start, end, np.full(n, alignment, dtype=np.int64)
    task = _run_core(columns, I64_MAX, Limits(nodes=nodes), np.zeros(1, dtype=np.int64))
    unit, _, bound, _, _, *words = task.answer.tolist()
    *_, parts, address = words
    if address:
        _close_search(Handle(parts), Handle(address))
    for offset in task.offset * unit:
        if words[6] >= 0 and int((offset + size).max()) == bound * unit:
            return cast(I64, offset)
    return None


def start_of_instance(instance: Instance, limits: Limits, flag: I64) -> PlainStart:
    """Bound the peak of a suitable instance and pack it greedily, without an exact search.

    The core's units differ from those of the instance, so an exact search begun there could not be continued.
    """
    columns = instance.size, instance.start, instance.end, instance.alignment[0]
    task = _run_core(columns, instance.pools[0].capacity, limits, flag)
    return _start_from_task(instance, task, int(task.answer[0]))


def _run_core(columns: tuple[I64, I64, I64, I64], capacity: int, limits: Limits, flag: I64) -> PlainTask:
    n = len(columns[0])
    rows, answer = np.zeros((8, n), dtype=np.int64), np.zeros(20, dtype=np.int64)
    target, first, near, nodes, seed, seconds = limits
    task = PlainTask(
        *columns,
        capacity,
        target,
        first,
        near,
        nodes,
        seed,
        exact.used_inferences,
        seconds,
        rows[:6],
        rows[6:],
        answer,
        flag,
    )
    plan_plain(Reference(task))
    return task


def _start_from_task(instance: Instance, task: PlainTask, unit: int) -> PlainStart:
    """Return the result of a call of the core. Its offsets and bounds are converted to the instance's units."""
    _, _, end, load, missing, *words = task.answer.tolist()
    why, overfull, (rule, tried, *search) = words[:3], words[3:6], words[6:]
    witness = _bound_witness(instance, unit, *why)
    lack = None
    if missing:
        one = _bound_witness(instance, unit, *overfull)
        lack = Witness("capacity", one.time, one.buffers, 0, missing * unit)
    proof = Bound((end * unit,), witness, max(load, end) * unit, lack)
    by_order, by_search = task.offset
    outcome, nodes, bound, peak, is_proving, parts, address = search
    begun = None
    if address:
        handles = Handle(parts), Handle(address)
        begun = BegunSearch(*handles, outcome, nodes, bound, peak, bool(is_proving), by_search)
        weakref.finalize(begun, _close_search, *handles)
    offset = by_order if unit == 1 else by_order * unit
    return PlainStart(instance, proof, rule, tried, offset, task.columns[-1], begun)


def _bound_witness(instance: Instance, unit: int, ground: int, at: int, step: int) -> Witness:
    if ground == 2:
        return Witness("largest-buffer", buffers=(at,))
    alive = (instance.start <= at) & (at < instance.end)
    if step > 1:
        alive &= instance.alignment[0] % (step * unit) == 0
    kind: Any = "live-set" if step == 1 else "alignment"
    return Witness(kind, int(instance.live_set_time[at]), tuple(np.flatnonzero(alive).tolist()), 0)


@lru_cache(maxsize=64)
def _default_columns(n: int) -> dict[str, Any]:
    made = {*_MADE, *ON[Axis.WHOLE], "first"}
    blanks = {name: freeze(default_column(column, n, 1)) for name, column in COLUMNS.items() if name not in made}
    blanks |= {"first": freeze(np.arange(n + 1)), "source": freeze(np.arange(n))}
    return blanks | {"allowed": freeze(np.ones((1, n), dtype=np.bool_))}


def _close_search(parts: Handle, search: Handle) -> None:
    close_search(search)
    close_parts(parts)
