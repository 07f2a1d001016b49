"""The reasons for which buffers that move leave a fast pool: who fills it until they return, and at what cost."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np
from pydantic import Field

from memplan.planner.errors import count_text, excerpt
from memplan.planner.model.buffer_table import column
from memplan.planner.model.intervals import merge_spans
from memplan.planner.model.moving import MovingBuffer, Piece, is_whole_home, moving_buffers, pieces_of
from memplan.planner.model.plan import Ids, Plan
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import MAX_BYTES, Id
from memplan.planner.verify.moved import buffer_costs
from memplan.questions.question import Answer
from memplan.questions.verify.peaks import MOST_NAMED

MOST_DEPARTURES = 1_000
"""The maximum number of departures in an answer, the largest buffers first."""
_SHOWN, _NAMED = 8, 3
"""The maximum numbers of departures in a text, and of buffers that a sentence names."""


class Departure(Answer):
    """A buffer that leaves a pool for a slower one, and what lies in that pool until it returns or ends."""

    buffer: Id
    """The name of the buffer."""
    pool: str
    """The pool that it leaves."""
    time: int
    """The time from which it does not lie there."""
    waits_in: str
    """The pool in which it lies then; the cheapest one, if there are several."""
    back: int | None
    """The time at which it lies in `pool` again; null if it does not return."""
    fullest: int
    """The time until then at which other buffers have the most bytes in the pool."""
    bytes: int
    """Their bytes at this time."""
    used_bytes: int
    """The bytes of those of them that operations use at this time."""
    beside: Ids
    """The names of these buffers, largest first."""
    displaced: int
    """How many of their bytes would have to leave so that the buffer can stay."""
    no_room: tuple[tuple[int, int], ...]
    """The times, as half-open ranges, at which its bytes do not fit in addition to those of the others."""
    cost: float
    """The cost of its accesses and copies."""
    cost_elsewhere: float | None
    """The cost of its accesses if it lay in `waits_in` all its life; null if that is impossible."""
    sentence: str = Field("")
    """A summary of the above."""


def departures_of(problem: Problem, plan: Plan) -> tuple[Departure, ...]:
    """Return the departures of a valid plan of buffers that move, the largest buffers first, and then by time."""
    rows = {row.position: row for row in moving_buffers(problem) if row.size}
    pieces: dict[int, list[Piece]] = {i: [] for i in rows}
    for piece in sorted(pieces_of(problem, plan), key=lambda piece: piece.start):
        pieces.get(piece.buffer, []).append(piece)
    pools = [_PoolInTime(problem, rows, pieces, q) for q in range(len(problem.pools))]
    costs, found = buffer_costs(problem, plan), list[Departure]()
    for i in sorted(pieces, key=lambda i: -rows[i].size):
        for piece in pieces[i]:
            homes = [each.pool for each in pieces[i] if each.start <= piece.end < each.end]
            home = min(homes, key=lambda q: _price(problem, q), default=piece.pool)
            if _price(problem, home) > _price(problem, piece.pool) and len(found) < MOST_DEPARTURES:
                back = min((p.start for p in pieces[i] if p.pool == piece.pool and p.start >= piece.end), default=None)
                found.append(pools[piece.pool].departure(piece, home, back, costs[i]))
    return tuple(found)


def _price(problem: Problem, pool: int) -> tuple[float, bool]:
    return problem.pools[pool].cost, not problem.pools[pool].direct


class _PoolInTime:
    """The pieces in one pool, and their bytes from each moment to the next."""

    def __init__(
        self, problem: Problem, rows: Mapping[int, MovingBuffer], pieces: Mapping[int, Sequence[Piece]], pool: int
    ) -> None:
        """Add up the bytes."""
        self.problem, self.rows = problem, rows
        self.pieces = [piece for mine in pieces.values() for piece in mine if piece.pool == pool]
        self.start, self.end = (column([piece[k] for piece in self.pieces]) for k in (2, 3))
        self.size = column([rows[piece.buffer].size for piece in self.pieces])
        self.moments = np.unique(np.concatenate((self.start, self.end)))
        change = np.zeros(len(self.moments), dtype=np.int64)
        np.add.at(change, np.searchsorted(self.moments, self.start), self.size)
        np.subtract.at(change, np.searchsorted(self.moments, self.end), self.size)
        self.loads = np.cumsum(change)
        size = problem.pools[pool].size
        reserved = sum(end - start for start, end in merge_spans([(a, a + n) for a, n in problem.pools[pool].reserved]))
        self.room = None if size is None else size - reserved

    def departure(self, piece: Piece, home: int, back: int | None, cost: float) -> Departure:
        """Return the departure of a buffer at the end of its piece; `cost` is that of the buffer."""
        row, name = self.rows[piece.buffer], self.problem.buffers.ids
        until = row.end if back is None else back
        first, last = np.searchsorted(self.moments, (piece.end, until))
        times, loads = [*self.moments[first:last].tolist(), until], self.loads[first:last]
        k = int(loads.argmax())
        here = np.flatnonzero((self.start <= times[k]) & (times[k] < self.end))
        others = sorted((self.rows[self.pieces[j].buffer] for j in here), key=lambda each: -each.size)
        used = [each for each in others if any(use.time == times[k] for use in each.uses)]
        over = loads + row.size - (MAX_BYTES if self.room is None else self.room)
        spans = [pair for pair, excess in zip(pairwise(times), over, strict=True) if excess > 0]
        price, is_whole = self.problem.pools[home].cost, is_whole_home(self.problem, row, home)
        found = Departure(
            buffer=name[row.position],
            pool=self.problem.pools[piece.pool].name,
            time=piece.end,
            waits_in=self.problem.pools[home].name,
            back=back,
            fullest=times[k],
            bytes=int(loads[k]),
            used_bytes=sum(each.size for each in used),
            beside=tuple(name[each.position] for each in others[:MOST_NAMED]),
            displaced=max(0, int(over[k])),
            no_room=tuple(merge_spans(spans)),
            cost=cost,
            cost_elsewhere=price * sum((u.read or 0) + (u.write or 0) for u in row.uses) if is_whole else None,
        )
        return found.model_copy(update={"sentence": self._sentence(found, row.size)})

    def _sentence(self, found: Departure, size: int) -> str:
        pool, home = excerpt(found.pool), excerpt(found.waits_in)
        back = "does not return" if found.back is None else f"returns at {found.back}"
        names = ", ".join(map(excerpt, found.beside[:_NAMED])) + ", ..." * (len(found.beside) > _NAMED)
        room = "" if self.room is None else f" of {self.room:,}"
        full = f"at {found.fullest}, {count_text(len(found.beside), 'other buffer')} there ({names})" if names else ""
        full = f"{full} {'has' if len(found.beside) == 1 else 'have'} {found.bytes:,}{room} bytes" if names else ""
        if found.displaced:
            spans = " and ".join(f"from {start} to {end}" for start, end in found.no_room[:_NAMED])
            more = f" and {len(found.no_room) - _NAMED:,} other times" if len(found.no_room) > _NAMED else ""
            why = f"{full}, {found.used_bytes:,} of them used then; it has no room {spans}{more}, and would displace"
            why = f"{why} {count_text(found.displaced, 'byte')}"
        else:
            why = f"its bytes would fit there all the time{f', as {full}' if full else ''}"
        elsewhere = "" if found.cost_elsewhere is None else f"; in {home} all its life, {found.cost_elsewhere:,.12g}"
        left = (
            f"{excerpt(found.buffer)} ({count_text(size, 'byte')}) leaves {pool} at {found.time} for {home} and {back}"
        )
        return f"{left}: {why}. Its accesses and copies cost {found.cost:,.12g}{elsewhere}"


def lines_of_departures(found: Sequence[Departure]) -> Iterator[str]:
    """Yield the sentences of the first departures, and a line that counts the others."""
    for departure in found[:_SHOWN]:
        yield f"leaves       {departure.sentence}"
    if len(found) > _SHOWN:
        yield f"and {count_text(len(found) - _SHOWN, 'other')}: see departures in the JSON answer"
