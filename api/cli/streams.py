"""Files and standard streams, as a command uses them: an error is one sentence that names the file."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TypeVar

import typer

from memplan.api.abandoning import writing
from memplan.files import named, os_errors_named, save
from memplan.planner import formats
from memplan.planner.errors import FileError, shown
from memplan.planner.model.finding import Finding
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem

STANDARD = "-"
UsageError: type[Any] = typer.BadParameter.__mro__[1]
"""The error of a wrong command line: click's, or that of the copy of click that typer may have inside."""
T = TypeVar("T")


def read_as(path: str, reader: Callable[[bytes], T]) -> T:
    """Return what a reader makes of the bytes of a file, or of standard input for `-`; errors name the file."""
    data = _read(path)
    with named_as(path):
        return reader(data)


def named_as(path: str) -> AbstractContextManager[None]:
    """Put the name of a file, or of standard input for `-`, before what is wrong with what is in it."""
    return named(_name(path), path)


def read_plan(path: str, problem: Problem) -> Plan:
    """Read a plan for the problem from a file, or from standard input for `-`; raises InputError."""
    return read_as(path, lambda data: formats.read_plan(data, problem, path))


def format_for(path: str | None, given: str | None) -> str:
    """Return the format to write in: `given`, else by the file's name, else JSON; raises FormatError."""
    if given is not None or path is None or path == STANDARD:
        return given or "json"
    with named(_name(path)):
        return formats.format_of_name(path)


def write(path: str | None, data: bytes) -> None:
    """Write a file, or to standard output for None and `-`; raises FileError."""
    with writing():
        if path is None or path == STANDARD:
            _write_out(data)
        else:
            save(path, data)


def refuse_unwritable(path: str | None) -> None:
    """Raise FileError for a file that cannot be written, before work is spent on what should go there."""
    if path is None or path == STANDARD:
        return
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise FileError(f"{path}: is a directory")
    if not target.parent.is_dir():
        raise FileError(f"{path}: no such directory: {target.parent}")
    if not os.access(target if target.exists() else target.parent, os.W_OK):
        raise FileError(f"{path}: permission denied")


def refuse_no_page(path: str | None) -> None:
    """Raise FileError for a page whose file has the ending of something else."""
    ending = Path(path or "").suffix.lower()
    if ending not in {"", ".html", ".htm"}:
        way = f"; --picture {path} draws the plan" if ending in {".pdf", ".png", ".svg"} else ""
        raise FileError(f"page: must end in .html, got {shown(path)}{way}")


def say(text: str) -> None:
    """Tell people something, on standard error, which may be closed."""
    with contextlib.suppress(OSError):
        typer.echo(text, err=True)


def warnings(findings: Iterable[Finding]) -> Iterator[str]:
    """Yield a line for people of each finding."""
    for finding in findings:
        yield f"warning: {finding.rule}: {finding.message}"


def is_terminal(stream: object) -> bool:
    """Return True if a standard stream, which may be closed, is a terminal."""
    return bool(getattr(stream, "isatty", lambda: False)())


def wants_table(display: str | None) -> bool:
    """Return True if a list is to be shown as a table: the option says so or, without one, for a terminal."""
    return display == "table" or (display is None and is_terminal(sys.stdout))


def _name(path: str) -> str:
    return "standard input" if path == STANDARD else path


def _read(path: str) -> bytes:
    if path != STANDARD:
        with os_errors_named(path):
            return Path(path).read_bytes()
    if sys.stdin is None:
        raise FileError("standard input: is closed")
    with os_errors_named("standard input"):
        return sys.stdin.buffer.read()


def _write_out(data: bytes) -> None:
    if sys.stdout is None:
        raise FileError("standard output: is closed")
    try:
        with os_errors_named("standard output"):
            rest = memoryview(data)
            while rest:  # an unbuffered stream may take a part
                rest = rest[sys.stdout.buffer.write(rest) or 0 :]
            sys.stdout.buffer.flush()
    except FileError:
        # What is left in the stream's buffer must not fail once more when the interpreter ends.
        with contextlib.suppress(OSError), Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        raise
