"""Reading and writing of problem and plan files. Error messages about a file begin with its name."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shlex
import stat
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from memplan.planner import formats
from memplan.planner.errors import FileError, InputError, OptionError, ReaderFaultError, excerpt
from memplan.planner.errors.did_you_mean import closest_word
from memplan.planner.model.plan import Plan, attach_problem
from memplan.planner.model.problem import Problem
from memplan.questions.reading import Reader, ReadOptions, validate_options

Source = bytes | str | os.PathLike[str]
"""A file, given as its bytes or its path; a str is always a path."""
_OF_FILE = r"(`memplan[^`]*) FILE\b"
"""The pattern of a suggested command up to the word FILE, which is then replaced by the file's name."""
WAYS = {
    errno.EISDIR: "name a file in this folder",
    errno.EEXIST: "the output is a folder, and this path is a file: name another",
    errno.EACCES: "may this user read and write it? Or write elsewhere",
}
"""For each error number of the operating system, the remedy that the error message suggests."""


def read_problem(source: Source, *, capacity: int | Mapping[str, int] | None = None, **options: Any) -> Problem:
    """Read a problem: JSON, CSV, operations, or the model or dump of another system, recognised by its content.

    Parameters
    ----------
    source : bytes, str or PathLike
        The bytes of a file, or its path: a str is always a path.
    capacity : int or mapping of str to int, optional
        The size in bytes of the only pool, or of each pool by name, as in `Problem.with_capacity`.
    **options
        The fields of `ReadOptions`: `inclusive` for tables, and how a model is read, such as `dims={"batch": 1}`.

    Returns
    -------
    Problem
        Sizes and offsets are bytes, and lifetimes half-open.

    Raises
    ------
    FileError
        If there is no such file.
    FormatError, ProblemError
        If the file is no problem, or the problem breaks a rule.
    OptionError
        If an option is unknown or its value is not allowed.
    """
    data, name = read_source(source)
    with prefix_file_name(name):
        problem = reader_with(options).problem(data, name)
    if capacity is None:
        return problem
    sizes = [f"{name}={size}" for name, size in capacity.items()] if isinstance(capacity, Mapping) else [f"{capacity}"]
    record = {**(problem.read_with or {}), "capacity": sizes}
    return problem.with_capacity(capacity).model_copy(update={"read_with": record})


def reader_with(options: Mapping[str, Any]) -> Reader:
    """Return a file reader with the given `ReadOptions` values; raises OptionError for an unknown or invalid option."""
    return Reader(validate_options(ReadOptions, options)) if options else Reader()


def read_plan(source: Source, problem: Problem) -> Plan:
    """Read a plan for the problem, JSON or CSV; `verify` checks whether it is valid.

    Parameters
    ----------
    source : bytes, str or PathLike
        The bytes of a file, or its path: a str is always a path.
    problem : Problem
        The problem that the plan is for.

    Returns
    -------
    Plan
        Offsets are bytes from the start of a pool.

    Raises
    ------
    FileError
        If there is no such file.
    FormatError, PlanError
        If the file is no plan, or the plan breaks a rule.
    """
    data, name = read_source(source)
    with prefix_file_name(name):
        return attach_problem(formats.read_plan(data, problem, name), problem)


def write_problem(
    problem: Problem,
    path: str | os.PathLike[str] | None = None,
    *,
    format: str | None = None,  # noqa: A002  the command and the service use this name
) -> bytes:
    """Return a problem as a file's bytes; with a path, write the file as well, whole or not at all.

    Parameters
    ----------
    problem : Problem
        The problem to write.
    path : str or PathLike, optional
        The file to write as well, whole or not at all.
    format : {"json", "csv"}, optional
        By default the format of the path's ending, and JSON without a path.

    Returns
    -------
    bytes
        The content of the file.

    Raises
    ------
    FormatError
        If the format cannot express all of the problem.
    OptionError, FileError
        If the format is unknown, or the file cannot be written.
    """
    return write_file_atomically(path, formats.FORMATS[_format_name(path, format)].write_problem(problem))


def write_plan(
    plan: Plan,
    problem: Problem,
    path: str | os.PathLike[str] | None = None,
    *,
    format: str | None = None,  # noqa: A002  the command and the service use this name
) -> bytes:
    """Return a plan of the problem as a file's bytes; with a path, write the file as well, whole or not at all.

    Parameters
    ----------
    plan : Plan
        The plan to write.
    problem : Problem
        The problem that the plan is for.
    path : str or PathLike, optional
        The file to write as well, whole or not at all.
    format : {"json", "csv"}, optional
        By default the format of the path's ending, and JSON without a path.

    Returns
    -------
    bytes
        The content of the file.

    Raises
    ------
    FormatError
        If the format cannot express all of the plan.
    OptionError, FileError
        If the format is unknown, or the file cannot be written.
    """
    return write_file_atomically(path, formats.FORMATS[_format_name(path, format)].write_plan(plan, problem))


def _format_name(path: str | os.PathLike[str] | None, name: str | None) -> str:
    """Return the checked name of a format, or without a name, the format of the path's suffix; raises OptionError."""
    if name is None:
        with prefix_file_name(None if path is None else os.fspath(path)):
            return "json" if path is None else formats.format_of_name(os.fspath(path))
    if name not in formats.FORMATS:
        raise OptionError(f"format: must be {' or '.join(formats.FORMATS)}, got {excerpt(name)}")
    return name


def read_source(source: Source) -> tuple[bytes, str | None]:
    """Return the bytes of a source and its path. The path is None if the source is bytes."""
    if isinstance(source, bytes):
        return source, None
    if not isinstance(source, (str, os.PathLike)):
        raise InputError(f"source: must be bytes or a path, got {excerpt(source)}")
    name = os.fspath(source)
    if name.lstrip()[:1] == "{" or "\n" in name:
        raise InputError(f"source: must be bytes or a path, got a str that is not a path: {excerpt(name)}")
    with os_errors_named(name):
        return Path(name).read_bytes(), name


def write_file_atomically(path: str | os.PathLike[str] | None, data: bytes) -> bytes:
    """Write bytes to the path, if given, and return them. After a FileError, an existing file is unchanged."""
    if path is not None:
        with os_errors_named(os.fspath(path)):
            target = Path(os.path.realpath(path))
            if target.exists() and not target.is_file():
                target.write_bytes(data)
            else:
                _replace_file(target, data)
    return data


def _replace_file(target: Path, data: bytes) -> None:
    """Replace a file by renaming a complete temporary file to the same path; no reader sees a partial file."""
    part = target.with_name(f".memplan-{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            part.chmod(stat.S_IMODE(target.stat().st_mode))
        part.replace(target)
    except OSError as error:
        if isinstance(error, FileNotFoundError) and target.parent.is_dir():
            raise OSError(errno.EPERM, "no file can be created in that folder") from error
        part.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def os_errors_named(name: str) -> Iterator[None]:
    """Convert operating-system errors in the block to a FileError that begins with `name` and suggests a remedy."""
    try:
        yield
    except (OSError, ValueError) as error:  # a path with a null character raises ValueError, so catch it too
        near = _similar_file_hint(name) if isinstance(error, FileNotFoundError) else ""
        near = " (no file matches this pattern)" if near and re.search(r"[*?]", name) else near
        near = ": the link points to itself, name the file" if getattr(error, "errno", 0) == errno.ELOOP else near
        rule = f"{name}: {(getattr(error, 'strerror', None) or str(error)).lower()}{near}"
        raise FileError(rule, way=None if near else WAYS.get(getattr(error, "errno", 0))) from error


def _similar_file_hint(name: str) -> str:
    """Return a hint for a missing file: a similar name in its folder, or the command that fetches or writes it."""
    path = Path(name)
    if re.match(r"(https?|ftp|s3|gs)://", name):
        return (
            f": files are read from a disk, so fetch it first: `curl -L -o {path.name or 'FILE'} {shlex.quote(name)}`"
        )
    with contextlib.suppress(OSError):
        if near := closest_word(path.name, (each.name for each in islice(path.parent.iterdir(), 1000)), cutoff=0.75):
            return f" (did you mean {path.parent / near}?)"
    if path.parts[:1] == ("examples",) and not Path("examples").exists():
        return ": `memplan examples` writes the examples of the documents"
    return f" in {path.parent.resolve()}"


@contextlib.contextmanager
def prefix_file_name(name: str | None, path: str | None = None) -> Iterator[None]:
    """Prefix errors about a file's content with the file's name, if it has one.

    An error may suggest a command with the word FILE: `path`, by default the name, replaces this word.
    """
    try:
        yield
    except ReaderFaultError as fault:
        if name is None:
            raise
        raise ReaderFaultError(f"{name}: {fault}") from fault
    except InputError as error:
        if name is None:
            raise
        file = shlex.quote(path or name)
        # The argument `capacity` is not part of the file, so an error about `capacity` must not name the file.
        raise error.prefix_place(
            f"{name}: ", lambda text: re.sub(_OF_FILE, lambda found: f"{found[1]} {file}", text), "capacity"
        ) from error
