"""The lint rules for problems; each rule yields findings about legal parts that are probably unintended."""

from collections.abc import Callable, Iterator
from itertools import chain, islice
from math import lcm

import numpy as np

from memplan.planner.errors import count_text, excerpt
from memplan.planner.formats.minimalloc_csv import CLOSED_COLUMN
from memplan.planner.formats.sheet import first_line
from memplan.planner.model.buffer_table import ABSENT, I64, BufferTable
from memplan.planner.model.columns import unique_values
from memplan.planner.model.constraints.kinds import kinds_of
from memplan.planner.model.finding import MAX_LISTED, Finding
from memplan.planner.model.intervals import handovers_of
from memplan.planner.model.problem import ADDRESS_SPACE, Pool, Problem

_STIR = 0x5851F42D4C957F2D
"""A multiplier that combines several numbers into one, such that different rows rarely collide."""
_MOST_TABLES = 3
"""The number of pinned buffers up to which they may be hardware tables; more, if all are pinned, look like a plan."""
_LEAST_DOUBLED = 16
"""The minimum number of equal rows to report, because kernels often use a few equal buffers in turn."""


def lint(problem: Problem) -> tuple[Finding, ...]:
    """Return lint findings about a problem, at most MAX_LISTED per rule, in O(m log m) time for m lifetimes."""
    table, pools = problem.buffers, problem.pools
    stated = {
        "buffers": True,
        "pins": table.has_any(table.offset),
        "conflicts": bool(problem.conflicts),
        "lifetimes": not table.has_one_lifetime_each,
        "sizes of pools": any(pool.size is not None for pool in pools),
        "base addresses": any(pool.base_address for pool in pools),
    }
    rules = [rule for subject, rule in _RULES if stated[subject]]
    rules += dict.fromkeys(kind.findings for kind in kinds_of(problem) if kind.findings is not None)
    return tuple(finding for rule in rules for finding in islice(rule(problem), MAX_LISTED))


def _report_all_pinned(problem: Problem) -> Iterator[Finding]:
    table = problem.buffers
    free = (table.offset == ABSENT) & (table.size > 0)
    free[list(table.aliases)] = False
    n_pinned = int(((table.offset != ABSENT) & (table.size > 0)).sum())
    if n_pinned > _MOST_TABLES and not free.any():
        way = "`memplan verify --better` takes such a plan"
        message = f"all {len(table)} buffers are pinned, so nothing is left to plan; {way}"
        yield Finding("all-pinned", message, ())


def _report_directed_conflicts(problem: Problem) -> Iterator[Finding]:
    """Report that some conflicts are listed in both directions, as in adjacency lists, but others in only one."""
    first, second = _conflict_positions(problem)
    n = len(problem.buffers)
    directed, turned = unique_values((first * n + second)[first != second]), second * n + first
    is_one_way = ~np.isin(turned, directed) & (first != second)
    both = len(directed) - len(unique_values(turned[is_one_way]))
    if both and is_one_way.any():
        pair = problem.conflicts[int(is_one_way.argmax())]
        once = f"but {excerpt(pair)} in only one; each counts in both"
        yield Finding(
            "asymmetric-conflicts",
            f"conflicts: {count_text(both // 2, 'pair')} listed in both directions, {once}",
            pair,
        )


def _report_self_conflicts(problem: Problem) -> Iterator[Finding]:
    first, second = _conflict_positions(problem)
    for k in np.flatnonzero(first == second).tolist():
        name = problem.conflicts[k][0]
        yield Finding(
            "self-conflict", f"conflicts[{k}]: pairs {excerpt(name)} with itself, which has no effect", (name,)
        )


def _conflict_positions(problem: Problem) -> I64:
    names = chain.from_iterable(problem.conflicts)
    return np.fromiter(map(problem.index.__getitem__, names), np.int64, 2 * len(problem.conflicts)).reshape(-1, 2).T


def _report_unconstrained_buffers(problem: Problem) -> Iterator[Finding]:
    table = problem.buffers
    named = {name for pair in problem.conflicts for name in pair}
    for i in np.flatnonzero((np.diff(table.first) == 0) & (table.size > 0)).tolist():
        name = table.ids[i]
        if i not in table.aliases and name not in named:
            message = f"buffer {excerpt(name)}: has no lifetime and no conflict, so it may share bytes with all others"
            yield Finding("never-alive", message, (name,))


def _report_oversized_buffers(problem: Problem) -> Iterator[Finding]:
    """Report buffers larger than all allowed pools, or than the space in each pool above the first aligned offset."""
    table, pools = problem.buffers, problem.pools
    steps, step = np.unique(table.alignment, return_inverse=True)
    kinds, kind = np.unique(table.pool_choice * len(steps) + step, return_inverse=True)
    choices = (kinds // max(1, len(steps))).tolist()
    allowed = [[pools[problem.pool_index[name]] for name in names] or pools for names in table.pool_choices]
    largest = [max(_pool_bytes(pool) for pool in allowed[choice]) for choice in choices]
    room = [
        max(_pool_bytes(pool) - _first_aligned_offset(pool, step) for pool in allowed[choice])
        for choice, step in zip(choices, steps[kinds % max(1, len(steps))].tolist(), strict=True)
    ]
    for i in np.flatnonzero(table.size > np.array(room, dtype=np.int64)[kind]).tolist():
        name, size, k = table.ids[i], int(table.size[i]), int(kind[i])
        rule, why = "never-aligned", f"must fit behind the first aligned offset of a pool ({max(0, room[k])} bytes)"
        if size > largest[k]:
            rule, why = "too-large", f"must fit a pool that it may use (the largest has {largest[k]} bytes)"
        yield Finding(rule, f"buffer {excerpt(name)}: {why}, got size {size}", (name,))


def _pool_bytes(pool: Pool) -> int:
    return ADDRESS_SPACE - 1 if pool.size is None else pool.size


def _first_aligned_offset(pool: Pool, alignment: int) -> int:
    return min(-pool.base_address % lcm(pool.alignment, alignment), ADDRESS_SPACE - 1)


def _report_misaligned_pools(problem: Problem) -> Iterator[Finding]:
    for pool in problem.pools:
        if pool.base_address % pool.alignment:
            rule = f"must be a multiple of the pool's alignment ({pool.alignment}), or offset 0 cannot be used"
            yield Finding("misaligned-pool", f"pool {excerpt(pool.name)}: base_address {rule}, got {pool.base_address}")


def _report_reserved_past_end(problem: Problem) -> Iterator[Finding]:
    for pool in problem.pools:
        for k, (low, width) in enumerate(pool.reserved):
            if pool.size is not None and low + width > pool.size:
                rule = f"must end inside the pool ({pool.size} bytes), got an end at {low + width}"
                yield Finding("reserved-past-end", f"pool {excerpt(pool.name)}: reserved[{k}] {rule}")


def _report_inclusive_ends(problem: Problem) -> Iterator[Finding]:
    """Report that the lifetimes' ends look inclusive, unless the problem states its `interval`."""
    if "interval" in problem.model_fields_set:
        return
    handovers, births = handovers_of(problem.buffers.start, problem.buffers.end)
    if len(handovers):
        share = f"{len(handovers)} of the {births} times at which buffers are born, such as {int(handovers[0])}"
        message = (
            f"lifetimes: ends look inclusive, but are read as half-open: at {share}, no earlier buffer is alive;"
            " if ends are inclusive, give --inclusive, or interval: closed in JSON"
        )
        yield Finding("inclusive-ends", message)


def inclusive_end_findings(problem: Problem, data: bytes) -> Iterator[Finding]:
    """Report the effect on the peak if the lifetimes' ends are read as inclusive because the CSV column is `end`.

    The finding has the peak live bytes with inclusive and with exclusive ends. Nothing is reported if they are equal,
    or if exclusive ends would leave a buffer without a lifetime, because then the ends are certainly inclusive.
    """
    table = problem.buffers
    if CLOSED_COLUMN not in first_line(data) or not table.has_one_lifetime_each or (table.end - 1 <= table.start).any():
        return
    closed, half_open = (_peak_live_bytes(table, end) for end in (table.end, table.end - 1))
    if closed > half_open:
        message = (
            f'lifetimes: the column "end" of a CSV file is read as the last time of each lifetime, so the peak is'
            f' {closed:,} live bytes; if it is the first time after, the peak is {half_open:,}: name the column "upper"'
            " or give --half-open"
        )
        yield Finding("closed-ends", message)


def _peak_live_bytes(table: BufferTable, end: I64) -> int:
    times, change = np.concatenate([end, table.start]), np.concatenate([-table.size, table.size])
    return int(np.cumsum(change[np.argsort(times, kind="stable")]).max(initial=0))


def _report_doubled_rows(problem: Problem) -> Iterator[Finding]:
    """Report that over half of the buffers equal another one except for the id; in real problems, at most 41 % do."""
    table = problem.buffers
    # Sorting puts equal rows next to each other, so few equal neighbours prove that few rows are equal.
    if table.has_one_lifetime_each:
        mixed = np.sort((table.start * _STIR + table.end) * _STIR + table.size)
        if 4 * np.count_nonzero(mixed[1:] == mixed[:-1]) <= len(table):
            return
    plain = np.flatnonzero((np.diff(table.first) == 1) & (table.size > 0))
    if table.aliases:
        plain = plain[~np.isin(plain, np.array([*table.aliases], dtype=np.int64))]
    # Weights are often equal in real problems; they are alive all the time and state their traffic, so leave them out.
    at = table.first[plain]
    is_weight = (table.start[at] == table.start.min(initial=0)) & (table.end[at] == table.end.max(initial=0))
    plain = plain[~(is_weight & (table.traffic[plain] != ABSENT))]
    at = table.first[plain]
    numbers = table.size, table.alignment, table.offset, table.traffic, table.hint, table.pool_choice
    columns = (table.start[at], table.end[at], *(values[plain] for values in numbers))
    order = np.lexsort(columns[::-1])
    rows = np.stack(columns)[:, order]
    is_same = np.append((rows[:, 1:] == rows[:, :-1]).all(axis=0), False)
    is_like_another = is_same | np.append(False, is_same[:-1])
    if is_like_another.sum() >= _LEAST_DOUBLED and 2 * is_like_another.sum() > len(table):
        k = int(is_same.argmax())
        twins = tuple(table.ids[int(i)] for i in plain[order[k : k + 2]])
        some = f"{is_like_another.sum()} of {len(table)}"
        pair = f"{excerpt(twins[0])} and {excerpt(twins[1])}"
        message = f"buffers: {some} equal another buffer except for the id, such as {pair}"
        yield Finding("doubled-rows", message, twins)


def _report_overlapping_lifetimes(problem: Problem) -> Iterator[Finding]:
    """Report buffers with overlapping lifetimes."""
    table = problem.buffers
    if (np.diff(table.first) <= 1).all():
        return
    buffer_of = np.repeat(np.arange(len(table)), np.diff(table.first))
    order = np.lexsort((table.start, buffer_of))
    mine, start, end = buffer_of[order], table.start[order], table.end[order]
    # If two lifetimes of a buffer overlap, so do two consecutive ones sorted by start, so compare only neighbours.
    for k in np.flatnonzero((mine[1:] == mine[:-1]) & (start[1:] < end[:-1])).tolist():
        name = table.ids[int(mine[k])]
        pair = f"[{start[k]}, {end[k]}) and [{start[k + 1]}, {end[k + 1]})"
        yield Finding(
            "overlapping-lifetimes", f"buffer {excerpt(name)}: lifetimes {pair} overlap, and are read as one", (name,)
        )


def _report_colliding_pins(problem: Problem) -> Iterator[Finding]:
    """Report pinned buffers that break a rule at their pinned offsets, so that no plan can be valid."""
    from memplan.planner.verify.overlaps import no_two_share_bytes
    from memplan.planner.verify.placed import PlacedBuffers
    from memplan.planner.verify.verifier import check_places

    table = problem.buffers
    n = len(table)
    pool, offset = np.full(n, ABSENT), np.zeros(n, dtype=np.int64)
    start = {}
    for i in np.flatnonzero(table.offset >= 0).tolist():
        root, distance = problem.roots.get(i, (i, 0))
        start[root] = max(0, int(table.offset[i]) - distance)
        pool[root], offset[root] = problem.allowed_pools(i)[0], start[root]
    for i, (root, distance) in problem.roots.items():
        if root in start:
            pool[i], offset[i] = pool[root], start[root] + distance
    placed = PlacedBuffers(problem, pool, offset)
    for violation in chain(check_places(problem, placed), no_two_share_bytes(problem, placed)):
        about = tuple(name for name in (violation.first, violation.second) if name is not None)
        yield Finding("pins-collide", f"pinned: {violation.message}", about)


def _report_no_bytes(problem: Problem) -> Iterator[Finding]:
    table = problem.buffers
    if not len(table):
        yield Finding("no-buffers", "buffers: there are none, so there is nothing to plan")
    elif not table.size.any():
        yield Finding("no-bytes", f"buffers: all {len(table)} have size 0, so there is nothing to plan")


_RULES: tuple[tuple[str, Callable[[Problem], Iterator[Finding]]], ...] = (
    ("buffers", _report_no_bytes),
    ("pins", _report_all_pinned),
    ("conflicts", _report_directed_conflicts),
    ("conflicts", _report_self_conflicts),
    ("lifetimes", _report_unconstrained_buffers),
    ("sizes of pools", _report_oversized_buffers),
    ("base addresses", _report_misaligned_pools),
    ("sizes of pools", _report_reserved_past_end),
    ("buffers", _report_inclusive_ends),
    ("buffers", _report_doubled_rows),
    ("lifetimes", _report_overlapping_lifetimes),
    ("pins", _report_colliding_pins),
)
"""The rules, each with the part that a problem must have for the rule to run; constraint kinds add more rules."""
