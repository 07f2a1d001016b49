"""Placed buffers with all names resolved to positions, for the verifier; solvers do not use this code."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from memplan.planner.errors import excerpt
from memplan.planner.model.buffer_table import ABSENT, I64
from memplan.planner.model.columns import unique_values
from memplan.planner.model.placement_table import PlacementTable
from memplan.planner.model.problem import MAX_BYTES, Problem


@dataclass(frozen=True, eq=False)
class PlacedBuffers:
    """Each buffer's pool and offset, in the problem's order.

    `pool` is ABSENT for a buffer that is in none of the problem's pools.
    """

    problem: Problem
    pool: I64
    offset: I64

    @classmethod
    def from_placements(cls, problem: Problem, placements: PlacementTable) -> "PlacedBuffers":
        """Return each buffer's first placement in a plan."""
        names = {pool.name: q for q, pool in enumerate(problem.pools)}
        pools = np.array([names.get(name, ABSENT) for name in placements.pool_names], dtype=np.int64)
        # Plans of memplan list buffers in the problem's order, so positions need not be looked up.
        if placements.ids == problem.buffers.ids:
            return cls(problem, pools[placements.pool], placements.offset)
        placed = cls(problem, np.full(len(problem.buffers), ABSENT), np.zeros(len(problem.buffers), dtype=np.int64))
        # Read placements in reverse, so that the first placement of each buffer is kept.
        for k in reversed(range(len(placements))):
            i = placed.row.get(placements.ids[k])
            if i is not None:
                placed.pool[i], placed.offset[i] = pools[placements.pool[k]], placements.offset[k]
        return placed

    @cached_property
    def end(self) -> npt.NDArray[np.uint64]:
        """The end offsets as unsigned integers, because they can reach 2^63 + 2^62, which exceeds int64."""
        return self.offset.astype(np.uint64) + self.problem.buffers.size.astype(np.uint64)

    def pool_uses(self) -> dict[str, int]:
        """Return each pool's use in bytes: its largest end offset, or with `equal_use` the largest over all pools."""
        ends = np.where(self.problem.buffers.size > 0, self.end, np.uint64(0))
        used = {pool.name: int(ends[self.pool == q].max(initial=0)) for q, pool in enumerate(self.problem.pools)}
        return dict.fromkeys(used, max(used.values())) if self.problem.equal_use else used

    @cached_property
    def row(self) -> Mapping[int | str, int]:
        """The position of each buffer, by its id."""
        return {name: i for i, name in enumerate(self.problem.buffers.ids)}

    @cached_property
    def root(self) -> I64:
        """For each buffer, the position of its root: the outermost buffer that contains it, or itself."""
        return self.root_distances[0] if self.problem.buffers.aliases else np.arange(len(self.problem.buffers))

    @cached_property
    def root_distances(self) -> tuple[I64, I64]:
        """Two arrays: for each buffer, the position of its root, and its distance from the root's start in bytes."""
        return _followed_links(len(self.problem.buffers), self._positions_of(self.problem.buffers.aliases))

    def required_and_actual(self, i: int, j: int, distance: int) -> tuple[str, str] | None:
        """Return two texts, the required place of buffer `i` and its actual place; None if they are equal.

        The required place is `distance` bytes above the start of buffer `j`, in the same pool.
        """
        if self.pool[i] < 0 or self.pool[j] < 0:
            return None
        wanted = int(self.offset[j]) + distance
        if self.pool[i] == self.pool[j] and int(self.offset[i]) == wanted:
            return None
        home, got = (excerpt(self.problem.pools[int(self.pool[k])].name) for k in (j, i))
        return f"at offset {wanted} of {home}", f"got offset {self.offset[i]} of {got}"

    def root_of(self, name: int | str) -> int:
        """Return the position of a buffer's root: the outermost buffer that contains it, or itself."""
        return int(self.root[self.row[name]])

    def roots_of(self, names: Iterable[int | str]) -> I64:
        """Return the positions of the root buffers of several names, in ascending order and each once."""
        return unique_values(self.root[[self.row[name] for name in names]])

    @cached_property
    def group(self) -> tuple[I64, I64]:
        """Two arrays: for each buffer, its rigid group, and its distance in bytes above the group's reference point."""
        root, above = self.root_distances
        named = self._positions_of(self.problem.buffers.rules["relative"])
        # A distance beyond int64 fits into no pool, so capping the distance changes no verdict.
        ties = {i: (int(root[j]), min(distance + int(above[j]), MAX_BYTES)) for i, (j, distance) in named.items()}
        top, distance = _followed_links(len(root), ties)
        return top[root], distance[root] + above

    @cached_property
    def lifetime_root(self) -> I64:
        """For each lifetime of the problem, the root of its buffer."""
        table = self.problem.buffers
        if table.has_one_lifetime_each:
            return self.root
        return self.root[np.repeat(np.arange(len(table)), np.diff(table.first))]

    def _positions_of(self, ties: Mapping[int, tuple[int | str, int]]) -> dict[int, tuple[int, int]]:
        return {i: (self.row[name], distance) for i, (name, distance) in ties.items()}


def _followed_links(n: int, ties: Mapping[int, tuple[int, int]]) -> tuple[I64, I64]:
    """Return the last buffer of each buffer's chain of links (next buffer, distance), and the total distance.

    All chains are followed together. Each step doubles the followed length.
    """
    at, distance = np.arange(n), np.zeros(n, dtype=np.int64)
    if ties:
        rows = np.array([(i, j, d) for i, (j, d) in ties.items()], dtype=np.int64)
        at[rows[:, 0]], distance[rows[:, 0]] = rows[:, 1], rows[:, 2]
        # Each round doubles the length of links, so chains of a million aliases take only twenty rounds.
        while (at[at] != at).any():
            distance += distance[at]
            at = at[at]
    return at, distance
