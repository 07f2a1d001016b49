"""Buffers grouped with their aliases for the brute-force oracle, read from a problem's rows alone."""

from dataclasses import dataclass

from memplan.planner.model.problem import Pool, Problem
from memplan.planner.model.rows import Buffer

LAST_END = 2**63 - 1
"""The end of a pool without a size."""


@dataclass(frozen=True)
class Family:
    """A buffer and its aliases, as (distance from the buffer's start in bytes, row); the buffer itself is first."""

    members: tuple[tuple[int, Buffer], ...]

    @property
    def size(self) -> int:
        return self.members[0][1].size

    @property
    def intervals(self) -> list[tuple[int, int]]:
        return [interval for _, row in self.members for interval in row.intervals]

    @property
    def ids(self) -> set[int | str]:
        return {row.id for _, row in self.members}

    def may_live_in(self, pool: Pool) -> bool:
        rows = [row for _, row in self.members]
        return all((row.pools is None or pool.name in row.pools) and pool.name not in row.forbid_pools for row in rows)

    def traffic(self) -> int:
        moving = [row for _, row in self.members if row.size > 0]
        return sum(row.size if row.traffic is None else row.traffic for row in moving)

    def remainders(self, pool: Pool) -> list[tuple[int, int]]:
        """Return the (modulus, remainder) pairs that its offset must satisfy in a pool."""
        found = []
        for distance, row in self.members:
            found += [(step, (-pool.base_address - distance) % step) for step in (row.alignment, pool.alignment)]
            if row.offset_mod is not None:
                modulus = row.offset_mod.modulus
                found.append((modulus, (row.offset_mod.remainder - distance) % modulus))
        return found

    def may_start_at(self, pool: Pool, offset: int) -> bool:
        end = offset + self.size
        if offset < 0 or end > (LAST_END if pool.size is None else pool.size):
            return False
        if any(offset % modulus != remainder for modulus, remainder in self.remainders(pool)):
            return False
        if any(row.offset not in (None, offset + distance) for distance, row in self.members):
            return False
        if any(
            (row.end_at_most is not None and offset + distance + row.size > row.end_at_most)
            or offset + distance < (row.start_at_least or 0)
            for distance, row in self.members
        ):
            return False
        if any(crosses(pool, offset + distance, row) for distance, row in self.members):
            return False
        return not self.size or all(end <= low or low + size <= offset for low, size in pool.reserved if size)


def crosses(pool: Pool, offset: int, row: Buffer) -> bool:
    page = row.no_cross or max(1, row.size)
    address = pool.base_address + offset
    return row.no_cross is not None and row.size > 0 and address // page != (address + row.size - 1) // page


def families(problem: Problem) -> list[Family]:
    rows = {row.id: row for row in problem.buffers}
    groups: dict[int | str, list[tuple[int, Buffer]]] = {
        row.id: [(0, row)] for row in rows.values() if row.alias_of is None
    }
    for row in rows.values():
        at, distance = row, 0
        while at.alias_of is not None:
            at, distance = rows[at.alias_of], distance + (at.alias_offset or 0)
        if at is not row:
            groups[at.id].append((distance, row))
    return [Family(tuple(members)) for members in groups.values()]


def conflicts(problem: Problem, first: Family, second: Family) -> bool:
    if any(a < d and c < b for a, b in first.intervals for c, d in second.intervals):
        return True
    return clearance_between(problem, first, second) is not None


def clearance_between(problem: Problem, first: Family, second: Family) -> int | None:
    """Return the clearance in bytes between two families; None if no rule names the pair."""
    return 0 if conflict_by_name(problem, first, second) else None


def conflict_by_name(problem: Problem, first: Family, second: Family) -> bool:
    return any(_is_between(pair, first, second) for pair in problem.conflicts)


def may_share(problem: Problem, first: Family, second: Family) -> bool:
    """Return True if two families may start at the same offset while both are alive."""
    return any(_is_between(pair, first, second) for pair in problem.may_share)


def bank_rule(problem: Problem, first: Family, second: Family) -> tuple[bool, float]:
    """Return whether two families must not touch a common bank, and the cost if they may but should not."""
    must, weight = False, 0.0
    for use in problem.bank:
        mine = [a for a in use.buffers if a in first.ids]
        if mine and any(b in second.ids for b in use.buffers):
            must, weight = must or use.weight is None, weight + (use.weight or 0)
    return must, weight


def reuse_price(problem: Problem, first: Family, second: Family) -> int:
    """Return the cost if two families that are never alive together share bytes."""
    return sum(row.cost for row in problem.reuse for pair in row.pairs if _is_between(pair, first, second))


def relative_distance(problem: Problem, first: Family, second: Family) -> int | None:
    """Return the distance in bytes of the second family above the first by a `relative` rule; None without a rule."""
    for a, b, sign in ((first, second, -1), (second, first, 1)):
        row = a.members[0][1]
        if row.relative is not None and row.relative.to in b.ids:
            distance = next(distance for distance, other in b.members if other.id == row.relative.to)
            return sign * (distance + row.relative.offset)
    return None


def rigid_groups(problem: Problem) -> list[list[tuple[int, Family]]]:
    """Return all families, grouped by fixed distances, as (distance from the lowest, family)."""
    waiting = families(problem)
    found = []
    while waiting:
        group = [(0, waiting.pop(0))]
        for at, here in group:  # the loop extends the group
            for there in list(waiting):
                distance = relative_distance(problem, here, there)
                if distance is not None:
                    waiting.remove(there)
                    group.append((at + distance, there))
        lowest = min(at for at, _ in group)
        found.append([(at - lowest, family) for at, family in group])
    return found


def _is_between(pair: tuple[int | str, int | str], first: Family, second: Family) -> bool:
    return any(a in first.ids and b in second.ids for a, b in (pair, pair[::-1]))
