"""The columns of one buffer that moves: right pieces between two times, copies, and the pools that accesses use."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from memplan.planner.model.buffer_table import I64
from memplan.planner.model.moving import MovingBuffer, Piece, Use
from memplan.planner.model.problem_fields import Pool
from memplan.solvers.moves.columns import ProgramColumns, Terms


class Setting(NamedTuple):
    """What all buffers share: the pools, the lead of copies, and the pools in which a right piece is kept."""

    pools: Sequence[Pool]
    lead: int
    is_open: Sequence[bool]


class CopyColumns(NamedTuple):
    """A copy at a time between two pools: it begins if the column `begun` is 1, and all columns `before` are 0."""

    begun: int
    before: tuple[int, ...]
    time: int
    source: int
    to: int


@dataclass(eq=False)
class Timeline:
    """The columns of one buffer: at each grid time and pool, the first for pieces, and those for copies."""

    row: MovingBuffer
    times: list[int]
    points: list[list[Terms]] = field(default_factory=list)
    gaps: list[list[Terms]] = field(default_factory=list)
    copies: list[CopyColumns] = field(default_factory=list)
    columns: range = range(0)

    def pieces(self, values: I64) -> list[Piece]:
        """Return the pieces of a solution, in which each column is 0 or 1."""
        pieces = []
        for q in self.row.pools:
            begun: int | None = None
            for j, time in enumerate(self.times):
                is_there = values[self.points[j][q]].any()
                if begun is not None and not is_there:
                    pieces.append(Piece(self.row.position, q, begun, time))
                    begun = None
                if begun is None and is_there:
                    begun = time
                if begun is not None and not values[self.gaps[j][q]].any():
                    pieces.append(Piece(self.row.position, q, begun, time + 1))
                    begun = None
            if begun is not None:
                pieces.append(Piece(self.row.position, q, begun, self.row.end))
        return sorted(pieces, key=lambda piece: (piece.start, piece.end))


class TimelineWriter:
    """Writes the columns and rows of one buffer, in order of time."""

    def __init__(self, columns: ProgramColumns, line: Timeline, setting: Setting) -> None:
        """Start before the first grid time."""
        self.columns, self.line, self.row, self.setting = columns, line, line.row, setting
        self.lead = setting.lead
        self.prices = [pool.cost for pool in setting.pools]
        self.direct = [q for q in self.row.pools if setting.pools[q].direct]
        self.writes = [use.time for use in self.row.uses if use.write is not None]
        self.uses = {use.time: use for use in self.row.uses}
        self.may_move = not self.row.is_fixed and len(self.row.pools) > 1 and len(self.row.uses) + self._is_kept > 0
        self.arriving: dict[int, list[tuple[int, int]]] = {}
        """By time, the (column, pool) of each copy that arrives."""
        self.is_born = False
        """Whether an access writes the buffer at the start of its lifetime, so that it has no value before."""
        self.stops = {*line.times, line.row.end} if self.lead else {*line.times}
        self.before: dict[int, tuple[int, ...]] = {}
        """The columns of the piece before a copy, by the column of the room that it takes."""
        self.flying: list[tuple[int, int, int]] = []
        """The (column, pool, arrival) of the copies under way."""

    @property
    def _is_kept(self) -> bool:
        return self.row.kept_in is not None

    def write(self) -> None:
        """Write all grid times."""
        row, columns = self.row, self.columns
        use = self.uses.get(row.start)
        self.is_born = row.given is None and use is not None and use.write is not None and use.read is None
        pools = [row.given] if row.given is not None else self.direct if self.is_born else row.pools
        first = {q: columns.add() for q in pools}
        columns.choose(first.values())
        kept: dict[int, Terms] = {q: [col] for q, col in first.items()}
        for j, time in enumerate(self.line.times):
            kept = self._write_time(j, time, kept)
        if row.kept_in is not None:
            late = [col for col, q in self.arriving.get(row.end, []) if q == row.kept_in]
            columns.limit((), [*kept.get(row.kept_in, []), *late], -1)

    def _write_time(self, j: int, time: int, kept: dict[int, Terms]) -> dict[int, Terms]:
        columns, row, none = self.columns, self.row, ()
        use = self.uses.get(time, Use(time, None, None))
        is_last = j + 1 == len(self.line.times)
        flying = [each for each in self.flying if each[2] > time]
        right = {q: [*kept.get(q, none)] for q in row.pools}
        if arrivals := self.arriving.get(time, []):
            right = self._may_end(right, [col for col, _ in arrivals])
        for col, q in arrivals:
            right[q].append(col)
        begun = [] if self.is_born and j == 0 else self._begin_copies(j, time, right, use, is_last)
        flying += [(col, q, time + self.lead) for col, _, q in begun if self.lead]
        if not self.lead:
            for col, _, q in begun:
                right[q] = [col] if self.before.get(col) else [*right[q], col]
        points = {q: [*right[q], *(col for col, to, _ in flying if to == q)] for q in row.pools}
        for q, terms in points.items():
            if len(terms) > 1 and terms != kept.get(q):
                columns.limit(terms, (), 1)
        after = right
        if use.read is not None:
            self._read(right, use.read)
        sent: list[tuple[int, int]] = []
        if use.write is not None:
            is_first = self.is_born and j == 0
            written = self._write_columns(right, use.write, is_first)
            sent = self._send_copies(time, written, is_first)
            after = {q: [written[q]] if q in written else [] for q in row.pools}
            flying = [(col, q, time + self.lead) for col, q in sent] if self.lead else []
            if not self.lead:
                for col, q in sent:
                    after[q].append(col)
            points = {q: self._room(points[q], [col for col, to in sent if to == q]) for q in row.pools}
        self.flying = flying
        self.line.points.append([points.get(q, []) for q in range(len(self.setting.is_open))])
        following = self._keep(after, is_last, reuses=use.write is None or (self.is_born and j == 0))
        for col, p, q in begun:
            if self._is_kept_after(p, q, use) and q in following:
                columns.limit([col], [*following[q], *self.before.get(col, ())])
        gaps = {q: [*following.get(q, none), *(col for col, to, _ in flying if to == q)] for q in row.pools}
        self.line.gaps.append([gaps.get(q, []) for q in range(len(self.setting.is_open))])
        return following

    def _may_end(self, kept: dict[int, Terms], arrivals: Terms) -> dict[int, Terms]:
        """Return columns of the pieces that last through a time at which copies arrive; the others end before it."""
        lasting: dict[int, Terms] = {q: [] for q in kept}
        for q, terms in kept.items():
            if terms:
                lasting[q] = [self.columns.add()]
                self.columns.limit(lasting[q], terms)
        self.columns.limit((), [*arrivals, *(col for terms in lasting.values() for col in terms)], -1)
        return lasting

    def _is_kept_after(self, p: int, q: int, use: Use) -> bool:
        is_served = use.read is None or (self.setting.pools[p].direct and use.read <= self.row.size)
        return not self.lead and use.write is None and is_served

    def _room(self, before: Terms, sent: Terms) -> Terms:
        if not sent:
            return before
        room = self.columns.add()
        self.columns.limit(before, [room])
        self.columns.limit(sent, [room])
        self.columns.limit([room], [*before, *sent])
        return [room]

    def _keep(self, after: dict[int, Terms], is_last: bool, reuses: bool) -> dict[int, Terms]:
        """Return the columns of the pieces that are right until the next grid time."""
        columns, row = self.columns, self.row
        following: dict[int, Terms] = {}
        for q in row.pools:
            if not after[q] or (is_last and q != row.kept_in):
                continue
            is_open = self.setting.is_open[q]
            if (not self.may_move or is_open) and reuses:
                following[q] = after[q]
                continue
            col = columns.add()
            columns.limit([col], after[q])
            following[q] = [col]
        terms = [col for terms in following.values() for col in terms]
        if not is_last and (self.may_move or not reuses):
            columns.limit((), terms, -1)
        return following

    def _may_begin(self, time: int, is_after_write: bool) -> bool:
        arrival = time + self.lead
        if not self.may_move or arrival not in self.stops:
            return False
        low = bisect_right(self.writes, time) if is_after_write else bisect_left(self.writes, time)
        return not self.lead or low == bisect_left(self.writes, arrival)

    def _begin_copies(
        self, j: int, time: int, right: dict[int, Terms], use: Use, is_last: bool
    ) -> list[tuple[int, int, int]]:
        """Return the (column, from, to) of the copies that begin before the accesses of a time."""
        if not self._may_begin(time, False):
            return []
        begun = []
        for q in self.row.pools:
            is_open = self.setting.is_open[q]
            if is_open and j > 0:
                continue  # A copy to a pool without a limit may as well begin at the start or after the last write.
            for p in self.row.pools:
                if p == q or not right[p] or (is_last and q != self.row.kept_in and self._is_kept_after(p, q, use)):
                    continue
                is_room = not self.lead and len(self.row.pools) == 2 and j > 0
                begun.append((self._copy(time, p, q, right[q] if is_room else []), p, q))
                if not is_room:  # Otherwise, the value is in one of the two pools.
                    self.columns.limit([begun[-1][0]], right[p])
        return begun

    def _send_copies(self, time: int, written: dict[int, int], is_first: bool) -> list[tuple[int, int]]:
        """Return the (column, to) of the copies of a value that has just been written."""
        if not self._may_begin(time, True):
            return []
        sent = []
        for p, source in written.items():
            for q in self.row.pools:
                if p == q or (is_first and q in written and self.prices[q] <= self.prices[p]):
                    continue  # It costs no more to write the buffer in the cheaper pool, and to copy it from there.
                sent.append((self._copy(time, p, q), q))
                self.columns.limit([sent[-1][0]], [source])
        return sent

    def _copy(self, time: int, p: int, q: int, before: Sequence[int] = ()) -> int:
        """Return the column of a copy or, if the pool may hold a right piece before, of the room that it takes."""
        cost = self.row.size * (self.prices[p] + self.prices[q])
        col = self.columns.add(cost)
        for each in before:
            self.columns.cost[each] -= cost
        if before:
            self.columns.limit(before, [col])
            self.before[col] = tuple(before)
        self.line.copies.append(CopyColumns(col, tuple(before), time, p, q))
        if self.lead:
            self.arriving.setdefault(time + self.lead, []).append((col, q))
        return col

    def _read(self, right: dict[int, Terms], count: int) -> None:
        """Let a read use the cheapest of the right pieces."""
        usable = sorted((q for q in self.direct if right[q]), key=lambda q: self.prices[q])
        if len(usable) > 2:
            self._access(right, count)
            return
        if len(self.row.pools) > len(usable):
            self.columns.limit((), [col for q in usable for col in right[q]], -1)
        dearest = self.prices[usable[-1]] if usable else 0.0
        self.columns.base += count * dearest
        for col in right[usable[0]] if usable else ():
            self.columns.cost[col] -= count * (dearest - self.prices[usable[0]])

    def _write_columns(self, right: dict[int, Terms], count: int, is_first: bool) -> dict[int, int]:
        """Return the column of each pool in which a write may take place: the cheapest pool with a right piece."""
        if is_first:
            written = {q: right[q][0] for q in self.direct}
            for q, col in written.items():
                self.columns.cost[col] += count * self.prices[q]
            return written
        written = self._access(right, count)
        for q, col in written.items():
            for p in self.direct:
                if (self.prices[p], p) < (self.prices[q], q):
                    self.columns.limit([col, *right[p]], (), 1)
        return written

    def _access(self, right: dict[int, Terms], count: int) -> dict[int, int]:
        """Let an access use one of the right pieces; return the column of each pool that it may use."""
        chosen = {}
        for q in self.direct:
            if right[q]:
                chosen[q] = self.columns.add(count * self.prices[q])
                self.columns.limit([chosen[q]], right[q])
        self.columns.choose(chosen.values())
        return chosen
