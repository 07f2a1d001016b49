"""The part of the verifier for buffers that move: it replays each buffer's pieces, copies and accesses in time."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import fsum

from memplan.planner.errors import excerpt
from memplan.planner.model.moving import (
    MovingBuffer,
    Piece,
    moves_of,
    moving_buffers,
    pieces_of,
    pieces_of_aliases,
    problem_of_pieces,
)
from memplan.planner.model.placement_table import PlacementTable
from memplan.planner.model.plan import BufferCopy, MovedBytes, Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.violation import Violation, buffer_violation, false_claim

Check = Callable[[Problem, Plan], Iterator[Violation]]


def verify_moved(problem: Problem, plan: Plan, check_pieces: Check) -> list[Iterable[Violation]]:
    """Return the kinds of violations of a plan of buffers that move; `check_pieces` checks plans of whole buffers."""
    table = plan.placements
    if broken := list(_row_violations(problem, table)):
        return [broken]
    pieces = pieces_of(problem, plan)
    ids = tuple(range(len(pieces)))
    placements = PlacementTable(ids, table.pool_names, table.pool, table.offset)
    replays = _Replays(problem, plan, pieces)
    found = list(replays.violations())
    return [
        found,
        _name_buffers(problem, pieces, check_pieces(problem_of_pieces(problem, pieces), Plan(placements=placements))),
        _claims(problem, plan, replays),
    ]


def copies_in_order(problem: Problem, plan: Plan) -> list[tuple[bool, BufferCopy]]:
    """Return the copies of a valid plan in order, each with whether it comes after the accesses of its time."""
    replays = _Replays(problem, plan, pieces_of(problem, plan))
    for _ in replays.violations():
        pass

    def is_late(copy: BufferCopy) -> bool:
        ends = problem.pool_index[copy.source], problem.pool_index[copy.to]
        return (problem.index[copy.id], copy.time, *ends) in replays.late

    return sorted(((is_late(copy), copy) for copy in plan.copies), key=lambda each: (each[1].time, each[0]))


def buffer_costs(problem: Problem, plan: Plan) -> dict[int, float]:
    """Return what the accesses and copies of each buffer that is not an alias cost in a valid plan, by position."""
    replays = _Replays(problem, plan, pieces_of(problem, plan))
    for _ in replays.violations():
        pass
    return dict(zip((row.position for row in moving_buffers(problem)), replays.costs, strict=True))


def _name_buffers(problem: Problem, pieces: Sequence[Piece], violations: Iterator[Violation]) -> Iterator[Violation]:
    for each in violations:
        names = [problem.buffers.ids[pieces[k].buffer] for k in (each.first, each.second) if isinstance(k, int)]
        said = "" if not names else f"pieces of {', '.join(map(excerpt, names))}: "
        first, second = (*names, None, None)[:2]
        yield replace(each, message=f"{said}{each.message}", first=first, second=second)


def _row_violations(problem: Problem, table: PlacementTable) -> Iterator[Violation]:
    """Yield a violation for each placement that is not a piece of a buffer in one of the problem's pools."""
    if len(table) and table.start is None:
        yield Violation("unplaced-buffer", "placements: must have start and end, as buffers may move")
        return
    known = {*problem.pool_index}
    for k, name in enumerate(table.ids):
        pool = table.pool_names[int(table.pool[k])]
        if name not in problem.index:
            yield buffer_violation(name, "unknown-buffer", f"must be one of the problem's, got placements[{k}]")
        elif pool not in known:
            yield buffer_violation(name, "unknown-pool", f"must be in a pool of the problem, got {excerpt(pool)}")
        elif table.start is not None and table.end is not None and table.end[k] <= table.start[k]:
            yield buffer_violation(
                name, "unplaced-buffer", f"must have pieces that end after they start, got placements[{k}]"
            )


@dataclass
class _Replays:
    """The replays of all buffers, the cost of their accesses and copies, and the bytes copied at each time."""

    problem: Problem
    plan: Plan
    pieces: Sequence[Piece]
    costs: list[float] = field(default_factory=list)
    late: set[tuple[int, int, int, int]] = field(default_factory=set)
    """The (buffer, time, from, to) of the copies that come after the accesses of their time."""

    def violations(self) -> Iterator[Violation]:
        """Yield the violations of all buffers, in the problem's order, and of the limit of bytes per step."""
        problem, ids = self.problem, self.problem.buffers.ids
        pieces: dict[int, list[Piece]] = {}
        for piece in self.pieces:
            pieces.setdefault(piece.buffer, []).append(piece)
        copies: dict[int, list[tuple[int, int, int]]] = {}
        started: dict[int, int] = {}
        for k, copy in enumerate(self.plan.copies):
            i = problem.index.get(copy.id)
            if i is None or i in problem.roots or not {copy.source, copy.to} <= problem.pool_index.keys():
                rule = "must name a buffer that is not an alias, and two pools"
                yield Violation("wrong-copy", f"copies[{k}]: {rule}, got {excerpt([copy.id, copy.source, copy.to])}")
                continue
            if copy.bytes != problem.buffers.size[i]:
                yield false_claim(f"copies[{k}].bytes", f"the size ({problem.buffers.size[i]})", copy.bytes)
            ends = problem.pool_index[copy.source], problem.pool_index[copy.to]
            copies.setdefault(i, []).append((copy.time, *ends))
            started[copy.time] = started.get(copy.time, 0) + int(problem.buffers.size[i])
        rules = moves_of(problem)
        for row in moving_buffers(problem):
            replay = _Replay(problem, row, rules.lead, pieces.get(row.position, []), copies.get(row.position, []))
            for rule, sentence in replay.run():
                yield buffer_violation(ids[row.position], rule, sentence)
            self.costs.append(replay.cost)
            self.late |= {(row.position, *copy) for copy in replay.late}
        expected = sorted(pieces_of_aliases(problem, self.pieces))
        actual = sorted(piece for piece in self.pieces if piece.buffer in problem.roots)
        for piece in sorted({*expected} ^ {*actual}):
            yield buffer_violation(ids[piece.buffer], "alias-misplaced", "must have the pieces of its root's places")
        for time, count in sorted(started.items()):
            if rules.bytes_per_step is not None and count > rules.bytes_per_step:
                rule = f"must copy at most {rules.bytes_per_step} bytes at one time, got {count} at {time}"
                yield Violation("past-capacity", f"copies: {rule}")


class _Replay:
    """One buffer's pieces, copies (time, from, to) and accesses, replayed in order of time."""

    def __init__(
        self, problem: Problem, row: MovingBuffer, lead: int, pieces: list[Piece], copies: list[tuple[int, int, int]]
    ) -> None:
        """Start without a right piece."""
        self.problem, self.row, self.lead, self.pieces = problem, row, lead, sorted(pieces, key=lambda p: p.start)
        self.copies = sorted(copies)
        self.cost = 0.0
        self.late: list[tuple[int, int, int]] = []
        self.right: set[int] = set()
        self.arriving: dict[int, int] = {}
        """The pools to which a copy is under way, each with the time at which it arrives."""

    def run(self) -> Iterator[tuple[str, str]]:
        """Yield (rule, sentence) for each rule that the buffer breaks."""
        row = self.row
        yield from self._piece_faults()
        uses = {use.time: use for use in row.uses}
        times = {row.start, *uses, *(p.start for p in self.pieces), *(p.end for p in self.pieces)}
        times |= {time for time, _, _ in self.copies} | {time + self.lead for time, _, _ in self.copies}
        for time in sorted(each for each in times if row.start <= each < row.end):
            yield from self._step(time, *((uses[time].read, uses[time].write) if time in uses else (None, None)))
        self._settle(row.end, row.end)
        if row.kept_in is not None and row.kept_in not in self.right:
            yield "wrong-copy", f"must lie in {self._name(row.kept_in)} at its end"

    def _piece_faults(self) -> Iterator[tuple[str, str]]:
        row = self.row
        for piece in self.pieces:
            if piece.start < row.start or piece.end > row.end:
                yield "wrong-piece", f"must have pieces within its lifetime, got {piece.start} to {piece.end}"
            if piece.pool not in row.pools:
                yield "pool-not-allowed", f"must be in a pool that it may use, got {self._name(piece.pool)}"
        for pool in {piece.pool for piece in self.pieces}:
            mine = [piece for piece in self.pieces if piece.pool == pool]
            if any(after.start < before.end for before, after in pairwise(mine)):
                yield "wrong-piece", f"must have one piece at a time in {self._name(pool)}"
        if row.is_fixed and len(self.pieces) > 1:
            yield "wrong-piece", "must not move, because it is pinned or in a list of together"
        for time, _, _ in self.copies:
            if not row.start <= time < row.end:
                yield "wrong-copy", f"must be copied within its lifetime, got time {time}"

    def _step(self, time: int, read: int | None, write: int | None) -> Iterator[tuple[str, str]]:
        row = self.row
        self._settle(time, time + 1)
        if time == row.start:
            first = [piece.pool for piece in self.pieces if piece.start == time]
            copied = {to for when, _, to in self.copies if when == time}
            begun = [pool for pool in first if pool not in copied or pool == row.given]
            self.right = {*begun[:1]}
            if len(begun) != 1 or row.given not in (None, begun[0]):
                where = "one pool" if row.given is None else self._name(row.given)
                yield "wrong-piece", f"must start with one piece in {where}, got {len(begun)}"
        now = [(source, to) for when, source, to in self.copies if when == time]
        early = [(source, to) for source, to in now if source in self.right]
        written = (
            None
            if write is None
            else self._cheapest_pool(self.right | ({to for _, to in early} if not self.lead else set()))
        )
        early = [(source, to) for source, to in early if source != written]
        late = [each for each in now if each not in early]
        yield from self._copy(time, early)
        if not self.right:
            yield "wrong-piece", f"must have its value in a piece at time {time}"
        for count, verb in ((read, "read"), (write, "written")):
            if count is not None:
                pool = self._cheapest_pool(self.right)
                if pool is None:
                    yield (
                        "wrong-access",
                        f"must have its value in a pool that operations use where it is {verb}, at time {time}",
                    )
                else:
                    self.cost += count * self.problem.pools[pool].cost
        if write is not None and written is not None:
            self.right, self.arriving = {written}, {}
        self.late += [(time, *each) for each in late]
        yield from self._copy(time, late)

    def _settle(self, time: int, end: int) -> None:
        """Let copies arrive that are due at a time, and drop the pieces that do not cover the times up to `end`."""
        self.right |= {pool for pool, due in self.arriving.items() if due <= time}
        self.arriving = {pool: due for pool, due in self.arriving.items() if due > time}
        # A piece that begins now holds nothing yet, even if a piece of the same pool ends now.
        covered = {piece.pool for piece in self.pieces if piece.start < time and piece.end >= end}
        self.right &= covered
        self.arriving = {pool: due for pool, due in self.arriving.items() if pool in covered}

    def _copy(self, time: int, copies: list[tuple[int, int]]) -> Iterator[tuple[str, str]]:
        covered = {piece.pool for piece in self.pieces if piece.start <= time < piece.end}
        before = {*self.right}
        for source, to in copies:
            names = f"from {self._name(source)} to {self._name(to)} at time {time}"
            if source not in before:
                yield "wrong-copy", f"must be copied {names} only if its value is there"
            if to not in covered or source == to:
                yield "wrong-copy", f"must be copied {names} only into a piece there"
            pools = self.problem.pools
            self.cost += self.row.size * (pools[source].cost + pools[to].cost)
            if self.lead:
                self.arriving[to] = time + self.lead
            else:
                self.right.add(to)

    def _cheapest_pool(self, pools: set[int]) -> int | None:
        usable = [pool for pool in sorted(pools) if self.problem.pools[pool].direct]
        return min(usable, key=lambda pool: self.problem.pools[pool].cost, default=None)

    def _name(self, pool: int) -> str:
        return excerpt(self.problem.pools[pool].name)


def _claims(problem: Problem, plan: Plan, replays: _Replays) -> Iterator[Violation]:
    """Yield a violation for each claim about costs and copied bytes that contradicts the replay."""
    from memplan.planner.verify.claims import claims_of_cost

    if (plan.cost, plan.cost_lower_bound, plan.cost_limit) != (None, None, None):
        yield from claims_of_cost(plan, fsum(replays.costs))
    moved = moved_bytes(plan)
    if "moved_bytes" in plan.model_fields_set and tuple(plan.moved_bytes) != moved:
        yield false_claim(
            "moved_bytes", f"{[row.model_dump(by_alias=True) for row in moved]} by the copies", len(plan.moved_bytes)
        )
    used = dict.fromkeys(problem.pool_index, 0)
    for name, pool, offset in zip(plan.placements.ids, plan.placements.pool, plan.placements.offset, strict=True):
        size = int(problem.buffers.size[problem.index[name]])
        key = plan.placements.pool_names[int(pool)]
        used[key] = max(used[key], int(offset) + size if size else 0)
    if plan.peak is not None and plan.peak != sum(used.values()):
        yield false_claim("peak", f"{sum(used.values())}, the sum of the bytes used in all pools", plan.peak)
    for k, pool in enumerate(plan.pools):
        if pool.used is not None and pool.used != used.get(pool.name):
            yield false_claim(f"pools[{k}].used", str(used.get(pool.name)), pool.used)


def moved_bytes(plan: Plan) -> tuple[MovedBytes, ...]:
    """Return the bytes of a plan's copies by pair of pools, in the order in which the pairs first occur."""
    sums: dict[tuple[str, str], int] = {}
    for copy in plan.copies:
        sums[copy.source, copy.to] = sums.get((copy.source, copy.to), 0) + copy.bytes
    return tuple(MovedBytes(source=source, to=to, bytes=count) for (source, to), count in sums.items())
