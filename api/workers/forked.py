"""Reading of other systems' files in a fork of a child process, which starts quickly and has no other task.

Whatever a file does to its reader, the child process survives. It receives the answer's bytes, or sentences about the
faults, as JSON and never as a pickle.
"""

from __future__ import annotations

import faulthandler
import os
import select
import signal
from collections.abc import Callable, Iterator, Sequence
from itertools import starmap
from typing import NoReturn

from pydantic_core import from_json, to_json

from memplan.api.faults import Fault, FaultError
from memplan.api.logs import REFUSALS
from memplan.api.refusals import NotInTimeError
from memplan.api.store.job import WorkAnswer
from memplan.planner.errors import FormatError, InputError, OptionError, ReaderFaultError, TimeOverError, add_way
from memplan.planner.foreign.imported import reader_fault
from memplan.solvers.processes.child import memory_in_use, reading_memory
from memplan.solvers.processes.harden import forbid_file_writing
from memplan.solvers.search.control import Control

_KINDS: tuple[type[InputError], ...] = FormatError, TimeOverError, OptionError
"""The exception classes that a fork reports as themselves; all other errors of an input are reported as FormatError."""
_LOOK_EVERY_S = 0.02
_PART = 1 << 16


def run_forked(
    work: Callable[[Callable[[WorkAnswer], None]], WorkAnswer], control: Control, count: int, what: str
) -> WorkAnswer:
    """Run `work`, which reads a file of `count` bytes, in a fork of this process, and return its result.

    The fork is killed at its limits of time and memory. The control's `note` receives interim answers; after a
    cancellation, the last one is the result. Raises FormatError, also at the memory limit; TimeOverError; FaultError;
    and NotInTimeError if the work is cancelled before its first answer.
    """
    reading, writing = os.pipe()
    if (pid := os.fork()) == 0:
        _answer_and_exit(work, writing)
    os.close(writing)
    most, sent, noted = reading_memory(count), _SentAnswers(), None
    try:
        while True:
            if select.select([reading], [], [], _LOOK_EVERY_S)[0]:
                if not (part := os.read(reading, _PART)):
                    break
                for answer in sent.take(part):
                    noted = answer
                    if control.note is not None and not sent.is_last:
                        control.note(noted)
            elif control.cancelled.is_set():
                if noted is None:
                    raise NotInTimeError(f"{what}: no answer arrived within its time limit")
                return noted
            elif memory_in_use(pid) > most:
                raise FormatError(f"file: must be parsed within {most} bytes of memory, got more")
    finally:
        os.kill(pid, signal.SIGKILL)  # The process has not been reaped, so killing it is harmless even if it has ended.
        os.close(reading)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if not sent.is_last or noted is None:
        raise FormatError(f"file: cannot be read: its reader ended with status {status}")
    return noted


class _SentAnswers:
    """The answers that a fork sends, each after a header line of JSON; `is_last` is True after the final one."""

    def __init__(self) -> None:
        """Start without received bytes."""
        self._left = bytearray()
        self.is_last = False

    def take(self, part: bytes) -> Iterator[WorkAnswer]:
        """Yield the answers that these further bytes complete; raises the errors that the fork reports."""
        self._left += part
        while (end := self._left.find(b"\n")) >= 0:
            wrong, kind, fault, is_last, length, status, is_plan, refused = from_json(bytes(self._left[:end]))
            if refused:
                REFUSALS.count(refused)
                del self._left[: end + 1]
                continue
            if fault:
                raise FaultError(Fault(*fault))
            if wrong:
                raise _KINDS[kind](*starmap(add_way, wrong))
            if len(self._left) < end + 1 + length:
                return
            content = bytes(self._left[end + 1 : end + 1 + length])
            del self._left[: end + 1 + length]
            self.is_last = is_last
            yield WorkAnswer(content, status, is_plan)


def _answer_and_exit(work: Callable[[Callable[[WorkAnswer], None]], WorkAnswer], writing: int) -> NoReturn:
    """Run work in the fork, send its answers through a pipe that is its only open file, and end the process."""

    def send(
        answer: WorkAnswer,
        is_last: bool = False,
        wrong: Sequence[tuple[str, str | None]] = (),
        fault: Sequence[str] = (),
        kind: int = 0,
        refused: str = "",
    ) -> None:
        """Write a JSON header line to the pipe, with the error (`wrong` or `fault`), if any, and the answer's bytes.

        Without an answer, `refused` names a solver whose result was refused.
        """
        head = to_json([wrong, kind, fault, is_last, len(answer.content), answer.status, answer.is_plan, refused])
        unsent = memoryview(head + b"\n" + answer.content)
        while unsent:
            unsent = unsent[os.write(3, unsent) :]

    try:
        os.dup2(writing, 3)
        os.closerange(4, os.sysconf("SC_OPEN_MAX"))
        os.dup2(os.open(os.devnull, os.O_RDWR), 0)
        forbid_file_writing()
        faulthandler.disable()
        REFUSALS.count = lambda solver: send(WorkAnswer(b""), refused=solver)
        try:
            send(work(send), is_last=True)
        except InputError as error:
            kind = next((number for number, one in enumerate(_KINDS) if isinstance(error, one)), 0)
            told = error if isinstance(error, OptionError) else error.prefix_name("file")
            send(WorkAnswer(b""), wrong=[*told.rules_with_ways(str)], kind=kind)
        except Exception as error:  # noqa: BLE001 - the parent process receives every error
            fault = error if isinstance(error, ReaderFaultError) else reader_fault(error)
            send(WorkAnswer(b""), fault=Fault.from_error(fault))
    finally:
        os._exit(0)
