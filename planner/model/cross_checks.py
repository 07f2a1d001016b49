"""Whether what a problem says of several buffers at once makes sense: aliases, rigid groups, pairs, company."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import comb

from memplan.planner.errors import Location, shown
from memplan.planner.model.problem_fields import ProblemFields

Breaks = Iterator[tuple[Location, str]]
MAX_BANK_PAIRS = 1_000_000
"""How many pairs the entries of `bank` may make: every two buffers of an entry are one."""


def unknown_names(problem: ProblemFields) -> Breaks:
    """Yield names of buffers and of pools that the problem does not have."""
    for i, (name, _) in problem.buffers.aliases.items():
        if name not in problem.index:
            yield ("buffers", i, "alias_of"), f"must be the id of a buffer, got {shown(name)}"
    for i, (name, _) in problem.buffers.relatives.items():
        if name not in problem.index:
            yield ("buffers", i, "relative", "to"), f"must be the id of a buffer, got {shown(name)}"
    for i, names in problem.buffers.forbidden.items():
        for k, pool in enumerate(names):
            if pool not in problem.pool_index:
                yield ("buffers", i, "forbid_pools", k), f"must name a pool of the problem, got {shown(pool)}"
    places: list[tuple[Location, tuple[int | str, ...]]] = [
        *((("conflicts", k), pair) for k, pair in enumerate(problem.conflicts)),
        *((("may_share", k), pair) for k, pair in enumerate(problem.may_share)),
        *((("bank", k, "buffers"), use.buffers) for k, use in enumerate(problem.bank)),
        *((("together", k), names) for k, names in enumerate(problem.together)),
    ]
    index = problem.index if places else {}
    for place, ids in places:
        for side, name in enumerate(ids):
            if name not in index:
                yield (*place, side), f"must be the id of a buffer, got {shown(name)}"


def too_much(problem: ProblemFields) -> Breaks:
    """Yield what leaves no pool to live in, and more pairs than can be looked at."""
    for i, names in problem.buffers.forbidden.items():
        if not set(names) <= problem.pool_index.keys():
            continue
        if not problem.allowed_pools(i):
            yield ("buffers", i, "forbid_pools"), f"must leave a pool that it may live in, got {shown(names)}"
    pairs = sum(comb(len(use.buffers), 2) for use in problem.bank)
    if pairs > MAX_BANK_PAIRS:
        yield ("bank",), f"must make at most {MAX_BANK_PAIRS} pairs, got {pairs}"


def broken_aliases(problem: ProblemFields) -> Breaks:
    """Yield aliases that do not lie inside another buffer."""
    size, aliases = problem.buffers.size, problem.buffers.aliases
    for i, (name, distance) in aliases.items():
        room, end = int(size[problem.index[name]]), distance + int(size[i])
        if end > room:
            rule = f"must end inside {shown(name)} ({room} bytes), got an end at {end}"
            yield ("buffers", i, "alias_offset"), rule
    for i in _in_cycles(aliases, lambda i: problem.index[aliases[i][0]]):
        yield ("buffers", i, "alias_of"), f"must not lead back to itself, got {shown(aliases[i][0])}"


def broken_relatives(problem: ProblemFields) -> Breaks:
    """Yield what cannot be joined: buffers of no bytes, and chains that lead back to themselves."""
    size, relatives = problem.buffers.size, problem.buffers.relatives
    for i, (name, _) in relatives.items():
        if size[i] == 0:
            yield ("buffers", i, "relative"), "must not be given for a buffer of no bytes"
        elif size[problem.root_of(name)] == 0:
            yield ("buffers", i, "relative", "to"), f"must be a buffer of some bytes, got {shown(name)}"
    for i in _in_cycles(relatives, lambda i: problem.target(i)[0]):
        yield ("buffers", i, "relative", "to"), f"must not lead back to itself, got {shown(relatives[i][0])}"


def _in_cycles(linked: Iterable[int], following: Callable[[int], int]) -> list[int]:
    """Return those of some linked buffers that lead back to themselves; every link is followed once."""
    left = dict.fromkeys(linked)
    found: list[int] = []
    for i in list(left):
        path: dict[int, int] = {}
        while i in left:
            del left[i]
            path[i] = len(path)
            i = following(i)
        if i in path:
            found += list(path)[path[i] :]
    return sorted(found)


def broken_pairs(problem: ProblemFields) -> Breaks:
    """Yield pairs that contradict a family of aliases, a rigid group or each other."""
    yield from _conflicts_inside(problem)
    yield from _sharing_that_cannot_be(problem)
    for k, use in enumerate(problem.bank):
        seen: dict[int, int | str] = {}
        for side, name in enumerate(use.buffers):
            group = _group_of(problem, name)
            if group in seen:
                rule = f"must not be tied to another buffer of the entry ({shown(seen[group])}), got {shown(name)}"
                yield ("bank", k, "buffers", side), rule
            seen[group] = name


def _conflicts_inside(problem: ProblemFields) -> Breaks:
    if not problem.buffers.aliases and not problem.rigid:
        return
    size = problem.buffers.size
    for k, (a, b) in enumerate(problem.conflicts):
        i, j = problem.root_of(a), problem.root_of(b)
        if a != b and i == j:
            yield ("conflicts", k), f"must not pair a buffer with its own alias, got {shown((a, b))}"
        elif i != j and i in problem.rigid and _group_of(problem, a) == _group_of(problem, b):
            apart = problem.rigid[j][1] - problem.rigid[i][1]
            if -size[j] < apart < size[i]:
                rule = "must not pair buffers that relative makes share bytes"
                yield ("conflicts", k), f"{rule}, got {shown((a, b))}"


def _sharing_that_cannot_be(problem: ProblemFields) -> Breaks:
    if not problem.may_share:
        return
    apart = {frozenset((problem.root_of(a), problem.root_of(b))) for a, b in problem.conflicts}
    for k, pair in enumerate(problem.may_share):
        a, b = pair
        for side, name in enumerate(pair):
            i = problem.index[name]
            root, distance = problem.roots.get(i, (i, 0))
            if distance or problem.buffers.size[i] != problem.buffers.size[root]:
                whole = shown(problem.buffers.ids[root])
                yield ("may_share", k, side), f"must be a whole buffer, not a part of {whole}, got {shown(name)}"
        if a == b and type(a) is type(b):
            yield ("may_share", k), f"must pair two buffers, got {shown(pair)}"
        elif _group_of(problem, a) == _group_of(problem, b):
            yield ("may_share", k), f"must not pair buffers that alias_of or relative ties together, got {shown(pair)}"
        elif frozenset((problem.root_of(a), problem.root_of(b))) in apart:
            yield ("may_share", k), f"must not pair buffers that conflicts keep apart, got {shown(pair)}"


def _group_of(problem: ProblemFields, name: int | str) -> int:
    """Return the lowest buffer of the rigid group that a buffer, or the one it lives in, belongs to."""
    i = problem.root_of(name)
    return problem.rigid.get(i, (i, 0))[0]
