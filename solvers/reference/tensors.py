"""Problems as tensors, which is the form that planners of other systems read, and the form of their answers."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import lcm

from memplan.planner.model.buffer_table import ABSENT
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import MAX_TIME, MIN_TIME


class StoppedError(Exception):
    """The error of a planner that must stop because time is over or its plan is not needed any more."""


StopCheck = Callable[[], None]
"""A function that planners call at every step; it raises StoppedError if they must stop."""

NEVER = (MAX_TIME, MIN_TIME)
"""The (start, end) of a tensor that is never alive, so that it overlaps no other tensor."""
_OFTEN = 1 << 12


@dataclass(frozen=True)
class Tensor:
    """A buffer as planners of other systems see it, alive in the steps [start, end), or never if end < start.

    A tensor also represents the buffers that it carries: aliases inside it, and buffers that are `relative` to it.
    `position` is its row in the problem. `pools` are the numbers of the allowed pools, best first. `offset` is its
    pinned offset, or None.
    """

    position: int
    size: int
    start: int
    end: int
    alignment: int
    pools: tuple[int, ...]
    offset: int | None

    def meets(self, other: "Tensor") -> bool:
        """Return True if the two tensors are alive at the same time."""
        return self.start < other.end and other.start < self.end


@dataclass(frozen=True)
class PlannerAnswer:
    """A reference planner's plan: (pool position, offset in bytes) by buffer position.

    Carried buffers may be missing. `stuck` are the positions of buffers that could not be placed, beginning with the
    buffer at which the planner stopped. The planner need not have tried all buffers. `because` is a sentence with
    further reasons.
    """

    placements: Mapping[int, tuple[int, int]]
    stuck: tuple[int, ...] = ()
    because: str | None = None


Planner = Callable[[Problem, int, StopCheck], PlannerAnswer]
"""A planner: a function of the problem (in bytes, buffers in their order), a seed, and a StopCheck."""


def carriers(problem: Problem) -> dict[int, tuple[int, int]]:
    """Return, by position of each carried buffer, (position of its carrier, bytes above the carrier's start).

    A carried buffer is placed together with its carrier, either as an alias inside or at a `relative` distance.
    """
    relatives, rigid = problem.buffers.rules["relative"], problem.rigid_leads
    source = {lead: (i, distance) for i, (lead, distance) in rigid.items() if i not in relatives}
    carriers_: dict[int, tuple[int, int]] = {}
    for i in relatives:
        lead, distance = rigid[i]
        carrier, below = source[lead]
        carriers_[i] = carrier, distance - below
    for i, (root, distance) in problem.roots.items():
        carrier, more = carriers_.get(root, (root, 0))
        carriers_[i] = carrier, distance + more
    return carriers_


def tensors(problem: Problem, stop_check: StopCheck = lambda: None) -> list[Tensor]:
    """Return the buffers that no other buffer carries, in order; lifetimes include those of carried buffers."""
    table = problem.buffers
    carried = carriers(problem)
    spans: dict[int, tuple[int, int]] = {}
    starts, ends = table.start.tolist(), table.end.tolist()
    for i, (low, high) in enumerate(pairwise(table.first.tolist())):
        if low < high:
            carrier = carried[i][0] if i in carried else i
            start, end = spans.get(carrier, NEVER)
            spans[carrier] = min(start, *starts[low:high]), max(end, *ends[low:high])
    pools: dict[tuple[int, tuple[str, ...]], tuple[int, ...]] = {}
    columns = (table.size, table.alignment, table.offset, table.pool_choice)
    rows = []
    for i, (size, alignment, offset, choice) in enumerate(zip(*(values.tolist() for values in columns), strict=True)):
        if i % _OFTEN == 0:
            stop_check()
        if i in carried:
            continue
        kind = (choice, table.rules["forbid_pools"].get(i, ()))
        allowed = pools.get(kind) or pools.setdefault(kind, problem.allowed_pools(i))
        start, end = spans.get(i, NEVER)
        rows.append(Tensor(i, size, start, end, alignment, allowed, None if offset == ABSENT else offset))
    return rows


def align(value: int, alignment: int) -> int:
    """Return the least multiple of `alignment` that is at least `value`."""
    return -(-value // alignment) * alignment


def tensor_alignment(problem: Problem, tensor: Tensor, pool: int) -> int:
    """Return the alignment of a tensor's offset in a pool, combined with the pool's own alignment."""
    return lcm(tensor.alignment, problem.pools[pool].alignment)


def common_alignment(problem: Problem, of: Iterable[Tensor]) -> int:
    """Return the least common alignment of tensors in the first pool, for planners that support only one alignment."""
    return lcm(*(tensor_alignment(problem, tensor, 0) for tensor in of))
