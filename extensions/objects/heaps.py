"""The planner for several heaps of limited size: as few heaps as possible, and then few bytes in total.

First, one large pool is planned in which no buffer may cross a wall, a multiple of the heap size. Bin packing of each
live set gives a lower bound on the number of heaps. If the plan uses more heaps than the bound, the search plans as
many equal pools as the bound says, and adds a pool whenever it is proved that these do not suffice. Finally, each heap
is planned separately to reduce its bytes.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from math import lcm
from typing import Any

import numpy as np

from memplan.planner.bounds.lower_bound import live_bytes
from memplan.planner.errors import OptionError, ProblemError, TimeOverError, excerpt
from memplan.planner.instance.compile import compile_problem
from memplan.planner.instance.instance import Instance
from memplan.planner.model.plan import Heaps, Plan, PoolUse, attach_problem
from memplan.planner.model.problem import Problem, replace_fields
from memplan.questions.plan.answers import problem_in_heaps, rows_without_pool
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.search.control import Control
from memplan.solvers.search.to_plan import gap_of

Dealt = Mapping[int | str, tuple[int, int]]
"""An assignment to heaps: maps the id of a buffer to (number of its heap, its offset in this heap)."""
_MOST_LIVE_SETS = 200
"""The bound on heaps packs only this number of largest live sets; in tests, smaller sets never raised the bound."""
_WALLS, _POOLS = 0.3, 0.5
"""The fractions of the remaining time for planning the pool with walls, and for planning each number of pools."""
_FIRST_FIT, _MOST_FIRST_FIT = 1_000, 10_000
"""The maximum numbers of buffers for first fit: as a first plan, and as the only plan if nothing else finds one."""
_MOST_SEARCHED, _MOST_NODES = 14, 200_000
"""The search over all assignments to heaps: its maximum number of buffers, and its maximum number of steps."""
_ABOVE = 8
"""If no plan with walls is found, at most this many numbers of heaps are tried, from the lower bound upward."""


def plan_in_heaps(problem: Problem, limit: int, control: Control) -> Plan:
    """Plan a problem with one pool in heaps of at most `limit` bytes: as few heaps as possible, then few total bytes.

    The pools of the returned plan are the heaps. Such plans are for devices that limit the size of one allocation, or
    whose allocator has no larger free block. Raises OptionError, ProblemError and TimeOverError.
    """
    if len(problem.pools) > 1:
        raise OptionError(f"heaps: applies only to a problem with one pool, got {len(problem.pools)} pools")
    instance = compile_problem(problem)
    extra = instance.features - {"holes", "conflicts", "alignment"}
    # A compiled instance omits the rules of buffers that fit nowhere, so read the rules from the problem.
    extra |= {name for name, rows in problem.buffers.rules.items() if rows}
    if extra := extra | ({"together"} if problem.together else set()):
        raise ProblemError(f"heaps: applies only to a problem without {', '.join(sorted(extra))}")
    table = problem.buffers
    if (largest := int(table.size.max(initial=0))) > limit:
        name = excerpt(table.ids[int(table.size.argmax())])
        raise ProblemError(
            f"heaps: must be at least the largest buffer ({name}: {largest}), got {limit} (did you mean {largest}?)"
        )
    least_bytes = max((load for _, load in live_bytes(instance)), default=0)
    least = max([1, -(-least_bytes // limit), *_bin_bounds(instance, limit)])
    steps = lcm(problem.pools[0].alignment, *set(table.alignment.tolist()))
    pitch = limit // steps * steps
    gap = least * pitch / max(1, least_bytes) - 1
    heaps, first = Heaps(limit=limit, least=least), None
    if len(table) == len(instance) <= _FIRST_FIT:
        first = _first_fit(problem, instance, limit)
        if control.note is not None:
            control.note(_plan_of(problem, _heap_offsets(first), heaps, least_bytes))
    best = _plan_with_walls(problem, pitch, f"{max(0.0, 100 * gap):.4f}%", control) if 0 < largest <= pitch else None
    tried = range(least, least + _ABOVE if best is None else 1 + max(heap for heap, _ in best.values()))
    for count in tried:
        pools = _add_pools(problem, limit, count, instance)
        plan = _plan_in_share(pools, control, _POOLS, accept="fit", profile="size")
        if plan.placements:
            number = {f"heap {k + 1}": k for k in range(count)}
            best = {each.id: (number[each.pool], each.offset) for each in plan.placements}
            break
        if plan.status != "infeasible":
            break
        least = count + 1
    if best is None and first is None and len(table) == len(instance) <= _MOST_FIRST_FIT:
        first = _first_fit(problem, instance, limit)
    if best is None and first is None:
        raise TimeOverError(
            f"time_limit_s: must be enough to find a plan in heaps, got none with up to {tried[-1]} heaps"
        )
    found = _heap_by_heap(problem, best or first or {}, heaps.model_copy(update={"least": least}), least_bytes, control)
    if found.status == "optimal" or len(found.pools) != least or not len(table) == len(instance) <= _MOST_SEARCHED:
        return found
    return _HeapSearch(problem, instance, limit, least, control).best(found)


class _HeapSearch:
    """The exact search for the fewest total bytes in `count` heaps, which tries all assignments of few buffers.

    Each heap needs at least its live peak, so an assignment is planned only if the sum of its heaps' live peaks is
    below the best total.
    """

    def __init__(self, problem: Problem, instance: Instance, limit: int, count: int, control: Control) -> None:
        """Prepare the search for plans in `count` heaps of at most `limit` bytes."""
        self.problem, self.limit, self.count, self.control = problem, limit, count, control
        self.ids = problem.buffers.ids
        self.sizes = problem.buffers.size
        self.alive = np.zeros((len(self.ids), instance.n_live_sets), dtype=np.int64)
        for k, i in enumerate(instance.source[instance.lifetime_buffer].tolist()):
            self.alive[i, instance.start[k] : instance.end[k]] = self.sizes[i]
        self.order = np.argsort(-self.sizes, kind="stable").tolist()
        self.planned: dict[frozenset[int], Plan] = {}
        self.nodes, self.is_open = 0, False

    def best(self, found: Plan) -> Plan:
        """Return the plan of fewest total bytes found, else `found`; a complete search proves the plan optimal."""
        assert found.peak is not None, "every plan in heaps has a peak"
        self.least, self.deal = found.peak, list[frozenset[int]]()
        self._assign_from(0, [], [])
        heaps, bound = found.heaps, found.lower_bound if self.is_open else self.least
        if not self.deal and self.is_open:
            return found
        offsets = [{each.id: each.offset for each in self.planned[heap].placements} for heap in self.deal]
        dealt = offsets or _heap_offsets(
            {each.id: (int(each.pool.removeprefix("heap ")) - 1, each.offset) for each in found.placements}
        )
        assert heaps is not None
        assert bound is not None
        return _plan_of(self.problem, dealt, heaps, bound)

    def _assign_from(self, at: int, loads: list[Any], heaps: list[frozenset[int]]) -> None:
        """Try all heaps for the buffer at position `at` of the descending sizes, and so on for all later buffers."""
        self.nodes += 1
        if self.is_open or self.nodes > _MOST_NODES or self.control.is_over:
            self.is_open = True
            return
        if sum(int(load.max(initial=0)) for load in loads) >= self.least:
            return
        if at == len(self.order):
            self._plan_assignment(heaps)
            return
        i = self.order[at]
        for k in range(min(len(heaps) + 1, self.count)):
            load = self.alive[i] + (loads[k] if k < len(heaps) else 0)
            if load.max(initial=0) <= self.limit:
                its = heaps[k] | {i} if k < len(heaps) else frozenset({i})
                self._assign_from(at + 1, [*loads[:k], load, *loads[k + 1 :]], [*heaps[:k], its, *heaps[k + 1 :]])

    def _plan_assignment(self, heaps: Sequence[frozenset[int]]) -> None:
        """Plan each heap of a complete assignment; record the assignment if its total bytes are the fewest so far."""
        total = 0
        for heap in heaps:
            if heap not in self.planned:
                self.planned[heap] = _plan_in_share(
                    _heap_problem(self.problem, {self.ids[i] for i in heap}, self.limit), self.control, 0.2
                )
            plan = self.planned[heap]
            self.is_open |= plan.status not in ("optimal", "infeasible")
            if plan.peak is None:
                return
            total += plan.peak
        if total < self.least:
            self.least, self.deal = total, [*heaps]


def _heap_problem(problem: Problem, ids: Collection[int | str], limit: int) -> Problem:
    rows = [row for row in rows_without_pool(problem) if row["id"] in ids]
    pairs = [pair for pair in problem.conflicts if {*pair} <= {*ids}]
    pool = {"name": "heap", "size": limit, "alignment": problem.pools[0].alignment}
    return Problem(buffers=rows, conflicts=pairs, pools=[pool])


def _first_fit(problem: Problem, instance: Instance, limit: int) -> Dealt:
    """Assign the buffers, largest first, each to the first heap in which it fits; runs in O(n^2 log n)."""
    table, row = problem.buffers, instance.source[instance.lifetime_buffer]
    meets = np.zeros((len(table), len(table)), dtype=np.bool_)
    one, other = np.nonzero((instance.start[:, None] < instance.end) & (instance.start < instance.end[:, None]))
    meets[row[one], row[other]] = True
    number = {name: i for i, name in enumerate(table.ids)}
    for a, b in problem.conflicts:
        meets[number[a], number[b]] = meets[number[b], number[a]] = True
    size, step = table.size, [lcm(problem.pools[0].alignment, each) for each in table.alignment.tolist()]
    heap, offset = np.full(len(table), -1), np.zeros(len(table), dtype=np.int64)
    for i in np.argsort(-size, kind="stable").tolist():
        while heap[i] < 0 or offset[i] + size[i] > limit:
            heap[i], offset[i] = heap[i] + 1, 0
            near = np.nonzero(meets[i] & (heap == heap[i]) & (np.arange(len(table)) != i))[0]
            for j in near[np.argsort(offset[near])].tolist():
                if offset[j] < offset[i] + size[i] and offset[i] < offset[j] + size[j]:
                    offset[i] = -(-(offset[j] + size[j]) // step[i]) * step[i]
    return {name: (int(heap[i]), int(offset[i])) for name, i in number.items()}


def _heap_offsets(dealt: Dealt) -> list[dict[int | str, int]]:
    heaps: dict[int, dict[int | str, int]] = {}
    for name, (heap, offset) in dealt.items():
        heaps.setdefault(heap, {})[name] = offset
    return [heaps[heap] for heap in sorted(heaps)]


def _plan_in_share(problem: Problem, control: Control, share: float, **options: Any) -> Plan:
    within = control.child(share)
    counted = within.counts_work
    return solve(
        problem, time_limit_s=within.remaining_s, deterministic=counted, **options, control=within.solve_control()
    )


def _plan_with_walls(problem: Problem, size: int, accept: str, control: Control) -> Dealt | None:
    """Plan one pool with walls at multiples of `size`; return each buffer's (space between walls, offset), or None."""
    rows = [row if "alias_of" in row else row | {"no_cross": size} for row in rows_without_pool(problem)]
    pool = {"name": "heaps", "alignment": problem.pools[0].alignment}
    plan = _plan_in_share(replace_fields(problem, buffers=rows, pools=[pool]), control, _WALLS, accept=accept)
    return {each.id: divmod(each.offset, size) for each in plan.placements} if plan.placements else None


def _add_pools(problem: Problem, size: int, count: int, instance: Instance) -> Problem:
    """Return the problem with `count` equal pools of `size` bytes.

    To break their symmetry, the k-th largest buffer of the largest live set may use only pools 1 to k.
    """
    heaviest = max(
        range(instance.n_live_sets), key=lambda t: sum(instance.size[_live_buffers(instance, t)]), default=None
    )
    first = [] if heaviest is None else sorted(_live_buffers(instance, heaviest), key=lambda i: -int(instance.size[i]))
    rank = {int(instance.source[i]): k + 1 for k, i in enumerate(first[: count - 1])}
    rows = [
        row | ({"pools": [f"heap {k + 1}" for k in range(rank[i])]} if i in rank else {})
        for i, row in enumerate(rows_without_pool(problem))
    ]
    pool = {"size": size, "alignment": problem.pools[0].alignment}
    return replace_fields(problem, buffers=rows, pools=[pool | {"name": f"heap {k + 1}"} for k in range(count)])


def _heap_by_heap(problem: Problem, dealt: Dealt, heaps: Heaps, least_bytes: int, control: Control) -> Plan:
    heap_of = _heap_offsets(dealt)
    for number, offsets in enumerate(heap_of):
        plan = _plan_in_share(_heap_problem(problem, offsets, heaps.limit), control, 1 / (len(heap_of) - number))
        if plan.placements:  # If no plan was found, the heap keeps its present offsets.
            heap_of[number] = {each.id: each.offset for each in plan.placements}
    return _plan_of(problem, heap_of, heaps, least_bytes)


def _plan_of(problem: Problem, dealt: list[dict[int | str, int]], heaps: Heaps, least_bytes: int) -> Plan:
    """Return the plan with these offsets in each heap; heaps are numbered by used bytes, the largest first."""
    sizes = dict(zip(problem.buffers.ids, problem.buffers.size.tolist(), strict=True))
    ranked = [(max(offset + sizes[name] for name, offset in offsets.items()), offsets) for offsets in dealt]
    ranked.sort(key=lambda heap: -heap[0])
    places = {
        name: (f"heap {k + 1}", offset) for k, (_, offsets) in enumerate(ranked) for name, offset in offsets.items()
    }
    peak = sum(used for used, _ in ranked)
    is_best = len(ranked) == heaps.least and peak == least_bytes
    plan = Plan.model_validate(
        {
            "status": "optimal" if is_best else "feasible",
            "solver": "heaps",
            "peak": peak,
            "lower_bound": least_bytes,
            "gap": gap_of([(peak, least_bytes)]) if least_bytes else None,
            "pools": tuple(
                PoolUse(name=f"heap {k + 1}", used=used, size=heaps.limit) for k, (used, _) in enumerate(ranked)
            ),
            "heaps": heaps,
            "placements": [
                {"id": name, "pool": places[name][0], "offset": places[name][1]}
                for name in problem.buffers.ids
                if name in places
            ],
        }
    )
    return attach_problem(plan, problem_in_heaps(problem, plan))


def _live_buffers(instance: Instance, t: int) -> list[int]:
    here = instance.lifetime_buffer[(instance.start <= t) & (instance.end > t)]
    return [int(i) for i in here]


def _bin_bounds(instance: Instance, size: int) -> Iterator[int]:
    """Yield lower bounds on the number of heaps: Martello and Toth's bound L2 for each of the largest live sets."""
    change = np.zeros(instance.n_live_sets + 1, dtype=np.int64)
    np.add.at(change, instance.start, instance.size[instance.lifetime_buffer])
    np.subtract.at(change, instance.end, instance.size[instance.lifetime_buffer])
    room = size // instance.unit
    for t in np.argsort(-np.cumsum(change)[:-1], kind="stable")[:_MOST_LIVE_SETS].tolist():
        sizes = np.sort(instance.size[_live_buffers(instance, t)])
        sums = np.concatenate(([0], np.cumsum(sizes)))
        # Two buffers larger than half a heap do not fit into one heap, so count one heap for each such buffer.
        half = int(np.searchsorted(sizes, room // 2, side="right"))
        least = np.unique(
            np.concatenate(([0], sizes[:half]))
        )  # L2 ignores sizes below a threshold, so try each threshold.
        alone = np.maximum(np.searchsorted(sizes, room - least, side="right"), half)
        small = sums[half] - sums[np.searchsorted(sizes, least)]
        left = (alone - half) * room - (sums[alone] - sums[half])  # Only small buffers fit into these free bytes.
        yield int((len(sizes) - half - np.minimum(0, (left - small) // room)).max())
