"""The buffers of an instance in the form that constraint kinds read, and checks that several kinds use."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np

from memplan.planner.errors import Break, Location, buffer_name_rule, excerpt
from memplan.planner.model.buffer_table import I64, Bool, column, freeze
from memplan.planner.model.columns import unique_values
from memplan.planner.model.problem_fields import ProblemFields

Id = int | str
Breaks = Iterator[Break]
"""The broken rules of a problem, as pairs (location, sentence)."""


NO_END = 2**63 - 1
"""The end of an interval of offsets that only the pool's size limits."""


class OffsetRule(NamedTuple):
    """The rule for a buffer's offset o in one pool, in bytes: o is in one of the intervals, and o % step == remainder.

    The half-open `intervals` (low, high) are ascending and disjoint; if there are none, the buffer may not use the
    pool. If `page` is not 0, no byte except the first may have an address that is a multiple of `page`.
    """

    intervals: tuple[tuple[int, int], ...] = ((0, NO_END),)
    step: int = 1
    remainder: int = 0
    page: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class KeptBuffers:
    """The `n` kept buffers: those that an instance contains, without aliases and zero-size buffers.

    source: (n,), each kept buffer's position in the problem.
    position: for each buffer of the problem, its number among the kept buffers; ABSENT if it is not kept.
    home: for each buffer of the problem, the number of the kept buffer that contains it; ABSENT if that is not kept.
    first, start, end: lifetimes are `start[k]:end[k]` for `k` in `first[i]:first[i + 1]`, in live sets.
    allowed: (pools, n), True where a buffer may use a pool.
    colocation: (n,), equal for buffers that must be in one pool.
    """

    problem: ProblemFields
    source: I64
    position: I64
    home: I64
    first: I64
    start: I64
    end: I64
    allowed: Bool
    colocation: I64

    def __len__(self) -> int:
        """Return the number of kept buffers."""
        return len(self.source)

    def rows(self, pairs: Iterable[tuple[Id, Id]]) -> I64:
        """Return pairs of ids as rows (i, j) of kept buffers; an alias counts as the kept buffer that contains it.

        Pairs with a buffer that is not kept, because it has no bytes, are left out.
        """
        all_pairs = list(pairs)
        positions = np.fromiter(
            map(self.problem.index.__getitem__, chain.from_iterable(all_pairs)), np.int64, 2 * len(all_pairs)
        )
        rows = self.home[positions.reshape(-1, 2)]
        return np.asarray(rows[(rows >= 0).all(axis=1)])


def adjacency(pairs: I64, n: int) -> tuple[I64, I64]:
    """Return pairs (i, j) of `n` buffers as symmetric lists (first, neighbours).

    List i is neighbours[first[i]:first[i + 1]], in ascending order.
    """
    if len(pairs) == 0:
        return freeze(np.zeros(n + 1, dtype=np.int64)), column([])
    # Sort pairs as single numbers n * first + second, which is much faster than sorting rows of two numbers.
    both = unique_values(np.concatenate((pairs, pairs[:, ::-1])) @ np.array([n, 1]))
    return column(np.searchsorted(both, n * np.arange(n + 1))), column(both % max(n, 1))


def clearance_columns(kept: KeptBuffers, required: Iterable[tuple[Id, Id, int]]) -> dict[str, I64]:
    """Return the columns `clear_pairs` and `clearance` (bytes); a pair gets the largest clearance required for it."""
    most: dict[tuple[int, int], int] = {}
    for a, b, clearance in required:
        i, j = sorted((int(kept.home[kept.problem.index[a]]), int(kept.home[kept.problem.index[b]])))
        if i >= 0:
            most[i, j] = max(most.get((i, j), 0), clearance)
    rows = sorted(most)
    pairs = np.array(rows, dtype=np.int64).reshape(-1, 2)
    return {"clear_pairs": pairs, "clearance": column([most[row] for row in rows])}


def first_of_equals(values: I64) -> I64:
    """Return, for each value, the position of the first value that equals it."""
    _, first, which = np.unique(values, return_index=True, return_inverse=True)
    return first[which.ravel()]


def unknown_ids(problem: ProblemFields, places: Iterable[tuple[Location, tuple[Id, ...]]]) -> Breaks:
    """Yield a broken rule, with its location, for each id that does not belong to a buffer."""
    for place, ids in places:
        for side, name in enumerate(ids):
            if name not in problem.index:
                yield (*place, side), buffer_name_rule(name)


def tied_in_entries(problem: ProblemFields, field: str) -> Breaks:
    """Yield a broken rule for each entry of `field` with two buffers that `alias_of` or `relative` connects."""
    for k, use in enumerate(getattr(problem, field)):
        seen: dict[int, Id] = {}
        for side, name in enumerate(use.buffers):
            group = group_of(problem, name)
            if group in seen:
                rule = f"must not be tied to another buffer of the entry ({excerpt(seen[group])}), got {excerpt(name)}"
                yield (field, k, "buffers", side), rule
            seen[group] = name


def cyclic_buffers(following: dict[int, int]) -> list[int]:
    """Return, in ascending order, the buffers on cycles of the links `following`, in linear time."""
    remaining = dict(following)
    cycle: list[int] = []
    for i in following:
        path: dict[int, int] = {}
        while i in remaining:
            path[i] = len(path)
            i = remaining.pop(i)
        if i in path:
            cycle += list(path)[path[i] :]
    return sorted(cycle)


def group_of(problem: ProblemFields, name: Id) -> int:
    """Return the lowest buffer's position in the rigid group (fixed distances) of a buffer, or of an alias's root."""
    i = problem.root_of(name)
    return problem.rigid_leads.get(i, (i, 0))[0]


def common_times(first: Iterable[tuple[int, int]], second: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the time ranges that two sets of half-open lifetimes have in common."""
    others = list(second)
    for start, end in first:
        for since, until in others:
            if start < until and since < end:
                yield max(start, since), min(end, until)
