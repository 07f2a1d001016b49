"""Whether buffers lie as what `relative`, `together` and `bank` say of others asks; part of the verifier."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations, compress

import numpy as np
import numpy.typing as npt

from memplan.planner.errors import shown
from memplan.planner.model.buffer_table import ABSENT
from memplan.planner.model.problem import Problem
from memplan.planner.verify.violation import Seats, Violation, about

Id = int | str


def relatives_lie_where_they_must(problem: Problem, seats: Seats) -> Iterator[Violation]:
    """Yield each buffer that is not at its distance from the one that it is relative to."""
    ids = problem.buffers.ids
    for i, (name, distance) in problem.buffers.relatives.items():
        j = problem.index[name]
        if seats.pool[i] < 0 or seats.pool[j] < 0:
            continue
        wanted = int(seats.offset[j]) + distance
        if seats.pool[i] != seats.pool[j] or int(seats.offset[i]) != wanted:
            home, got = (shown(problem.pools[int(seats.pool[k])].name) for k in (j, i))
            sentence = f"must lie {distance} bytes from {shown(name)}, at offset {wanted} of {home}"
            yield about(ids[i], "relative-misplaced", f"{sentence}, got offset {seats.offset[i]} of {got}")


def companies_are_together(problem: Problem, seats: Seats) -> Iterator[Violation]:
    """Yield each buffer that is not in the pool of the first one that it must be together with."""
    for names in problem.together:
        placed = [(name, int(seats.pool[problem.index[name]])) for name in names]
        placed = [(name, pool) for name, pool in placed if pool >= 0]
        for name, pool in placed[1:]:
            first, home = placed[0]
            if pool != home:
                wanted, got = (shown(problem.pools[q].name) for q in (home, pool))
                message = f"buffer {shown(name)}: must be together with {shown(first)} in {wanted}, got {got}"
                yield Violation("not-together", message, name, first)


def banks_are_apart(problem: Problem, seats: Seats) -> Iterator[Violation]:
    """Yield each pair that must touch no common bank but does; a pair of two entries once."""
    pairs = [pair for use in problem.bank if use.weight is None for pair in combinations(use.buffers, 2)]
    seen: set[frozenset[Id]] = set()
    for k in np.flatnonzero(in_a_common_bank(problem, seats, pairs)).tolist():
        a, b = pairs[k]
        if frozenset((a, b)) in seen:
            continue
        seen.add(frozenset((a, b)))
        pool = shown(problem.pools[int(seats.pool[problem.index[a]])].name)
        message = f"buffers {shown(a)} and {shown(b)} touch a common bank of {pool}, but are used at one step"
        yield Violation("bank-clash", message, a, b)


def in_a_common_bank(problem: Problem, seats: Seats, pairs: Iterable[tuple[Id, Id]]) -> npt.NDArray[np.bool_]:
    """Say which pairs lie in one pool and touch a common bank of it, aliases with the whole buffer they live in."""
    rows = np.array([[_home(problem, name) for name in pair] for pair in pairs], dtype=np.int64).reshape(-1, 2)
    found = np.zeros(len(rows), dtype=np.bool_)
    size = problem.buffers.size
    for q, pool in enumerate(problem.pools):
        if pool.bank_size is None:
            continue
        here = np.flatnonzero((seats.pool[rows] == q).all(axis=1) & (size[rows] > 0).all(axis=1))
        base, width = np.uint64(pool.base_address), np.uint64(pool.bank_size)
        # Addresses are below 2^63 + 2^62, and ends below 2^64: both fit what has no sign.
        first = (seats.offset[rows[here]].astype(np.uint64) + base) // width
        last = (seats.end[rows[here]] - np.uint64(1) + base) // width
        found[here] = (first[:, 0] <= last[:, 1]) & (first[:, 1] <= last[:, 0])
    return found


def weighted_clashes(problem: Problem, seats: Seats) -> list[tuple[tuple[Id, Id], float]]:
    """Return each pair that should touch no common bank but does, and what it costs."""
    pairs = [
        (pair, use.weight) for use in problem.bank if use.weight is not None for pair in combinations(use.buffers, 2)
    ]
    return list(compress(pairs, in_a_common_bank(problem, seats, [pair for pair, _ in pairs]).tolist()))


def pairs_that_clash(problem: Problem, seats: Seats) -> list[tuple[Id, Id]]:
    """Return each pair that should touch no common bank but does; one of two entries twice."""
    return [pair for pair, _ in weighted_clashes(problem, seats)]


def pairs_that_share(problem: Problem, seats: Seats) -> list[tuple[Id, Id]]:
    """Return the pairs of `may_share`, of some bytes both, at one offset of one pool while both are alive."""
    if not problem.may_share:
        return []
    table = problem.buffers
    rows = [(_home(problem, a), _home(problem, b)) for a, b in problem.may_share]
    alive: dict[int, list[tuple[int, int]]] = {i: [] for pair in rows for i in pair}
    for i in (*alive, *problem.roots):
        root, _ = problem.roots.get(i, (i, 0))
        if root in alive:
            low, high = int(table.first[i]), int(table.first[i + 1])
            alive[root] += zip(table.start[low:high].tolist(), table.end[low:high].tolist(), strict=True)

    def share(i: int, j: int) -> bool:
        is_same_place = seats.pool[i] == seats.pool[j] != ABSENT and seats.offset[i] == seats.offset[j]
        if not is_same_place or table.size[i] == 0 or table.size[j] == 0:
            return False
        return any(start < until and since < end for start, end in alive[i] for since, until in alive[j])

    return [pair for pair, (i, j) in zip(problem.may_share, rows, strict=True) if share(i, j)]


def _home(problem: Problem, name: Id) -> int:
    """Return the position of a buffer, or of the one that it lives in."""
    i = problem.index[name]
    return problem.roots.get(i, (i, 0))[0]
