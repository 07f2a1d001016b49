"""The part of the verifier for rules between buffers, such as `relative`, `together` and `bank`."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import combinations, compress

import numpy as np
import numpy.typing as npt

from memplan.planner.errors import excerpt
from memplan.planner.model.buffer_table import ABSENT
from memplan.planner.model.problem import Problem
from memplan.planner.verify.placed import PlacedBuffers
from memplan.planner.verify.violation import Violation, buffer_violation

Id = int | str
PairRule = Callable[[Problem, PlacedBuffers], Iterator[Violation]]


def relatives_lie_where_they_must(problem: Problem, placed: PlacedBuffers) -> Iterator[Violation]:
    """Yield a violation for each `relative` buffer that is not at the required distance from its reference buffer."""
    ids = problem.buffers.ids
    for i, (name, distance) in problem.buffers.rules["relative"].items():
        if rule := placed.required_and_actual(i, placed.row[name], distance):
            sentence = f"must lie {distance} bytes from {excerpt(name)}, {', '.join(rule)}"
            yield buffer_violation(ids[i], "relative-misplaced", sentence)


def groups_are_together(problem: Problem, placed: PlacedBuffers) -> Iterator[Violation]:
    """Yield a violation for each buffer that is not in the pool of the first buffer of its `together` group."""
    for names in problem.together:
        pools = [(name, int(placed.pool[placed.row[name]])) for name in names]
        (first, home), *others = [(name, pool) for name, pool in pools if pool >= 0] or [("", ABSENT)]
        for name, pool in others:
            if pool != home:
                wanted, got = (excerpt(problem.pools[q].name) for q in (home, pool))
                message = f"buffer {excerpt(name)}: must be in the pool of {excerpt(first)} ({wanted}), got {got}"
                yield Violation("not-together", message, name, first)


def banks_are_apart(problem: Problem, placed: PlacedBuffers) -> Iterator[Violation]:
    """Yield one violation for each pair that illegally touches a common bank, even if two entries name the pair."""
    pairs = [pair for use in problem.bank if use.weight is None for pair in combinations(use.buffers, 2)]
    seen: set[frozenset[Id]] = set()
    for k in np.flatnonzero(common_bank_mask(problem, placed, pairs)).tolist():
        a, b = pairs[k]
        if frozenset((a, b)) in seen:
            continue
        seen.add(frozenset((a, b)))
        pool = excerpt(problem.pools[int(placed.pool[placed.row[a]])].name)
        message = f"buffers {excerpt(a)} and {excerpt(b)} touch a common bank of {pool}, but are used at the same step"
        yield Violation("bank-clash", message, a, b)


KEPT_FREE: Mapping[str, Callable[[Problem], Iterable[tuple[Id, Id, int]]]] = {}
"""For each field, the function that returns the clearances it requires between two buffers of one pool."""


def pairs_kept_clear(
    problem: Problem, placed: PlacedBuffers, fields: Iterable[str] = KEPT_FREE
) -> Iterator[tuple[Id, Id, int, int, int]]:
    """Yield (id, id, root, root, bytes): the bytes to keep free between two non-empty buffers with these roots."""
    for field in fields:
        for a, b, free in KEPT_FREE[field](problem):
            i, j = placed.root_of(a), placed.root_of(b)
            if problem.buffers.size[i] > 0 and problem.buffers.size[j] > 0:
                yield a, b, i, j, free


def clearances_are_kept(field: str, problem: Problem, placed: PlacedBuffers) -> Iterator[Violation]:
    """Yield a violation for each pair of buffers that are closer than the clearance that a field requires."""
    for a, b, i, j, free in pairs_kept_clear(problem, placed, (field,)):
        low, high = sorted((i, j), key=lambda row: int(placed.offset[row]))
        is_near = int(placed.offset[high]) < int(placed.end[low]) + free
        if is_near and placed.pool[low] == placed.pool[high] != ABSENT:
            message = f"buffers {excerpt(a)} and {excerpt(b)} must keep {free} bytes free between them ({field})"
            yield Violation("too-near", message, a, b)


def offsets_are_equal(problem: Problem, placed: PlacedBuffers) -> Iterator[Violation]:
    """Yield a violation for each buffer whose offset differs from that of the first buffer in its `same_offset` set."""
    for names in problem.same_offset:
        offsets = [int(placed.offset[placed.row[name]]) for name in names]
        for name, offset in zip(names, offsets, strict=True):
            if offset != offsets[0]:
                message = (
                    f"buffer {excerpt(name)}: must have the offset of {excerpt(names[0])} ({offsets[0]}), got {offset}"
                )
                yield Violation("offsets-differ", message, name, names[0])


def pools_hold_equal_use(problem: Problem, placed: PlacedBuffers) -> Iterator[Violation]:
    """Yield a violation for each pool that is smaller than the common use of all pools."""
    most = max(placed.pool_uses().values())
    for pool in problem.pools:
        if pool.size is not None and pool.size < most:
            message = (
                f"pool {excerpt(pool.name)}: must hold the bytes that each pool uses ({most}), got size {pool.size}"
            )
            yield Violation("past-capacity", message)


PAIR_RULES: Mapping[str, PairRule] = {
    "bank": banks_are_apart,
    "same_offset": offsets_are_equal,
    "equal_use": pools_hold_equal_use,
    **{field: partial(clearances_are_kept, field) for field in KEPT_FREE},
}
"""For each field of a problem, the rule between buffers, or for pools, that the field requires."""


def common_bank_mask(problem: Problem, placed: PlacedBuffers, pairs: Iterable[tuple[Id, Id]]) -> npt.NDArray[np.bool_]:
    """Return True for each pair that touches a common bank of its pool; an alias counts as its whole root buffer."""
    rows = np.array([[placed.root_of(name) for name in pair] for pair in pairs], dtype=np.int64).reshape(-1, 2)
    is_common = np.zeros(len(rows), dtype=np.bool_)
    size = problem.buffers.size
    for q, pool in enumerate(problem.pools):
        if pool.bank_size is None:
            continue
        here = np.flatnonzero((placed.pool[rows] == q).all(axis=1) & (size[rows] > 0).all(axis=1))
        base, width = np.uint64(pool.base_address), np.uint64(pool.bank_size)
        # Addresses are less than 2^63 + 2^62 and ends are less than 2^64, so uint64 holds both without overflow.
        first = (placed.offset[rows[here]].astype(np.uint64) + base) // width
        last = (placed.end[rows[here]] - np.uint64(1) + base) // width
        is_common[here] = (first[:, 0] <= last[:, 1]) & (first[:, 1] <= last[:, 0])
    return is_common


def weighted_clashes(problem: Problem, placed: PlacedBuffers) -> list[tuple[tuple[Id, Id], float]]:
    """Return (pair, cost) for each weighted pair whose buffers touch a common bank."""
    pairs = [
        (pair, use.weight) for use in problem.bank if use.weight is not None for pair in combinations(use.buffers, 2)
    ]
    return list(compress(pairs, common_bank_mask(problem, placed, [pair for pair, _ in pairs]).tolist()))


def pairs_that_clash(problem: Problem, placed: PlacedBuffers) -> list[tuple[Id, Id]]:
    """Return the weighted pairs that touch a common bank, once per `bank` entry that names them."""
    return [pair for pair, _ in weighted_clashes(problem, placed)]


def pairs_that_share(problem: Problem, placed: PlacedBuffers) -> list[tuple[Id, Id]]:
    """Return the `may_share` pairs of non-empty buffers that have the same pool and offset while both are alive."""
    table = problem.buffers
    rows = [(placed.root_of(a), placed.root_of(b)) for a, b in problem.may_share]
    alive: dict[int, list[tuple[int, int]]] = {i: [] for pair in rows for i in pair}
    for i in (*alive, *table.aliases):
        root = int(placed.root[i])
        if root in alive:
            low, high = int(table.first[i]), int(table.first[i + 1])
            alive[root] += zip(table.start[low:high].tolist(), table.end[low:high].tolist(), strict=True)

    def share(i: int, j: int) -> bool:
        is_same_place = placed.pool[i] == placed.pool[j] != ABSENT and placed.offset[i] == placed.offset[j]
        if not is_same_place or table.size[i] == 0 or table.size[j] == 0:
            return False
        return any(start < until and since < end for start, end in alive[i] for since, until in alive[j])

    return [pair for pair, (i, j) in zip(problem.may_share, rows, strict=True) if share(i, j)]
