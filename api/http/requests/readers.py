"""Reads large bodies in processes of their own, kept for the next one, which are killed at limits of time and memory.

A parser holds the interpreter until it is done, so that nothing else of a process goes on meanwhile; and what it makes
of a body may be many times as large. A reader is kept until it was killed or has grown.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from math import inf
from typing import Any

from pydantic_core import from_json

from memplan.api.cluster.task import WorkFailedError
from memplan.api.http.problem_details import TooLargeError
from memplan.api.http.requests.bodies import JSON
from memplan.api.http.requests.keep_requests import Keeping
from memplan.api.http.requests.reading_process import WRONG
from memplan.api.http.requests.submissions import GRACE_S, BegunSubmission
from memplan.api.http.requests.work_requests import BegunWork
from memplan.api.options import NO_OPTIONS, Options
from memplan.api.refusals import NotInTimeError, UnavailableError
from memplan.api.service.cache.compiled_problem import CompiledProblem
from memplan.api.settings import Settings
from memplan.api.store.job import NewJob
from memplan.capabilities.capability import Capability, due
from memplan.capabilities.extent import Extent
from memplan.planner.errors import MemplanError
from memplan.planner.instance.instance import CompiledPool, Instance
from memplan.planner.model.buffer_table import BufferTable
from memplan.planner.model.columns import read_only
from memplan.planner.model.finding import Finding
from memplan.planner.model.problem import Problem
from memplan.solvers.processes.child import ChildProcess, memory_in_use, reading_memory
from memplan.solvers.search.deadline import NEVER, Deadline

LARGE_BYTES = 64 * 2**10
"""Reading a body up to this size takes less time than handing it to a thread under load; larger ones are read apart."""
_KEPT_BYTES = 400 * 2**20
"""The memory up to which a reader is kept for the next body."""
_OVERRUN_S, _START_S = 1.0, 10.0
"""The time beyond its body's after which a reader is killed; and the time that it has to start, in addition.

One that was killed as it started would be followed by one that starts as late: on a busy machine, none would read.
"""
_NICENESS = 5
"""The number that readers add to the niceness of the server, whose loop goes first; workers are nicer still."""
_LIMIT = re.compile(rb'"time_limit_s"[ \t\r\n]*:[ \t\r\n]*([0-9]{1,6}(?:\.[0-9]{1,9})?)')
"""The time limit in a body that was not parsed yet, as far as it can be seen: a parser hears of no end."""
_LIMIT_ASKED = re.compile(r"(?:^|&)time_limit_s=([0-9]{1,6}(?:\.[0-9]{1,9})?)")
_FIRST = b'{"buffers": [{"id": 0, "size": 1, "start": 0, "end": 1}]}'
_MODULE = "memplan.api.http.requests.reading_process"


class Readers:
    """The readers of a server: as many as bodies are read at once. For any thread."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings.without_secrets()
        self._idle: list[ChildProcess] = []
        self._is_closed = self.is_stopping = False
        self._changing = threading.Lock()

    def start(self) -> threading.Thread:
        """Start one ahead of the next large body; the thread ends when it has read a small one, and all is loaded."""
        starting = threading.Thread(target=self._start, daemon=True)
        starting.start()
        return starting

    def _start(self) -> None:
        with suppress(MemplanError):  # of one that was ended meanwhile
            self.compiled(_FIRST, apart=True)

    def stop(self) -> None:
        """End those that read: their callers are told that this server stops."""
        self.is_stopping = True

    def close(self) -> None:
        """End those that wait; none may be asked any more."""
        self._is_closed = True
        while self._idle:
            self._idle.pop().close()

    def plan(self, kind: str, body: bytes, query: str, arrived: float) -> BegunSubmission:
        """Read the body of `POST /v1/plan`, as `begin_submission` does, for any thread; raises InputError.

        The problem that the submission has is compiled; where the reader is ended, TooLargeError is raised.
        """
        task = ("plan", kind, body, query, self._settings)
        asked = _Asked(self, len(body), task, limit_of(body, query, arrived))
        options, rows = asked.first
        read = Options.model_validate(options)

        def compiled() -> CompiledProblem:
            return _compiled_of(asked.second(read.time_limit_s, arrived))

        return BegunSubmission(read, lambda: compiled().problem, rows, compiled=compiled, end=asked.end)

    def work(
        self, capability: Capability[Any], media: str, body: bytes, query: str, arrived: float
    ) -> tuple[BegunWork, Callable[[], bytes]]:
        """Begin to read the body of another call; return also what waits for the answer where that is brief."""
        task = ("work", capability.name, media, body, query, self._settings, arrived)
        asked = _Asked(self, len(body), task, limit_of(body, query, arrived))
        options, extent, wrong = asked.first
        error = None if wrong is None else WRONG[wrong[0]](*wrong[1])
        read = capability.options.model_validate(options)
        begun = BegunWork(capability, read, Extent(*extent), {}, error, asked.end)
        if error is not None or not begun.is_brief:
            asked.end()
        return begun, lambda: asked.second(read.time_limit_s, arrived).tobytes()

    def job(self, media: str, body: bytes, query: str, said: Mapping[str, str | None]) -> NewJob:
        """Read the body of a job; raises InputError."""
        asked = _Asked(self, len(body), ("job", media, body, query, self._settings, dict(said)))
        asked.end()
        return NewJob(**asked.first | {"problem": asked.first["problem"].tobytes()})

    def keeping(self, body: bytes, query: str, arrived: float) -> Keeping | None:
        """Read a body with `keep`, as `read_keeping` does; raises InputError."""
        asked = _Asked(self, len(body), ("keep", body, query, self._settings), limit_of(body, query, arrived))
        asked.end()
        if asked.first is None:
            return None
        options, plan_hash, problem, old = asked.first
        read = Options.model_validate(options)
        return Keeping(problem.tobytes(), read, plan_hash, None if old is None else old.tobytes())

    def compiled(self, problem: bytes, *, apart: bool = False) -> CompiledProblem:
        """Return the problem of an accepted job, compiled, from its JSON; raises InputError."""
        if len(problem) <= LARGE_BYTES and not apart:
            return CompiledProblem.of(Problem.model_validate(from_json(problem)))
        asked = _Asked(self, len(problem), ("plan", JSON, problem, "", self._settings))
        return _compiled_of(asked.second(inf, time.monotonic()))

    def take(self) -> tuple[ChildProcess, bool]:
        """Return a reader, and whether it waited; else it is a new one."""
        with self._changing:
            while self._idle:
                if not (reader := self._idle.pop()).has_ended():
                    return reader, True
        return ChildProcess(_MODULE, niceness=_NICENESS), False

    def leave(self, reader: ChildProcess) -> None:
        """Give a reader back that waits for its next body."""
        if self._is_closed or memory_in_use(reader.pid) > _KEPT_BYTES:
            reader.close()
            return
        with self._changing:
            self._idle.append(reader)


class _Asked:
    """A body at its reader, and the `first` answer; `second` or `end` is called once, from whatever thread."""

    def __init__(self, readers: Readers, count: int, task: tuple[Any, ...], within: Deadline = NEVER) -> None:
        self._readers, (self._reader, self._has_started) = readers, readers.take()
        self._most = reading_memory(count)
        self._changing, self._is_over = threading.Lock(), False
        self.first = self._answer(task, within)

    def second(self, limit_s: float, arrived: float) -> Any:
        """Let the reader go on, and return what it found by the time limit; raises what it says is wrong."""
        if self._was_over():
            raise NotInTimeError("body: was to be read no more")
        deadline = due(limit_s, arrived)
        found = self._answer(deadline, deadline)
        self._readers.leave(self._reader)
        return found

    def end(self) -> None:
        """Let the reader forget the body, unless it was told to go on."""
        if not self._was_over():
            self._reader.give(None)
            self._readers.leave(self._reader)

    def _was_over(self) -> bool:
        with self._changing:
            before, self._is_over = self._is_over, True
            return before

    def _answer(self, task: object, within: Deadline) -> Any:
        """Return the reader's answer to the next part of its task, unless it is killed before.

        Its caller waits less long, so that a busy machine kills no reader that would soon be done.
        """
        most_s = GRACE_S + _OVERRUN_S + (0.0 if self._has_started else _START_S)
        self._reader.limit(lambda: self._readers.is_stopping or within.left_s < -most_s, self._most)
        self._reader.give(task)
        try:
            wrong, content = self._reader.answer()
        except (EOFError, ValueError):
            self._is_over = True
            self._reader.close()
            if self._readers.is_stopping:
                raise UnavailableError("memplan: this server stops, and reads no more") from None
            self._readers.start()
            if self._reader.stopped_by == "over":
                raise NotInTimeError("body: could not be read within its time limit") from None
            rule = f"must be read within its time limit, and with {self._most} bytes of memory"
            raise TooLargeError(f"body: {rule}") from None
        self._reader.limit()
        self._has_started = True
        if wrong is None:
            return content
        self._is_over = True
        self._readers.leave(self._reader)
        raise WRONG[wrong](*content) if wrong in WRONG else WorkFailedError(f"memplan: {wrong} in a reader")


def limit_of(body: bytes, query: str, arrived: float) -> Deadline:
    """Return when a call seems to be due whose body and query were not parsed yet, if need be by the usual limit."""
    limits = _LIMIT.findall(body) or _LIMIT_ASKED.findall(query)
    return due(float(limits[-1]) if limits else NO_OPTIONS.time_limit_s, arrived)


def _compiled_of(found: dict[str, Any]) -> CompiledProblem:
    """Return the problem of what a reader sent of it."""
    table: dict[str, Any] = found["buffers"]
    rules = {name: dict(rows) for name, rows in table["rules"]}
    table |= {"aliases": read_only(dict(table["aliases"])), "rules": read_only(rules)}
    problem = Problem(**found["fields"], buffers=BufferTable(**table))
    pools = tuple(CompiledPool(**pool) for pool in found["instance"]["pools"])
    instance = Instance(**found["instance"] | {"pools": pools})
    findings = tuple(Finding(**finding) for finding in found["findings"])
    return CompiledProblem(problem, instance, found["hash"], found["order"], found["is_small"], findings)
