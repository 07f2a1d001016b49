"""One admission queue for all processes of a server, kept by their parent and used over a socket.

A process that ends gives back its places with its connection. A line is a list of JSON: an `ask`, a `first` answer or
`leave` with the number of a seat on the way there; `began`, `short` or `refused` on the way back.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from math import inf
from typing import Any

from memplan.api.refusals import FullError, NoTurnError
from memplan.api.service.admission import Admission, AdmissionQueue, Seat

ADMISSION = "ADMISSION_SOCKET"
"""The environment variable with the address of the shared queue, for server processes."""
_GONE = "memplan: the process that admits requests is gone"
_ASKED = ("caller", "due", "sort", "least_s", "can_end", "has_answer", "arrived")
"""The fields of a seat that are sent; all processes of a machine share the monotonic clock."""


def queue_of(solves: int, waiting: int, requires_keys: bool) -> AdmissionQueue:
    """Return the queue of a server; if keys are required, no key can take all slots."""
    return AdmissionQueue(solves + int(requires_keys), waiting, of_key=solves)


@contextmanager
def admitting(queue: AdmissionQueue, path: str) -> Iterator[None]:
    """Serve a queue to other processes, in a thread, until the block ends. Raises OSError."""
    loop = asyncio.new_event_loop()
    try:
        server = loop.run_until_complete(asyncio.start_unix_server(lambda *ends: _serve(queue, *ends), path))
    except BaseException:
        loop.close()
        raise
    thread = threading.Thread(target=loop.run_forever, name="memplan-admission", daemon=True)
    thread.start()
    try:
        yield
    finally:
        asyncio.run_coroutine_threadsafe(_end(server), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _end(server: asyncio.Server) -> None:
    server.close()
    serving = asyncio.all_tasks() - {asyncio.current_task()}
    for task in serving:
        task.cancel()
    await asyncio.gather(*serving, return_exceptions=True)


@dataclass(eq=False)
class _FarSeat(Seat):
    """A seat of another process, to which its changes are sent."""

    tell: Callable[..., None] = print

    def changed(self) -> None:
        """Notify the waiter that it has begun, was refused or should be short."""
        if self.refusal is not None:
            self.tell("refused", str(self.refusal), self.refusal.retry_after_s, isinstance(self.refusal, NoTurnError))
        else:
            self.tell("short" if self.is_short.is_set() else "began", self.began)


async def _serve(queue: AdmissionQueue, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Serve one process until it ends; then its seats are free."""
    seats: dict[int, _FarSeat] = {}

    def teller(number: int) -> Callable[..., None]:
        def tell(word: str, *values: object) -> None:
            if word == "refused":
                seats.pop(number, None)
            _send(writer, word, number, *values)

        return tell

    try:
        while line := await reader.readline():
            word, number, *values = json.loads(line)
            if word == "ask":
                fields = dict(zip(_ASKED, values, strict=True))
                fields["sort"] = None if fields["sort"] is None else tuple(fields["sort"])
                seats[number] = _FarSeat(**fields, tell=teller(number))
                queue.ask(seats[number])
            elif (seat := seats.get(number)) is None:  # the request was refused in the meantime
                continue
            elif word == "leave":
                del seats[number]
                seat.first_at, is_measured = values
                queue.leave(seat, is_measured=is_measured)
            else:
                queue.note_first(seat)
    except ConnectionError:
        pass
    finally:
        for seat in seats.values():
            queue.leave(seat)
        await _closed(writer)


async def _closed(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(ConnectionError):
        await writer.wait_closed()


def _send(writer: asyncio.StreamWriter, *values: Any) -> None:
    writer.write(json.dumps(values).encode() + b"\n")


class SharedAdmission(Admission):
    """The queue of a server's parent, as seen by one of its processes."""

    def __init__(self, places: int, writer: asyncio.StreamWriter) -> None:
        self.places = places
        self._writer, self._numbers = writer, count()
        self._seats: dict[int, Seat] = {}
        self._number: dict[int, int] = {}
        self._is_gone = False

    @classmethod
    @asynccontextmanager
    async def opened(cls, path: str, places: int) -> AsyncIterator[SharedAdmission]:
        """Connect to the queue at a path until the block ends."""
        reader, writer = await asyncio.open_unix_connection(path)
        admission = cls(places, writer)
        hearing = asyncio.create_task(admission._hear(reader))
        try:
            yield admission
        finally:
            hearing.cancel()
            await _closed(writer)

    @property
    def busy(self) -> int:
        """The number of slots in use here."""
        return sum(seat.began is not None for seat in self._seats.values())

    @property
    def waiting(self) -> int:
        """The number of refusable requests that wait here."""
        return sum(seat.began is None and seat.due < inf for seat in self._seats.values())

    def ask(self, wish: Seat) -> None:
        """Decide on a request, now or later."""
        if self._is_gone:
            self._refuse(wish, FullError(_GONE))
            return
        number = next(self._numbers)
        self._seats[number], self._number[id(wish)] = wish, number
        _send(self._writer, "ask", number, *(getattr(wish, name) for name in _ASKED))

    def leave(self, place: Seat, *, is_measured: bool = False) -> None:
        """Release a slot or withdraw a request; its duration is recorded for its sort if `is_measured`."""
        number = self._number.pop(id(place), None)
        if number is not None and self._seats.pop(number, None) is not None and not self._is_gone:
            _send(self._writer, "leave", number, place.first_at, is_measured)

    def note_first(self, place: Seat) -> None:
        """Record that a request now has a first answer."""
        super().note_first(place)
        if (number := self._number.get(id(place))) is not None and not self._is_gone:
            _send(self._writer, "first", number)

    async def _hear(self, reader: asyncio.StreamReader) -> None:
        try:
            while line := await reader.readline():
                word, number, *values = json.loads(line)
                if (seat := self._seats.get(number)) is None:  # the request was withdrawn in the meantime
                    continue
                if word == "refused":
                    sentence, retry_after_s, is_busy = values
                    del self._seats[number], self._number[id(seat)]
                    self._refuse(seat, (NoTurnError if is_busy else FullError)(sentence, retry_after_s))
                elif word == "began":
                    seat.began = values[0]
                    seat.changed()
                else:
                    seat.is_short.set()
        except ConnectionError:
            pass
        self._is_gone = True
        for seat in self._seats.values():
            if seat.began is None:
                self._refuse(seat, FullError(_GONE))

    def _refuse(self, wish: Seat, refusal: FullError) -> None:
        wish.refusal = refusal
        wish.changed()
