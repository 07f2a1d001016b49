"""Random problems of 40 buffers or more that are drawn around a known plan, so this plan follows all of their rules."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import inf
from typing import Any, NamedTuple

import numpy as np

from lab.families import Rectangle, dissect, guillotine, pinwheel
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import Placement

Spans = list[tuple[int, int]]


class Piece(NamedTuple):
    """A buffer of the known plan in a pool."""

    lives: Spans
    size: int
    offset: int

    @property
    def end(self) -> int:
        return self.offset + self.size


@dataclass(frozen=True, slots=True)
class KnownPlan:
    """A problem with ids from 0 on, a plan that follows its rules, and the options of a call.

    `lowest` maps some buffers to their least offset, a rule of C alone. `places` are the old (buffer, pool, offset,
    weight). After `asked` questions, `cancel` ends a call in C; 0: never.
    """

    problem: Problem
    plan: list[Placement]
    lowest: dict[int, int]
    places: list[tuple[int, int, int, int]]
    accept: float
    work: int
    seconds: float
    asked: int


def draw(seed: int) -> KnownPlan:
    """Return the case of a seed: one to three pools, filled or packed by first fit, and any mixture of rules."""
    rng = random.Random(seed)
    count, parts = 40 + int(100 * rng.random() ** 2), [rng.random() + 0.1 for _ in range(rng.choice((1, 2, 2, 3)))]
    is_bare = rng.random() < 0.6  # No rule that keeps `memplan_choose` from its windows.
    has = {kind: rng.random() < 0.3 for kind in ("gaps", "shares", "walls", "beyond")}
    pools, rows, shares = list[dict[str, Any]](), list[tuple[int, Piece]](), Spans()
    for q, (part, cost) in enumerate(zip(parts, rng.sample((0, 1, 5, 20), len(parts)), strict=True)):
        granule, bands = rng.choice((1, 1, 8)), Spans([(0, rng.choice((40, 150, 1000)))])
        if has["walls"]:
            cuts = np.cumsum([0, *(rng.randint(1, 60) for _ in range(2 * rng.randint(1, 2) + 1))]).tolist()
            bands = list(zip(cuts[::2], cuts[1::2], strict=True))
        bands = [(low * granule, high * granule) for low, high in bands]
        pieces = _packed_plan(rng, bands, max(2, int(count * part / sum(parts))), granule)
        if has["gaps"]:
            pieces = [each for piece in pieces for each in _split(rng, piece)]
        for k in rng.sample(range(len(pieces)), len(pieces) // 8 * has["shares"]):
            twins = range(len(rows) + len(pieces), len(rows) + len(pieces) + rng.choice((1, 1, 2)))
            shares += combinations((len(rows) + k, *twins), 2)
            pieces += [Piece(pieces[k].lives[-1:], rng.randint(1, pieces[k].size), pieces[k].offset) for _ in twins]
        rows += [(q, piece) for piece in pieces]
        base = 0 if is_bare else granule * rng.randrange(4)
        pools.append({"name": str(q), "cost": cost, "base_address": base, "device": q})
        pools[-1] |= _extent(rng, pieces, bands, has["beyond"])
    if rng.random() < 0.5:
        pools[-1]["size"] = None
    is_choice = len(pools) > 1 and rng.random() < 0.7
    buffers, lowest = _buffers(rng, pools, rows, is_choice, is_bare)
    if not is_bare and rng.random() < 0.5:
        _join(rng, rows, buffers, {i for pair in shares for i in pair})
    pairs = (rng.sample(range(len(rows)), 2) for _ in range(rng.choice((0, 0, 0, 10, 60))))
    apart = [(i, j) for i, j in pairs if rows[i][0] != rows[j][0] or not _meet(rows[i][1], rows[j][1])]
    plan = [Placement(id=i, pool=str(q), offset=piece.offset) for i, (q, piece) in enumerate(rows)]
    part = rng.choice((0, 0, 0.1, 0.3, 0.9))
    places = [_place(rng, i, *rows[i], len(pools)) for i in range(len(rows)) if rng.random() < part]
    rng.shuffle(buffers)
    fields = {"buffers": buffers, "pools": pools, "conflicts": apart, "may_share": shares}
    fields["objective"] = "cost" if is_choice else "peak"
    short = (0, 1), (0, 100), (0, 1000), (0, 1000), (0.01, 0), (0.05, 0), (0, 0 if count < 60 else 2000)
    limits = rng.choice((0.0, 0.1, 0.5, inf)), rng.choice((0, 0, 100, 1000)), *rng.choice(short)
    return KnownPlan(Problem.model_validate(fields), plan, lowest, places, *limits)


def _packed_plan(rng: random.Random, bands: Spans, wanted: int, granule: int) -> list[Piece]:
    """Return pieces that fill bands of bytes at all times, or that are packed into these and above by first fit."""
    steps, pieces = rng.choice((8, 20, 60)), list[Piece]()
    if rng.random() < 0.3:
        numpy_rng = np.random.default_rng(rng.getrandbits(60))
        for low, high in bands:
            whole, cut = Rectangle(0, steps, 0, (high - low) // granule), rng.choice((guillotine, pinwheel))
            n = max(1, min(wanted // len(bands), steps * whole.high // 2))
            for start, end, under, over in dissect(n, whole, cut, numpy_rng):
                pieces.append(Piece([(start, end)], (over - under) * granule, low + under * granule))
        return pieces
    most = rng.choice((6, 30, 200))
    for _ in range(wanted):
        start, size, at = rng.randrange(steps), granule * rng.randint(1, most), 0
        end = start + 1 + int(rng.expovariate(0.4 if rng.random() < 0.9 else 0.05))
        beside = [(each.offset, each.end) for each in pieces if each.lives[0][0] < end and start < each.lives[0][1]]
        for low, high in sorted(beside + _walls(bands)):
            at = at if at + size <= low else max(at, high)
        pieces.append(Piece([(start, end)], size, at))
    return pieces


def _walls(bands: Spans) -> Spans:
    return [(low, high) for (_, low), (high, _) in pairwise(bands)]


def _split(rng: random.Random, piece: Piece) -> Iterator[Piece]:
    """Yield a piece; or the piece with a gap in its lifetime, and another piece in this gap."""
    ((start, end),) = piece.lives
    if end - start < 3 or rng.random() < 0.7:
        yield piece
        return
    low, high = sorted(rng.sample(range(start + 1, end), 2))
    yield piece._replace(lives=[(start, low), (high, end)])
    yield piece._replace(lives=[(low, high)], size=rng.randint(1, piece.size))


def _extent(rng: random.Random, pieces: Sequence[Piece], bands: Spans, has_end: bool) -> dict[str, Any]:
    """Return the size and the reserved ranges of a pool, some of which lie at its end or past it."""
    top, walls = max(piece.end for piece in pieces), _walls(bands)
    size = rng.choice((top, top + top // 20, top + top // 4, 2 * top, None))
    if has_end:
        low = max(
            top,
            bands[-1][0],
            (size or top) + rng.choice((-1, 0, 1)) * rng.randint(0, max(piece.size for piece in pieces)),
        )
        walls.append((low, low + rng.randint(1, 40)))
    return {"size": size, "reserved": [(low, high - low) for low, high in walls]}


def _buffers(
    rng: random.Random, pools: list[dict[str, Any]], rows: list[tuple[int, Piece]], is_choice: bool, is_bare: bool
) -> tuple[list[dict[str, Any]], dict[int, int]]:
    """Return the buffers of a problem, with rules that the known plan follows, and their lowest offsets."""
    often = {kind: rng.choice((0, 0, 0, 0.1, 0.3)) for kind in ("limit", "lowest", "page", "align")}
    pinned, open_to = rng.choice((0, 0.1, 0.3)), rng.choice((0, 0.1, 0.5, 1)) if is_choice else 0
    moved = rng.choice(((0,), (0, 1, 1, 2), (1, 1, 3)))
    made, lowest = list[dict[str, Any]](), dict[int, int]()
    for i, (q, (lives, size, at)) in enumerate(rows):
        address, page = at + pools[q]["base_address"], size + rng.randint(0, 2 * size)
        row = {"id": i, "size": size, "lifetimes": lives, "pools": [str(q)]}
        row["traffic"] = size * rng.choice(moved) * (20 if pools[q]["cost"] == min(p["cost"] for p in pools) else 1)
        if rng.random() < pinned:
            row["offset"] = at
        else:
            row["pools"] = [str(p) for p in range(len(pools)) if p == q or rng.random() < open_to]
        if rng.random() < often["limit"]:
            row["end_at_most"] = at + size + rng.choice((0, rng.randint(0, 50)))
        if rng.random() < often["align"]:
            row["alignment"] = rng.choice([step for step in (1, 2, 4, 8, 16) if address % step == 0])
        if not is_bare and rng.random() < often["page"] and address // page == (address + size - 1) // page:
            row["no_cross"] = page
        if rng.random() < often["lowest"]:
            lowest[i] = rng.randint(0, at)
        made.append(row)
    return made, lowest


def _join(rng: random.Random, rows: list[tuple[int, Piece]], buffers: list[dict[str, Any]], taken: set[int]) -> None:
    """Join some buffers of one pool at their distances; none of them is in a pair that shares."""
    for _ in range(rng.randint(1, 6)):
        q = rng.choice(rows)[0]
        free = [i for i, (pool, _) in enumerate(rows) if pool == q and i not in taken]
        lower, *upper = sorted(rng.sample(free, min(len(free), 3)), key=lambda i: rows[i][1].offset) or [0]
        for i in upper:
            buffers[i]["relative"] = {"to": lower, "offset": rows[i][1].offset - rows[lower][1].offset}
        taken |= {lower, *upper}


def _meet(a: Piece, b: Piece) -> bool:
    return a.offset < b.end and b.offset < a.end


def _place(rng: random.Random, i: int, q: int, piece: Piece, pools: int) -> tuple[int, int, int, int]:
    """Return an old place of a buffer: mostly that of the known plan, or another near it."""
    weight = rng.choice((1, 1, piece.size, 0))
    if rng.random() < 0.7:
        return i, q, piece.offset, weight
    return i, rng.randrange(pools), max(0, piece.offset + rng.randint(-piece.size, piece.size)), weight
