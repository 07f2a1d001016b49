"""Reading a stranger's file in a fork of a child, which is ready at once and has no other task.

Whatever a file does to its reader, the child lives on: it gets sentences that say what is wrong, or the bytes of an
answer, as JSON and never as a pickle.
"""

from __future__ import annotations

import faulthandler
import os
import select
import signal
from collections.abc import Callable
from typing import NoReturn

from pydantic_core import from_json, to_json

from memplan.api.refusals import NotInTimeError
from memplan.api.store.job import WorkAnswer
from memplan.planner.errors import FormatError, InputError, ReaderFaultError
from memplan.solvers.processes.child import memory_in_use, reading_memory
from memplan.solvers.processes.harden import write_no_file
from memplan.solvers.search.control import Control
from memplan.systems.imported import reader_fault

_LOOK_EVERY_S = 0.02
_PART = 1 << 16


def run_forked(work: Callable[[], WorkAnswer], control: Control, count: int, what: str) -> WorkAnswer:
    """Return the answer of work that reads `count` bytes of a file, done in a fork that is killed at its limits.

    Raises FormatError, also at its limit of memory, ReaderFaultError, and NotInTimeError where it is cancelled.
    """
    reading, writing = os.pipe()
    if (pid := os.fork()) == 0:
        _answer_and_exit(work, writing)
    os.close(writing)
    most, parts = reading_memory(count), list[bytes]()
    try:
        while True:
            if select.select([reading], [], [], _LOOK_EVERY_S)[0]:
                if not (part := os.read(reading, _PART)):
                    break
                parts.append(part)
            elif control.cancelled.is_set():
                raise NotInTimeError(f"{what}: no answer came within its time limit")
            elif memory_in_use(pid) > most:
                raise FormatError(f"file: must be read with {most} bytes of memory, and needs more")
    except BaseException:
        os.kill(pid, signal.SIGKILL)
        raise
    finally:
        os.close(reading)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    head, has_head, content = b"".join(parts).partition(b"\n")
    if not has_head:
        raise FormatError(f"file: cannot be read: its reader ended with status {status}")
    wrong, fault, answer_status, is_plan = from_json(head)
    if fault:
        raise ReaderFaultError(fault)
    if wrong:
        raise FormatError(*wrong)
    return WorkAnswer(content, answer_status, is_plan)


def _answer_and_exit(work: Callable[[], WorkAnswer], writing: int) -> NoReturn:
    """Run the fork: it has nothing of its parent's but what it needs, and answers through one pipe."""
    try:
        os.dup2(writing, 3)
        os.closerange(4, os.sysconf("SC_OPEN_MAX"))
        os.dup2(os.open(os.devnull, os.O_RDWR), 0)
        write_no_file()
        faulthandler.disable()
        wrong, fault, answer = list[str](), "", WorkAnswer(b"")
        try:
            answer = work()
        except InputError as error:
            wrong = [_of_file(text) for text in error.sentences]
        except Exception as error:  # noqa: BLE001 - the border of the process: whatever it is, the parent is told
            fault = f"file: {error if isinstance(error, ReaderFaultError) else reader_fault(error)}"
        left = memoryview(to_json([wrong, fault, answer.status, answer.is_plan]) + b"\n" + answer.content)
        while left:
            left = left[os.write(3, left) :]
    finally:
        os._exit(0)


def _of_file(sentence: str) -> str:
    return "file: " + sentence if sentence.startswith(("must ", "cannot ", "needs ")) else sentence
