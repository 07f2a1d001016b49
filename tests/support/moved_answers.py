"""A simulation of plans of buffers that move, byte by byte, by docs/moves.md alone; it reads plain JSON."""

from collections.abc import Iterator
from itertools import chain, combinations
from typing import Any, NamedTuple

Row = dict[str, Any]


class Rules(NamedTuple):
    """The steps that a copy takes, and the most bytes of copies that begin at one time, or None."""

    lead: int
    bytes_per_step: int | None


class Family(NamedTuple):
    """A buffer with its aliases: its lifetime, and the bytes read and written at each time."""

    row: Row
    members: list[Row]
    start: int
    end: int
    reads: dict[int, int]
    writes: dict[int, int]


def rules_of(problem: Row) -> Rules:
    said = problem["moves"] if isinstance(problem["moves"], dict) else {}
    return Rules(said.get("lead", 0), said.get("bytes_per_step"))


def families(problem: Row) -> list[Family]:
    """Return the buffers that are no aliases; an alias names a buffer that is none."""
    found = []
    for row in problem["buffers"]:
        if "alias_of" in row:
            continue
        members = [row, *(other for other in problem["buffers"] if other.get("alias_of") == row["id"])]
        counts: tuple[dict[int, int], dict[int, int]] = ({}, {})
        for time, is_write, count in chain.from_iterable(map(_accesses, members)):
            counts[is_write][time] = counts[is_write].get(time, 0) + count
        start, end = min(each["start"] for each in members), max(each["end"] for each in members)
        found.append(Family(row, members, start, end, *counts))
    return found


def _accesses(row: Row) -> Iterator[tuple[int, bool, int]]:
    is_written = "given" not in row and "alias_of" not in row
    for k, each in enumerate(row.get("accesses") or (row["start"], row["end"] - 1)):
        access: dict[str, Any] = each if isinstance(each, dict) else {"time": each}
        kind = access.get("kind") or ("write" if k == 0 and is_written else "read")
        yield access["time"], bool(kind == "write"), access["bytes"] if "bytes" in access else row["size"]


def allowed_pools(problem: Row, family: Family) -> list[str]:
    names = [pool["name"] for pool in problem["pools"]]
    for row in family.members:
        names = [name for name in names if name in row.get("pools", names) and name not in row.get("forbid_pools", ())]
    return names


def is_fixed(problem: Row, family: Family) -> bool:
    names = {row["id"] for row in family.members}
    return any("offset" in row for row in family.members) or any(names & {*group} for group in problem["together"])


def is_legal(pool: Row, row: Row, offset: int) -> bool:
    """Return True if a piece of this buffer may lie at an offset, as far as other buffers are not concerned."""
    base, size = pool.get("base_address", 0), row["size"]
    page, step = row.get("no_cross"), row.get("alignment", 1)
    return (
        offset >= 0
        and offset + size <= min(pool.get("size") or 64, row.get("end_at_most", 64))
        and row.get("offset", offset) == offset
        and (base + offset) % step == (base + offset) % pool.get("alignment", 1) == 0
        and not (page and size and (base + offset) // page != (base + offset + size - 1) // page)
        and not any(at < offset + size and offset < at + width for at, width in pool.get("reserved", ()))
    )


def banks(pool: Row, row: Row, offset: int) -> set[int]:
    if pool.get("bank_size") is None:
        return set()
    return {(pool.get("base_address", 0) + offset + k) // pool["bank_size"] for k in range(row["size"])}


def pairs(problem: Row, rule: str) -> set[frozenset[str]]:
    lists = problem["conflicts"] if rule == "conflicts" else [use["buffers"] for use in problem["bank"]]
    return {frozenset(pair) for names in lists for pair in combinations(names, 2)}


class Simulation(NamedTuple):
    """The rules that a plan breaks, each as a sentence, and the cost of its accesses and copies."""

    faults: list[str]
    cost: float


def simulate(problem: Row, answer: Row) -> Simulation:
    """Return what happens if the copies and accesses of a plan are carried out."""
    faults = [*_misplaced_pieces(problem, answer["placements"])]
    copies, rules = answer.get("copies", []), rules_of(problem)
    cost, roots = 0.0, families(problem)
    sizes = {family.row["id"]: family.row["size"] for family in roots}
    faults += [f"wrong bytes of {copy}" for copy in copies if copy["bytes"] != sizes.get(copy["id"])]
    for time in {copy["time"] for copy in copies}:
        begun = sum(copy["bytes"] for copy in copies if copy["time"] == time)
        if rules.bytes_per_step is not None and begun > rules.bytes_per_step:
            faults.append(f"{begun} bytes at {time}")
    for family in roots:
        run = _Run(problem, family, answer["placements"], [copy for copy in copies if copy["id"] == family.row["id"]])
        faults += run.faults
        cost += run.cost
    return Simulation(faults, cost)


def _misplaced_pieces(problem: Row, pieces: list[Row]) -> Iterator[str]:
    rows, pools = {row["id"]: row for row in problem["buffers"]}, {pool["name"]: pool for pool in problem["pools"]}
    for piece in pieces:
        if not is_legal(pools[piece["pool"]], rows[piece["id"]], piece["offset"]):
            yield f"illegal {piece}"
    for name, (one, other) in ((p, pair) for p in pools for pair in combinations(pieces, 2)):
        if one["pool"] == other["pool"] == name:
            yield from _meeting_pieces(problem, pools[name], rows, one, other)
    for family in families(problem):
        where = {row["id"]: {*_places(row, pieces)} for row in family.members}
        for row in family.members[1:]:
            held = {place for place in where[family.row["id"]] if row["start"] <= place[0] < row["end"]}
            if where[row["id"]] != held or len({*_spans(row, pieces)}) != len({*_spans(family.row, pieces, row)}):
                yield f"{row['id']} is not in {family.row['id']}"
    homes = [[{p["pool"] for p in pieces if p["id"] == name} for name in group] for group in problem["together"]]
    yield from (f"not together: {group}" for group in homes if len(set().union(*group)) != 1)


def _places(row: Row, pieces: list[Row]) -> Iterator[tuple[int, str, int]]:
    """Yield (time, pool, first byte of the root) of the pieces of a buffer."""
    for piece in pieces:
        if piece["id"] == row["id"]:
            for time in range(piece["start"], piece["end"]):
                yield time, piece["pool"], piece["offset"] - row.get("alias_offset", 0)


def _spans(row: Row, pieces: list[Row], within: Row | None = None) -> Iterator[tuple[str, int, int]]:
    part = within or row
    for piece in pieces:
        if piece["id"] == row["id"] and piece["start"] < part["end"] and part["start"] < piece["end"]:
            yield piece["pool"], max(piece["start"], part["start"]), min(piece["end"], part["end"])


def _meeting_pieces(problem: Row, pool: Row, rows: dict[str, Row], one: Row, other: Row) -> Iterator[str]:
    first, second = rows[one["id"]], rows[other["id"]]
    pair = frozenset((one["id"], other["id"]))
    taken = [set(range(piece["offset"], piece["offset"] + rows[piece["id"]]["size"])) for piece in (one, other)]
    meet = one["start"] < other["end"] and other["start"] < one["end"]
    is_family = first.get("alias_of", first["id"]) == second.get("alias_of", second["id"])
    if taken[0] & taken[1] and ((meet and not is_family) or pair in pairs(problem, "conflicts")):
        yield f"{one} and {other} share bytes"
    if pair in pairs(problem, "bank") and banks(pool, first, one["offset"]) & banks(pool, second, other["offset"]):
        yield f"{one} and {other} touch a bank"


class _Run:
    """One buffer in time: which pools hold its value, and which will when a copy has arrived."""

    def __init__(self, problem: Row, family: Family, pieces: list[Row], copies: list[Row]) -> None:
        self.family, self.copies, self.lead = family, copies, rules_of(problem).lead
        self.pieces = [piece for piece in pieces if piece["id"] == family.row["id"]]
        self.pools = {pool["name"]: pool for pool in problem["pools"]}
        self.faults: list[str] = []
        self.cost = 0.0
        self.right: set[str] = set()
        self.due: dict[str, int] = {}
        row, allowed = family.row, allowed_pools(problem, family)
        is_outside = any(p["start"] < family.start or p["end"] > family.end for p in self.pieces)
        self._check(not is_outside, "a piece outside the lifetime")
        self._check(all(p["start"] < p["end"] and p["pool"] in allowed for p in self.pieces), "a piece not allowed")
        self._check(len(self.pieces) == 1 or not is_fixed(problem, family), "a pinned buffer moves")
        self._check(all(family.start <= copy["time"] < family.end for copy in copies), "a copy outside the lifetime")
        for time in range(family.start, family.end):
            self._step(time)
        self.right |= {pool for pool, due in self.due.items() if due <= family.end}
        kept = {p["pool"] for p in self.pieces if p["end"] == family.end}
        self._check(row.get("kept_in") is None or row["kept_in"] in self.right & kept, "not kept")

    def _check(self, is_so: bool, fault: str) -> None:
        if not is_so:
            self.faults.append(f"{self.family.row['id']}: {fault}")

    def _step(self, time: int) -> None:
        family = self.family
        here = [p["pool"] for p in self.pieces if p["start"] <= time < p["end"]]
        new = {p["pool"] for p in self.pieces if p["start"] == time}
        self._check(len(here) == len({*here}), f"two pieces in a pool at {time}")
        self.right &= {*here} - new
        self.due = {pool: due for pool, due in self.due.items() if pool in {*here} - new}
        self.right |= {pool for pool, due in self.due.items() if due <= time}
        copies = [(copy["from"], copy["to"]) for copy in self.copies if copy["time"] == time]
        if time == family.start:
            first = new - ({to for _, to in copies} - {family.row.get("given")})
            self._check(len(first) == 1 and family.row.get("given", *first) in first, "no one first piece")
            self.right = first
        early = [(p, q) for p, q in copies if p in self.right]
        if time in family.writes:
            # What is written is no source of early copies, but may be the end of one.
            there = self._used_pool(self.right | ({q for _, q in early} if not self.lead else set()))
            early = [(p, q) for p, q in early if p != there]
        self._copy(time, early, {*here})
        self._check(bool(self.right), f"no right piece at {time}")
        for counts in (family.reads, family.writes):
            if time in counts:
                pool = self._used_pool(self.right)
                self._check(pool is not None, f"no access at {time}")
                self.cost += 0 if pool is None else counts[time] * self.pools[pool].get("cost", 0)
        if time in family.writes:
            written = self._used_pool(self.right)
            self.right, self.due = set() if written is None else {written}, {}
        self._copy(time, [each for each in copies if each not in early], {*here})

    def _copy(self, time: int, copies: list[tuple[str, str]], here: set[str]) -> None:
        before = {*self.right}
        for source, to in copies:
            self._check(source in before and to in here and source != to, f"wrong copy to {to} at {time}")
            self.cost += self.family.row["size"] * sum(self.pools[pool].get("cost", 0) for pool in (source, to))
            if self.lead:
                self.due[to] = time + self.lead
            else:
                self.right.add(to)

    def _used_pool(self, right: set[str]) -> str | None:
        usable = [name for name in self.pools if name in right and self.pools[name].get("direct", True)]
        return min(usable, key=lambda name: self.pools[name].get("cost", 0), default=None)
