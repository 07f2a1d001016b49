"""Answers questions about files of other systems in a process of its own, killed at its limits of time and memory.

The readers take what strangers wrote: whatever a file does to its reader, the worker lives on, and its caller is told.
The child answers with sentences that say what is wrong with the file, or with none and the bytes of an answer.
"""

from __future__ import annotations

import faulthandler
import threading
from dataclasses import dataclass

import numpy as np

from memplan.api.cluster.task import NoAnswerError
from memplan.api.requests import ParsedRequest
from memplan.capabilities.capability import Control
from memplan.planner.errors import FormatError, InputError
from memplan.solvers.processes.child import ChildProcess, reading_memory
from memplan.solvers.processes.harden import write_no_file
from memplan.solvers.processes.parent import Parent
from memplan.solvers.search.deadline import Deadline

_MODULE = "memplan.api.service.import_process"
_ahead: list[ChildProcess] = []
"""The reader of the next file where one was read: its start takes half a second of CPU."""


@dataclass(frozen=True, eq=False)
class ForeignTask:
    """A request about a file of another system, and the deadline of the answer."""

    request: ParsedRequest
    deadline: Deadline


def run_apart(
    task: ForeignTask, deadline: Deadline, cancelled: threading.Event, most_bytes: int | None = None
) -> tuple[bytes, str | None]:
    """Return an answer and its status, made in a child process.

    Raises FormatError, also at its limit of memory, and NoAnswerError where the time is over or it is cancelled.
    """
    files = sum(len(file.data) for file in task.request.files.values())
    files += sum(len(value) for value in task.request.fields.values() if isinstance(value, str))
    most = reading_memory(files) if most_bytes is None else most_bytes

    def is_over() -> bool:
        # Past the deadline, to be cancelled is to be told of it, which the deadline here allows for.
        return deadline.left_s <= 0 or (cancelled.is_set() and task.deadline.left_s > 0)

    with _reader() as child:
        child.limit(is_over, most)
        child.give(task)
        try:
            wrong, known, found = child.answer()
        except EOFError:
            if child.stopped_by == "over":
                raise NoAnswerError(f"{task.request.kind}: no answer came within its time limit") from None
            if child.stopped_by == "memory":
                raise FormatError(f"file: must be read with {most} bytes of memory, and needs more") from None
            status = child.wait()
            raise FormatError(f"file: cannot be read: its reader ended with status {status}") from None
        finally:
            if not _ahead:
                _ahead.append(ChildProcess(_MODULE))
    if wrong:
        raise FormatError(*wrong)
    return bytes(found), known


def _reader() -> ChildProcess:
    """Return a reader that was started ahead, of which each reads one file, or a new one."""
    while _ahead:
        if not (child := _ahead.pop()).has_ended():
            return child
    return ChildProcess(_MODULE)


def answered(task: ForeignTask) -> tuple[bytes, str | None]:
    """Return the answer of a capability, and its status; raises InputError."""
    return task.request.answer(Control(task.deadline))


def _wrong_with(error: Exception) -> list[str]:
    """Return the sentences that say why a file cannot be read."""
    if isinstance(error, InputError):
        return [
            "file: " + text if text.startswith(("must ", "cannot ", "needs ")) else text for text in error.sentences
        ]
    return [f"file: cannot be read: its reader failed ({type(error).__name__})"]


def main() -> None:
    """Run the child."""
    parent = Parent()
    write_no_file()
    faulthandler.disable()
    try:
        found, known = answered(parent.task)
    except Exception as error:  # noqa: BLE001 - the border of the process: a fault of a reader is told as one
        parent.send([_wrong_with(error), None, None])
    else:
        parent.send([[], known, np.frombuffer(found, np.uint8)])


if __name__ == "__main__":
    main()
