"""Reads a file of another system in a process of its own, which is killed at its limits of time and memory.

The readers take what strangers wrote: whatever a file does to its reader, the worker lives on, and its caller is told.
The child answers with sentences that say what is wrong with the file, or with none and the bytes of an answer.
"""

from __future__ import annotations

import faulthandler
import threading
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from pydantic_core import to_json

from memplan.api.reports.page.plan_view import NO_NAMES
from memplan.api.reports.page.program_names import program_names
from memplan.planner import formats, importers
from memplan.planner.audit import verify
from memplan.planner.errors import FormatError, InputError
from memplan.planner.formats import memplan_json
from memplan.planner.importers.imported import Imported, ImportOptions
from memplan.solvers.processes.child import ChildProcess, reading_memory
from memplan.solvers.processes.parent import Parent
from memplan.solvers.search.deadline import Deadline

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


def run_apart(task: ImportTask, deadline: Deadline, cancelled: threading.Event, most_bytes: int | None = None) -> bytes:
    """Return what `answered` says of a file, read in a child process; raises FormatError, also at its limits."""
    most = reading_memory(len(task.data)) if most_bytes is None else most_bytes

    def is_over() -> bool:
        return deadline.left_s <= 0 or cancelled.is_set()

    with ChildProcess("memplan.api.service.import_process", is_over, most) as child:
        child.give(task)
        try:
            wrong, found = child.answer()
        except EOFError:
            if child.stopped_by == "over":
                raise FormatError("file: must be read within its time limit, and was not") from None
            if child.stopped_by == "memory":
                raise FormatError(f"file: must be read with {most} bytes of memory, and needs more") from None
            status = child.wait()
            raise FormatError(f"file: cannot be read: its reader ended with status {status}") from None
    if wrong:
        raise FormatError(*wrong)
    return bytes(found)


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


def _wrong_with(error: Exception) -> list[str]:
    """Return the sentences that say why a file cannot be read."""
    if isinstance(error, InputError):
        return ["file: " + text if text.startswith("must ") else text for text in error.sentences]
    if isinstance(error, RecursionError):
        return ["file: must not be nested deeper than its reader can follow"]
    return [f"file: cannot be read: its reader failed ({type(error).__name__})"]


def main() -> None:
    """Run the child."""
    parent = Parent()
    faulthandler.disable()
    try:
        found = answered(parent.task)
    except Exception as error:  # noqa: BLE001 - the border of the process: a fault of a reader is told as one
        parent.send([_wrong_with(error), None])
    else:
        parent.send([[], np.frombuffer(found, np.uint8)])


if __name__ == "__main__":
    main()
