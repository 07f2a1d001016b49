"""Reads a file of another system in a process of its own, which is killed at its limits of time and memory.

The readers take what strangers wrote: whatever a file does to its reader, the worker lives on, and its caller is told.
The parent sends one pickled task; the child answers with the bytes of an answer, or with sentences that say what is
wrong with the file. Only this module's two sides use these pipes.
"""

from __future__ import annotations

import contextlib
import faulthandler
import pickle
import resource
import sys
import threading
from dataclasses import asdict, dataclass, field
from typing import Any

from pydantic_core import from_json, to_json

from memplan.api.reports.page.plan_view import NO_NAMES
from memplan.api.reports.page.program_names import program_names
from memplan.planner import formats, importers
from memplan.planner.audit import verify
from memplan.planner.errors import FormatError, InputError
from memplan.planner.formats import memplan_json
from memplan.planner.importers.imported import Imported, ImportOptions
from memplan.solvers.search import child_process
from memplan.solvers.search.child_process import ChildProcess
from memplan.solvers.search.deadline import Deadline

_LEAST_MEMORY_BYTES, _MEMORY_A_BYTE = 2**30, 16
"""The memory that a reader may take: a gigabyte, and so many bytes for each byte of a large file."""
_LOOK_EVERY_S = 0.02
_FINE, _WRONG = b"+", b"-"
_MOST_TOLD = 10


@dataclass(frozen=True, eq=False)
class ImportTask:
    """A file to be read: its bytes, its name where it has one, and how a model is to be read.

    With `names`, the names that a program gives to its times and buffers are answered, too.
    """

    data: bytes
    name: str | None = None
    options: ImportOptions = field(default_factory=ImportOptions)
    names: bool = False
    least_memory_bytes: int = _LEAST_MEMORY_BYTES

    @property
    def memory_bytes(self) -> int:
        """The memory that its reader may take."""
        return max(self.least_memory_bytes, _MEMORY_A_BYTE * len(self.data))


def run_apart(task: ImportTask, deadline: Deadline, cancelled: threading.Event) -> bytes:
    """Return what `answered` says of a file, read in a child process; raises FormatError, also at its limits."""
    told: list[bytes] = []
    with ChildProcess("memplan.api.service.import_process") as child:
        talk = threading.Thread(target=_talk, args=(child, task, told), daemon=True)
        talk.start()
        try:
            while talk.is_alive() and deadline.left_s > 0 and not cancelled.is_set():
                talk.join(_LOOK_EVERY_S)
            is_late = talk.is_alive()
        finally:
            status = child.kill()
            talk.join()
    answer = told[0] if told and not is_late else b""
    if answer.startswith(_FINE):
        return answer[1:]
    if answer.startswith(_WRONG):
        raise FormatError(*from_json(answer[1:]))
    if is_late:
        raise FormatError("file: must be read within its time limit, and was not")
    raise FormatError(f"file: cannot be read: its reader ended with status {status}")


def _talk(child: ChildProcess, task: ImportTask, told: list[bytes]) -> None:
    """Send the task, and take all that the child says."""
    with contextlib.suppress(BrokenPipeError):
        pickle.dump(task, child.questions)
        child.questions.close()
    told.append(child.answers.read())


def answered(task: ImportTask) -> bytes:
    """Return the answer of `POST /v1/import` for a file; raises InputError."""
    known = importers.detect(task.data, task.name) or _own_format(task)
    options = task.options.model_copy(update={"facts": True}) if task.names else task.options
    problem, imported = importers.read_problem(task.data, task.name, options)
    own_plan = None if imported is None else imported.own_plan
    named = {"names": _names(imported)} if task.names else {}
    facts = named | {
        "format": "operations" if known == "json" and imported is not None else known,
        "own_peak": None if imported is None else imported.own_peak,
        "violations": [] if own_plan is None else [broken.message for broken in verify(problem, own_plan)[:_MOST_TOLD]],
        "warnings": [
            {"rule": warning.rule, "message": warning.message}
            for warning in (() if imported is None else imported.warnings)
        ],
    }
    plan = b"null" if own_plan is None else memplan_json.write_plan(own_plan, problem).strip()
    written = memplan_json.write_problem(problem).strip()
    return to_json(facts)[:-1] + b',"problem":' + written + b',"plan":' + plan + b"}\n"


def _names(imported: Imported | None) -> dict[str, Any] | None:
    """Return the names that a program gives, as the answer has them; None where there are none."""
    names = NO_NAMES if imported is None else program_names(imported)
    return asdict(names) if names.steps else None


def _own_format(task: ImportTask) -> str:
    try:
        return formats.detect(task.data, task.name)
    except FormatError as error:
        if not task.data.strip():
            raise
        known = ", ".join([*formats.FORMATS, *importers.IMPORTERS])
        raise FormatError(f"must be of a known format ({known}), got {task.data[:20]!r}") from error


def _said(task: ImportTask) -> bytes:
    """Return what the child says of a file."""
    try:
        return _FINE + answered(task)
    except InputError as error:
        about_all = ("file: " + text if text.startswith("must ") else text for text in error.sentences)
        return _WRONG + to_json(list(about_all))
    except MemoryError:
        return _WRONG + to_json([f"file: must be read with {task.memory_bytes} bytes of memory, and needs more"])
    except RecursionError:
        return _WRONG + to_json(["file: must not be nested deeper than its reader can follow"])
    except Exception as error:  # noqa: BLE001 - the border of the process: a fault of a reader is told as one
        return _WRONG + to_json([f"file: cannot be read: its reader failed ({type(error).__name__})"])


def main() -> None:
    """Run the child: one task from standard input, what it says to standard output."""
    output = child_process.answers_of_this_process()
    faulthandler.disable()
    task: ImportTask = pickle.load(sys.stdin.buffer)
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    most = task.memory_bytes if hard < 0 else min(task.memory_bytes, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
    with output as answers:
        answers.write(_said(task))


if __name__ == "__main__":
    main()
