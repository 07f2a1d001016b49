"""Reads large bodies in processes of their own, kept for the next one, which are killed at limits of time and memory.

A parser holds the interpreter until it is done, so that nothing else of a process goes on meanwhile; and what it makes
of a body may be many times as large. A reader answers twice: first with the options, which say for how long the caller
waits, then, once it is told to go on, with what was asked for; or with what is wrong. It is kept until it was killed or
has grown.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import astuple
from types import MappingProxyType
from typing import Any

import numpy as np
from starlette.datastructures import QueryParams

from memplan.api.cluster.task import WorkControl, WorkFailedError
from memplan.api.http.problem_details import TooLargeError
from memplan.api.http.requests.job_requests import read_new_job
from memplan.api.http.requests.submissions import GRACE_S, BegunSubmission, begin_submission, check_size
from memplan.api.http.requests.work_requests import BegunWork, begin_work
from memplan.api.options import Options
from memplan.api.refusals import NotInTimeError
from memplan.api.service.answering import answered
from memplan.api.service.cache.compiled_problem import CompiledProblem
from memplan.api.settings import Settings
from memplan.api.store.job import NewJob
from memplan.capabilities.bodies import read_question
from memplan.capabilities.capability import Capability, due
from memplan.capabilities.extent import Extent
from memplan.capabilities.registry import CAPABILITIES
from memplan.planner import errors
from memplan.planner.instance.instance import CompiledPool, Instance
from memplan.planner.model.buffer_table import RARE_FIELDS, BufferTable
from memplan.planner.model.finding import Finding
from memplan.planner.model.problem import Problem
from memplan.solvers.processes.child import ChildProcess, memory_in_use, reading_memory
from memplan.solvers.processes.ending import Ending, OverError
from memplan.solvers.processes.fence import write_no_file
from memplan.solvers.processes.parent import Parent

LARGE_BYTES = 64 * 2**10
"""Reading a body up to this size takes less time than handing it to a thread under load; larger ones are read apart."""
_NICENESS = 5
"""The number that this adds to the niceness of the server, whose loop goes first; workers are nicer still."""
_KEPT_BYTES = 400 * 2**20
"""The memory up to which a reader is kept for the next body."""
_OVERRUN_S = 1.0
_LIMIT = re.compile(rb'"time_limit_s"[ \t\r\n]*:[ \t\r\n]*([0-9]{1,6}(?:\.[0-9]{1,9})?)')
"""The time limit in a body that was not parsed yet, as far as it can be seen: a parser hears of no end."""
_WRONG: Mapping[str, type[errors.MemplanError]] = {
    kind.__name__: kind
    for kind in (
        *(errors.InputError, errors.FormatError, errors.ProblemError, errors.PlanError),
        *(errors.OperationsError, errors.OptionError, TooLargeError, NotInTimeError),
    )
}
_MAPPINGS = {"aliases", *(mapping for mapping, _ in RARE_FIELDS.values())}


class Readers:
    """The readers of a server: as many as bodies are read at once. For any thread."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings.without_secrets()
        self._idle: list[ChildProcess] = []
        self._changing = threading.Lock()

    def start(self) -> None:
        """Start one ahead of the first large body."""
        self.leave(ChildProcess("memplan.api.http.requests.reading_process"))

    def close(self) -> None:
        """End those that wait; none may be asked any more."""
        while self._idle:
            self._idle.pop().close()

    def plan(self, kind: str, body: bytes, query: str, arrived: float) -> BegunSubmission:
        """Read the body of `POST /v1/plan`, as `begin_submission` does, for any thread; raises InputError.

        The problem that the submission has is compiled; where the reader is ended, TooLargeError is raised.
        """
        asked = _Asked(self, len(body), ("plan", kind, body, query, self._settings))
        options, rows = asked.first
        read = Options.model_validate(options)

        def compiled() -> CompiledProblem:
            return _compiled_of(asked.second(read.time_limit_s, arrived))

        return BegunSubmission(read, lambda: compiled().problem, rows, compiled=compiled, end=asked.end)

    def work(
        self, capability: Capability[Any], media: str, body: bytes, query: str, arrived: float
    ) -> tuple[BegunWork, Callable[[], bytes]]:
        """Begin to read the body of another call; return also what waits for the answer where that is brief."""
        limits = _LIMIT.findall(body)
        deadline = due(float(limits[-1]), arrived) if limits else None
        is_over = None if deadline is None else lambda: deadline.left_s < -GRACE_S
        task = ("work", capability.name, media, body, query, self._settings, arrived)
        asked = _Asked(self, len(body), task, is_over)
        options, extent, wrong = asked.first
        error = None if wrong is None else _WRONG[wrong[0]](*wrong[1])
        read = capability.options.model_validate(options)
        begun = BegunWork(capability, read, Extent(*extent), {}, error)
        if error is not None or not begun.is_brief:
            asked.end()
        return begun, lambda: asked.second(read.time_limit_s, arrived).tobytes()

    def job(self, media: str, body: bytes, query: str, said: Mapping[str, str | None]) -> NewJob:
        """Read the body of a job; raises InputError."""
        asked = _Asked(self, len(body), ("job", media, body, query, self._settings, dict(said)))
        asked.end()
        return NewJob(**asked.first | {"problem": asked.first["problem"].tobytes()})

    def take(self) -> ChildProcess:
        """Return a reader that waits, or a new one."""
        with self._changing:
            while self._idle:
                if not (reader := self._idle.pop()).has_ended():
                    return reader
        return ChildProcess("memplan.api.http.requests.reading_process")

    def leave(self, reader: ChildProcess) -> None:
        """Give a reader back that waits for its next body."""
        if memory_in_use(reader.pid) > _KEPT_BYTES:
            reader.close()
            return
        with self._changing:
            self._idle.append(reader)


class _Asked:
    """A body at its reader, and the `first` answer; `second` or `end` is called once, from whatever thread."""

    def __init__(
        self, readers: Readers, count: int, task: tuple[Any, ...], is_over: Callable[[], bool] | None = None
    ) -> None:
        self._readers, self._reader = readers, readers.take()
        self._most = self._reader.most_bytes = reading_memory(count)
        self._changing, self._is_over = threading.Lock(), False
        self._reader.is_over = is_over
        self._reader.give(task)
        self.first = self._heard()
        self._reader.is_over = None

    def second(self, limit_s: float, arrived: float) -> Any:
        """Let the reader go on, and return what it found by the time limit; raises what it says is wrong."""
        if self._was_over():
            raise NotInTimeError("body: was to be read no more")
        deadline = due(limit_s, arrived)
        self._reader.is_over = lambda: deadline.left_s < -GRACE_S - _OVERRUN_S
        self._reader.give(deadline)
        found = self._heard()
        self._reader.is_over = None
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

    def _heard(self) -> Any:
        try:
            wrong, content = self._reader.answer()
        except (EOFError, ValueError):
            self._is_over = True
            self._reader.close()
            if self._reader.stopped_by == "over":
                raise NotInTimeError("body: could not be read within its time limit") from None
            rule = f"must be read within its time limit, and with {self._most} bytes of memory"
            raise TooLargeError(f"body: {rule}") from None
        if wrong is None:
            return content
        self._is_over = True
        self._reader.is_over = None
        self._readers.leave(self._reader)
        raise _WRONG[wrong](*content) if wrong in _WRONG else WorkFailedError(f"memplan: {wrong} in a reader")


def _compiled_of(found: dict[str, Any]) -> CompiledProblem:
    """Return the problem of what a reader sent of it."""
    table: dict[str, Any] = found["buffers"]
    table |= {name: MappingProxyType(dict(table[name])) for name in _MAPPINGS}
    problem = Problem(**found["fields"], buffers=BufferTable(**table))
    pools = tuple(CompiledPool(**pool) for pool in found["instance"]["pools"])
    instance = Instance(**found["instance"] | {"pools": pools})
    findings = tuple(Finding(**finding) for finding in found["findings"])
    return CompiledProblem(problem, instance, found["hash"], found["order"], found["is_small"], findings)


def _plan(kind: str, body: bytes, query: str, settings: Settings) -> Iterator[object]:
    begun = begin_submission(kind, body, QueryParams(query))
    yield [begun.options.model_dump(exclude_unset=True), begun.rows]
    problem = begun.problem()
    check_size(problem, settings)
    fields = problem.model_dump(exclude={"buffers"}, exclude_unset=True)
    yield vars(CompiledProblem.of(problem)) | {"problem": None, "buffers": problem.buffers, "fields": fields}


def _work(name: str, media: str, body: bytes, query: str, settings: Settings, arrived: float) -> Iterator[object]:
    begun = begin_work(CAPABILITIES[name], media, body, QueryParams(query), settings, arrived=arrived)
    wrong = None if begun.wrong is None else _said(begun.wrong)
    yield [begun.options.model_dump(mode="json"), astuple(begun.extent), wrong]
    control = WorkControl(due(begun.options.time_limit_s, arrived), threading.Event(), lambda _: None)
    answer = answered(begun.capability, read_question(begun.capability, begun.fields), begun.options, control)
    yield np.frombuffer(answer.content, np.uint8)


def _job(media: str, body: bytes, query: str, settings: Settings, said: Mapping[str, Any]) -> Iterator[object]:
    found = read_new_job(media, body, QueryParams(query), settings, **said)
    yield vars(found) | {"problem": np.frombuffer(found.problem, np.uint8)}


_STEPS: Mapping[str, Callable[..., Iterator[object]]] = {"plan": _plan, "work": _work, "job": _job}


def _said(error: BaseException) -> list[Any]:
    name = next((kind.__name__ for kind in type(error).__mro__ if kind.__name__ in _WRONG), type(error).__name__)
    return [name, error.sentences if isinstance(error, errors.InputError) else (str(error),)]


def _read(parent: Parent, what: str, *task: Any) -> None:
    """Answer for one body."""
    try:
        steps = _STEPS[what](*task)
        parent.send([None, next(steps)])
        deadline = parent.next_task()
        if deadline is None:
            return
        with Ending() as ending:
            ending.within(deadline.left_s + GRACE_S)
            found = next(steps)
        parent.send([None, found])
    except OverError:
        parent.send(_said(NotInTimeError("body: could not be read within its time limit")))
    except MemoryError:
        parent.send(_said(TooLargeError("body: must be read with the memory of its reader, and needs more")))
    except Exception as error:  # noqa: BLE001 - the border of the process: a fault is told as one, without what was sent
        parent.send(_said(error))


def main() -> None:
    """Run a reader until its server closes the pipe."""
    parent = Parent(_NICENESS, is_kept=True)
    write_no_file()
    while True:
        try:
            task = parent.next_task()
        except EOFError:
            return
        _read(parent, *task)


if __name__ == "__main__":
    main()
