"""Division of an instance with one pool into parts that are planned separately and then combined.

If no buffer of one part conflicts with a buffer of the other parts, all parts start at offset 0, and the peak is the
largest of their peaks. If all buffers of one part conflict with all buffers of another, the parts are stacked, and the
peak is the sum of their peaks. This is exact: in any plan, no byte is used by both parts, and no buffer of one part
spans bytes of the other. So closing the gaps that one part leaves keeps the plan of the other part valid. Both rules
are applied again inside each part. A part that cannot be divided further is a leaf, which the portfolio plans as a
separate instance.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import I64
from memplan.planner.model.problem import ADDRESS_SPACE
from memplan.solvers.formulation.sharing import conflict_matrix
from memplan.solvers.formulation.subinstance import part_of
from memplan.solvers.portfolio import stages
from memplan.solvers.search.incumbent import Search

NAME = "parts"
_LEAVES_SHARE = 0.8
"""The share of the remaining time for leaves; afterwards, other solvers continue from the combined plan."""


def solve(instance: Instance, search: Search) -> None:
    """Plan the parts of an instance with one pool, and offer their combined plan and bound.

    Does nothing if the instance cannot be divided.
    """
    near = _conflict_masks(instance)
    everything = (1 << len(instance)) - 1
    if len(next(_leaves(near, everything))) == len(instance):
        return
    offset = np.zeros(len(instance), dtype=np.int64)
    planner = _Parts(instance, search, near, offset)
    result = planner.plan(everything)
    if result is None:
        return
    end, bound = result
    # Stacked parts may have avoidable gaps between them, and the sum of their bounds then proves nothing.
    if planner.is_exact and bound > instance.pools[0].capacity:
        search.claim_infeasible(NAME)
    if end <= instance.pools[0].capacity:
        search.offer(np.zeros(len(instance), dtype=np.int64), offset, NAME)
    if planner.is_exact:
        search.offer_bound((bound,), NAME)


class _Parts:
    """The planner of an instance's parts. It writes the offset of each buffer, in units, into `offset`.

    `near` has a bit mask of the conflicts of each buffer. `is_exact` is true while the sum of the parts' bounds is a
    bound on the whole instance.
    """

    def __init__(self, instance: Instance, search: Search, near: list[int], offset: I64) -> None:
        """Count the buffers in leaves (indivisible parts) of several buffers, by which the time is shared."""
        self.instance, self.search, self.near, self.offset = instance, search, near, offset
        self.step = int(np.lcm.reduce(instance.alignment[0])) if len(instance) else 1
        self.is_exact = True
        self.left = sum(len(leaf) for leaf in _leaves(near, (1 << len(instance)) - 1) if len(leaf) > 1)

    def plan(self, part: int) -> tuple[int, int] | None:
        """Plan a part from offset 0 up; return (end of the part, lower bound on this end), or None without a plan."""
        if part & (part - 1) == 0:
            i = part.bit_length() - 1
            # Where alignment counts from an address, offset 0 may be illegal, so use the lowest legal offset.
            self.offset[i] = self.instance.lowest[0, i]
            end = int(self.offset[i] + self.instance.size[i])
            return end, end
        apart = _components(self.near, part, opposite=False)
        if len(apart) > 1:
            results = [self.plan(each) for each in apart]
            plans = [each for each in results if each is not None]
            return None if len(plans) < len(results) else (max(e for e, _ in plans), max(b for _, b in plans))
        stacked = _components(self.near, part, opposite=True)
        if len(stacked) == 1:
            return self._plan_leaf(part)
        end = bound = 0
        for each in stacked:
            if (piece := self.plan(each)) is None:
                return None
            base = -(-end // self.step) * self.step
            self.is_exact = self.is_exact and self.step == 1
            self.offset[_members_of(each)] += base
            end, bound = base + piece[0], bound + piece[1]
        return end, bound

    def _plan_leaf(self, part: int) -> tuple[int, int] | None:
        """Plan an indivisible part by the portfolio; return (end, lower bound on the end), or None without a plan."""
        members = _members_of(part)
        share = _LEAVES_SHARE * len(members) / max(1, self.left)
        self.left -= len(members)
        own = _unlimited_instance(self.instance, members)
        inner = self.search.child(own, share)
        for failure in stages.run(own, inner, stages.stages_of_solver(own, "auto")):
            self.search.log(str(failure))
        if inner.best is None:
            return None
        self.offset[members] = inner.best.offset
        return int(inner.best.score[-1]), int(inner.bound[-1])


def _unlimited_instance(instance: Instance, members: list[int]) -> Instance:
    chosen = np.zeros(len(instance), dtype=np.bool_)
    chosen[members] = True
    own = part_of(instance, chosen)
    pool = own.pools[0]._replace(capacity=(ADDRESS_SPACE - 1) // own.unit, is_limited=False)
    return replace(own, pools=(pool,), objective="peak")


def _members_of(part: int) -> list[int]:
    return [i for i, bit in enumerate(reversed(f"{part:b}")) if bit == "1"]


def _conflict_masks(instance: Instance) -> list[int]:
    near = np.packbits(conflict_matrix(instance, np.arange(len(instance))), axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") for row in near]


def _components(near: list[int], part: int, *, opposite: bool) -> list[int]:
    """Return the connected components, as bit masks, of a part's conflict graph or (`opposite`) its complement."""
    components, remaining = [], part
    while remaining:
        here = front = remaining & -remaining
        remaining ^= front
        while front:
            i = (front & -front).bit_length() - 1
            front &= front - 1
            more = (~near[i] if opposite else near[i]) & remaining
            here, front, remaining = here | more, front | more, remaining & ~more
        components.append(here)
    return components


def _leaves(near: list[int], part: int) -> Iterator[list[int]]:
    for opposite in (False, True):
        inner = _components(near, part, opposite=opposite)
        if len(inner) > 1:
            for each in inner:
                yield from _leaves(near, each)
            return
    yield _members_of(part)
