"""The least cost of plans of buffers that move, by enumeration of all pieces, copies and offsets of small problems."""

from collections.abc import Iterator
from functools import cached_property
from itertools import chain, combinations, product
from typing import NamedTuple

from tests.support.moved_answers import Family, Row, allowed_pools, banks, families, is_fixed, is_legal, pairs, rules_of

Piece = tuple[str, int, int]
"""The pool, start and end of a piece."""
Copy = tuple[int, str, str]
"""The time and the two pools of a copy."""


class Way(NamedTuple):
    """One way of a buffer through the pools: its cost, pieces and copies."""

    cost: float
    pieces: tuple[Piece, ...]
    copies: tuple[Copy, ...]


class _Partial(NamedTuple):
    """The way up to a time: each pool that holds a piece has its start, and the time from which it is right."""

    way: Way
    held: dict[str, tuple[int, int]]


def ways(problem: Row, family: Family) -> list[Way]:
    """Return all ways of a buffer, without ways that cost no less than another and take its room and copies too."""
    mover = _Mover(problem, family)
    first = [family.row["given"]] if "given" in family.row else mover.pools
    partial = [_Partial(Way(0.0, (), ()), {q: (family.start, family.start)}) for q in first if q in mover.pools]
    times, counts_copies = range(family.start, family.end), rules_of(problem).bytes_per_step is not None
    for time in times:
        partial = _best_ways(chain.from_iterable(mover.after(each, time) for each in partial), times, counts_copies)
    kept = family.row.get("kept_in")
    done = [each for each in partial if kept is None or (kept in each.held and each.held[kept][1] <= family.end)]
    closed = (_Partial(_closed_ways(each, [*each.held], family.end), {}) for each in done)
    return sorted(each.way for each in _best_ways(closed, times, counts_copies))


def _closed_ways(partial: _Partial, pools: list[str], time: int) -> Way:
    return partial.way._replace(pieces=(*partial.way.pieces, *[(q, partial.held[q][0], time) for q in pools]))


def _best_ways(found: Iterator[_Partial], times: range, counts_copies: bool) -> list[_Partial]:
    """Return the ways that no other way replaces, among ways that hold right pieces in the same pools."""
    groups: dict[tuple[tuple[str, int], ...], list[tuple[int, int, _Partial]]] = {}
    for each in sorted(found, key=lambda each: each.way.cost):
        rest = groups.setdefault(tuple(sorted((q, due) for q, (_, due) in each.held.items())), [])
        room = sum({1 << (ord(q) - 97) * 8 + time for q, s, e in _pieces(each) for time in range(s, min(e, 8))})
        # Four bits count the copies of a time, whose top bit stays free for the comparison below.
        begun = sum(1 << 4 * time for time, _, _ in each.way.copies) if counts_copies else 0
        free = sum(8 << 4 * time for time in times)
        if not any(
            not low & ~room and ((begun | free) - less) & free == free and _replaces(other, each)
            for low, less, other in rest
        ):
            rest.append((room, begun, each))
    return [each for rest in groups.values() for _, _, each in rest]


def _pieces(partial: _Partial) -> list[Piece]:
    return [*partial.way.pieces, *((q, start, 1 << 30) for q, (start, _) in partial.held.items())]


def _replaces(one: _Partial, other: _Partial) -> bool:
    rooms = _pieces(other)
    return all(any(q == p and s <= start and end <= e for p, s, e in rooms) for q, start, end in _pieces(one))


class _Mover:
    def __init__(self, problem: Row, family: Family) -> None:
        self.family, self.lead = family, rules_of(problem).lead
        self.pools, self.is_fixed = allowed_pools(problem, family), is_fixed(problem, family)
        self.price = {pool["name"]: pool.get("cost", 0) for pool in problem["pools"]}
        self.direct = [pool["name"] for pool in problem["pools"] if pool.get("direct", True)]

    def after(self, partial: _Partial, time: int) -> Iterator[_Partial]:
        is_written = time in self.family.writes
        held = partial.held
        droppable = [q for q, (start, due) in held.items() if due <= time and start < time]
        for dropped in chain.from_iterable(combinations(droppable, n) for n in range(len(droppable) + 1)):
            now = {q: held[q] for q in held if q not in dropped}
            right = {q: dues for q, dues in now.items() if dues[1] <= time}
            if not right:
                continue
            way = _closed_ways(partial, [*dropped], time)
            for early in self._copies([*right], [q for q in self.pools if q not in now], self.lead and is_written):
                yield from self._accessed_states(way, now, early, time)

    def _copies(self, sources: list[str], ends: list[str], none: object) -> Iterator[list[tuple[str, str]]]:
        if none or self.is_fixed:
            yield []
            return
        for chosen in product((None, *sources), repeat=len(ends)):
            yield [(p, q) for p, q in zip(chosen, ends, strict=True) if p is not None and p != q]

    def _accessed_states(
        self, way: Way, now: dict[str, tuple[int, int]], early: list[tuple[str, str]], time: int
    ) -> Iterator[_Partial]:
        family = self.family
        held = now | {q: (time, time + self.lead) for _, q in early}
        usable = [q for q in self.direct if q in held and held[q][1] <= time]
        used = min(usable, key=lambda q: self.price[q], default=None)
        count = family.reads.get(time, 0) + family.writes.get(time, 0)
        if used is None:
            if time in family.reads or time in family.writes:
                return
        else:
            way = way._replace(cost=way.cost + count * self.price[used])
        if time not in family.writes or used is None:
            yield _Partial(self._copied_states(way, early, time), held)
            return
        if any(p == used for p, _ in early):
            return
        way = self._copied_states(way, early, time)
        for late in self._copies([used], [q for q in self.pools if q != used], None):
            ends = {q for _, q in late}
            stale = [q for q in held if q != used and q not in ends]
            after = {q: (held[q][0] if q in held else time, time + self.lead) for q in ends}
            closed = _closed_ways(_Partial(way, held), stale, time + 1)
            yield _Partial(self._copied_states(closed, late, time), after | {used: (held[used][0], time)})

    def _copied_states(self, way: Way, copies: list[tuple[str, str]], time: int) -> Way:
        cost = sum(self.family.row["size"] * (self.price[p] + self.price[q]) for p, q in copies)
        return way._replace(cost=way.cost + cost, copies=(*way.copies, *((time, p, q) for p, q in copies)))


class BruteForce:
    """The cheapest plan of a problem; `answer` is None if there is none."""

    def __init__(self, problem: Row) -> None:
        """Search all combinations of ways that cost less than the best plan so far."""
        self.problem, self.rules = problem, rules_of(problem)
        self.families = sorted(families(problem), key=lambda family: -family.row["size"])
        self.ways = [ways(problem, family) for family in self.families]
        self.least = [sum(min((way.cost for way in each), default=0) for each in self.ways[k:]) for k in range(9)]
        self.pools = {pool["name"]: pool for pool in problem["pools"]}
        self.packed: dict[object, dict[tuple[int, Piece], int] | None] = {}
        self.cost = float("inf")
        self.answer: Row | None = None
        self._search([], 0.0, {}, {})

    @cached_property
    def disjoint_pairs(self) -> tuple[set[frozenset[str]], set[frozenset[str]]]:
        return pairs(self.problem, "conflicts"), pairs(self.problem, "bank")

    def _search(self, chosen: list[Way], cost: float, load: dict[tuple[str, int], int], begun: dict[int, int]) -> None:
        k = len(chosen)
        if k == len(self.ways):
            offsets = self._offsets(chosen)
            if offsets is not None:
                self.cost = cost
                self.answer = self._answer(chosen, offsets)
            return
        size = self.families[k].row["size"]
        for way in self.ways[k]:
            if cost + way.cost + self.least[k + 1] >= self.cost - 1e-9:
                return
            loads, copied = dict(load), dict(begun)
            for pool, start, end in way.pieces:
                for time in range(start, end):
                    loads[pool, time] = loads.get((pool, time), 0) + size
            for time, _, _ in way.copies:
                copied[time] = copied.get(time, 0) + size
            limit = self.rules.bytes_per_step
            if (limit is None or max(copied.values(), default=0) <= limit) and all(
                count <= (self.pools[pool].get("size") or 64) for (pool, _), count in loads.items()
            ):
                self._search([*chosen, way], cost + way.cost, loads, copied)

    def _offsets(self, chosen: list[Way]) -> dict[tuple[int, Piece], int] | None:
        homes = {family.row["id"]: way.pieces for family, way in zip(self.families, chosen, strict=True)}
        for group in self.problem["together"]:
            if len({piece[0] for name in group for piece in homes.get(self._root(name), ())}) != 1:
                return None
        offsets: dict[tuple[int, Piece], int] = {}
        for pool in self.pools:
            mine = [(k, piece) for k, way in enumerate(chosen) for piece in way.pieces if piece[0] == pool]
            key = tuple(mine)
            if key not in self.packed:
                self.packed[key] = self._pack(self.pools[pool], mine, {})
            found = self.packed[key]
            if found is None:
                return None
            offsets |= found
        return offsets

    def _root(self, name: str) -> str:
        row = next(row for row in self.problem["buffers"] if row["id"] == name)
        root: str = row.get("alias_of", name)
        return root

    def _pack(
        self, pool: Row, pieces: list[tuple[int, Piece]], at: dict[tuple[int, Piece], int]
    ) -> dict[tuple[int, Piece], int] | None:
        if len(at) == len(pieces):
            return at
        one = pieces[len(at)]
        for offset in range((pool.get("size") or 64) + 1):
            if self._may_lie(pool, one, offset) and all(
                self._is_apart(pool, (one, offset), (other, where)) for other, where in at.items()
            ):
                found = self._pack(pool, pieces, at | {one: offset})
                if found is not None:
                    return found
        return None

    def _parts(self, piece: tuple[int, Piece], offset: int) -> Iterator[tuple[Row, int, int, int]]:
        """Yield (buffer, offset, start, end) of the parts of a piece that are its buffer and aliases."""
        _, start, end = piece[1]
        for row in self.families[piece[0]].members:
            first, last = (start, end) if "alias_of" not in row else (max(start, row["start"]), min(end, row["end"]))
            if first < last:
                yield row, offset + row.get("alias_offset", 0), first, last

    def _may_lie(self, pool: Row, piece: tuple[int, Piece], offset: int) -> bool:
        return all(is_legal(pool, row, at) for row, at, _, _ in self._parts(piece, offset))

    def _is_apart(self, pool: Row, one: tuple[tuple[int, Piece], int], other: tuple[tuple[int, Piece], int]) -> bool:
        for (a, low, start, end), (b, high, since, until) in product(self._parts(*one), self._parts(*other)):
            pair = frozenset((a["id"], b["id"]))
            is_met = low < high + b["size"] and high < low + a["size"] and a["size"] and b["size"]
            if is_met and ((start < until and since < end) or pair in self.disjoint_pairs[0]):
                return False
            if pair in self.disjoint_pairs[1] and banks(pool, a, low) & banks(pool, b, high):
                return False
        return True

    def _answer(self, chosen: list[Way], offsets: dict[tuple[int, Piece], int]) -> Row:
        placements = [
            {"id": row["id"], "pool": piece[0], "offset": at, "start": start, "end": end}
            for (k, piece), offset in offsets.items()
            for row, at, start, end in self._parts((k, piece), offset)
        ]
        copies = [
            {"id": family.row["id"], "from": p, "to": q, "time": time, "bytes": family.row["size"]}
            for family, way in zip(self.families, chosen, strict=True)
            for time, p, q in way.copies
        ]
        return {"placements": placements, "copies": copies, "cost": self.cost}
