"""The search for shared objects of minimum total size: heuristics, an exact sweep, all partitions, and local search."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp

from memplan.extensions.objects.demands import Demands, IsOver, Objects, demands, groups
from memplan.extensions.objects.live_set_sweep import search_objects
from memplan.extensions.objects.ways import run_heuristics

_MOST_STEPS = 300_000
"""The maximum number of steps of the search over partitions (about 2 s), after which local search follows."""
_MOST_MOVES, _HEAT = 40_000, 0.02
"""The number of moves of a local search (3 s for 200 buffers), and the relative worsening it accepts at its start."""


@dataclass(frozen=True)
class FoundObjects:
    """The best assignment `where` to shared objects: its total size (`cost`), a bound on it, and how it was found."""

    cost: int
    where: Objects
    bound: int
    by: str
    ways: Mapping[str, int]


def search(found: Demands, is_over: IsOver, is_late: IsOver) -> FoundObjects:
    """Return objects of small total size; they are optimal if `cost` equals `bound`.

    The sweep stops when `is_late()` is true, and the whole search when `is_over()` is true.
    """
    ways = run_heuristics(found, is_over)
    by, (cost, where) = min(ways.items(), key=lambda way: way[1][0])
    bound, better = search_objects(found, cost if found.is_plain else cost + 1, is_late)
    # The sweep ignores limits on single sides and on ratios, so accept its objects only if they have a cost.
    if better is not None and (least := found.cost(better)) is not None and least < cost:
        cost, where, by = least, better, "sweep"
    if cost > bound and not found.is_plain:
        is_all, parts = _try_partitions(found, cost, is_late)
        if parts is not None:
            cost, where, by = found.cost(parts) or 0, parts, "partitions"
        bound = cost if is_all else bound
    if cost > bound:
        moved = _local_search(found, where, bound, is_over)
        if (less := found.cost(moved) or 0) < cost:
            cost, where, by = less, moved, "local-search"
    return FoundObjects(cost, where, min(bound, cost), by, {name: value for name, (value, _) in ways.items()})


def search_kinds(
    lifetimes: Sequence[tuple[int, int]],
    sides: Sequence[tuple[int, int]],
    kinds: Sequence[object],
    ratio: int | None,
    clocks: tuple[IsOver, IsOver],
) -> FoundObjects:
    """Return objects for buffers of several kinds; buffers of different kinds (`kinds`) never share an object.

    `clocks` are the functions `is_over` and `is_late` of `search`.
    """
    where, by, cost, bound, made = [0] * len(kinds), list[str](), 0, 0, 0
    ways: dict[str, int] = {}
    for kind in dict.fromkeys(kinds):
        rows = [i for i, each in enumerate(kinds) if each == kind]
        each = search(demands([lifetimes[i] for i in rows], [sides[i] for i in rows], ratio), *clocks)
        ways = {name: ways.get(name, 0) + each.ways[name] for name in each.ways if by == [] or name in ways}
        for members in groups(each.where):
            for i in members:
                where[rows[i]] = made
            made += 1
        cost, bound = cost + each.cost, bound + each.bound
        by.append(each.by)
    return FoundObjects(cost, where, bound, " and ".join(dict.fromkeys(by)), ways)


def _try_partitions(found: Demands, most: int, is_late: IsOver) -> tuple[bool, Objects | None]:
    """Try all partitions into objects of total size below `most`; return (whether all were tried, the best or None)."""
    order = sorted(range(len(found)), key=lambda i: (found.first[i], -found.amounts[i]))
    objects: list[list[int]] = []
    best: Objects | None = None
    steps = 0

    def place(k: int, cost: int) -> None:
        """Assign buffer k and all later ones to objects in every way; `cost` is the total object size so far."""
        nonlocal most, best, steps
        steps += 1
        if cost >= most or steps > _MOST_STEPS or (not steps % 1000 and is_late()):
            steps += _MOST_STEPS * (cost < most)
            return
        if k == len(order):
            most, best = cost, [0] * len(order)
            for o, members in enumerate(objects):
                for i in members:
                    best[i] = o
            return
        i, alike = order[k], set[tuple[int, ...]]()
        objects.append([])
        for members in objects:
            # Free objects with equal extreme sides are the same for all later buffers, so try only one of them.
            sides = (found.width, found.height) if members else ()
            key = tuple(extreme(side[j] for j in members) for extreme in (max, min) for side in sides)
            if key in alike or any(found.last[j] > found.first[i] for j in members):
                continue
            alike.add(key)
            old, new = found.amount(members), found.amount([*members, i])
            if new is not None:
                members.append(i)
                place(k + 1, cost + new - (old or 0))
                members.pop()
        objects.pop()

    place(0, 0)
    return steps <= _MOST_STEPS, best


def _local_search(found: Demands, where: Objects, bound: int, is_over: IsOver) -> Objects:
    """Return an assignment of smaller total size if simulated annealing from `where`, by exchanges, finds one."""
    chance, at = random.Random(0), list(where)
    held = {o: {i for i, each in enumerate(at) if each == o} for o in set(at)}
    amounts = {o: found.amount([*members]) or 0 for o, members in held.items()}
    total = least = sum(amounts.values())
    best = list(at)
    for step in range(_MOST_MOVES):
        if least <= bound or (not step % 64 and is_over()):
            break
        i = chance.randrange(len(at))
        mine, other = at[i], chance.choice([*held]) if chance.random() < 0.95 else max(held) + 1
        if mine == other:
            continue
        there = held.get(other, set())
        if chance.random() < 0.5:
            out, back = {i}, {j for j in there if found.meet(i, j)}
        else:
            cut = found.first[i]
            out, back = ({j for j in some if found.first[j] >= cut} for some in (held[mine], there))
        after = {mine: held[mine] - out | back, other: there - back | out}
        pairs = ((held[mine] - out, back), (there - back, out))
        if any(found.meet(j, k) for stay, come in pairs for j in stay for k in come):
            continue
        changed = {o: found.amount([*members]) for o, members in after.items()}
        if None in changed.values():
            continue
        new = total - amounts[mine] - amounts.get(other, 0) + sum(each or 0 for each in changed.values())
        heat = _HEAT * least * (1 - step / _MOST_MOVES) + 1e-9
        if new > total and chance.random() >= exp((total - new) / heat):
            continue
        total = new
        for o, members in after.items():
            held[o], amounts[o] = members, changed[o] or 0
            if not members:
                del held[o], amounts[o]
            for j in members:
                at[j] = o
        if total < least:
            least, best = total, list(at)
    return best
