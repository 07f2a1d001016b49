"""Files and standard streams of a command; each error is one sentence that names the file."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import ClassVar, TextIO, TypeVar

import click

from memplan.files import WAYS, os_errors_named, prefix_file_name, save
from memplan.planner import formats
from memplan.planner.errors import FileError
from memplan.planner.model.finding import Finding
from memplan.solvers.processes.apart import writing

STANDARD = "-"
PAGE, PICTURE, CERTIFICATE = ".html", ".svg", ".proof"
FOLDER = "/"
"""The suffix that marks an output path as a folder."""
T = TypeVar("T")


class _CommandFiles:
    """The files that the current command has read and written, and the content of standard input.

    A command line from another machine reads only the files that came with it (`sent`), and its output files are kept
    for that machine (`kept`).
    """

    files: ClassVar[dict[tuple[int, int], str]] = {}
    """The paths of files that were read, by device and inode, so that another name of a file is recognised."""
    standard: ClassVar[list[bytes]] = []
    written: ClassVar[list[str]] = []
    sent: ClassVar[Mapping[str, bytes] | None] = None
    kept: ClassVar[dict[str, bytes]] = {}


def begin_command(sent: Mapping[str, bytes] | None = None) -> Mapping[str, bytes]:
    """Forget the files that an earlier command has read and written.

    If `sent` has the files of a command line from another machine, only these are read. Return the mapping to which
    output files are added from now on.
    """
    _CommandFiles.files.clear()
    _CommandFiles.standard.clear()
    _CommandFiles.written.clear()
    _CommandFiles.sent, _CommandFiles.kept = sent, {}
    return _CommandFiles.kept


def say_written() -> None:
    """Print the files that this command has written, once."""
    if _CommandFiles.written:
        say(f"memplan: wrote {', '.join(_CommandFiles.written)}")
        _CommandFiles.written.clear()


def read_bytes(path: str) -> bytes:
    """Return the bytes of a file; `-` is standard input, which can be read repeatedly. Raises FileError."""
    name = "standard input" if path == STANDARD else path
    with os_errors_named(name):
        if path != STANDARD:
            if _CommandFiles.sent is not None:
                if path not in _CommandFiles.sent:
                    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
                return _CommandFiles.sent[path]
            data = Path(path).read_bytes()
            status = Path(path).stat()
            if stat.S_ISREG(status.st_mode):
                _CommandFiles.files[status.st_dev, status.st_ino] = path
            return data
        if sys.stdin is None:
            raise FileError(f"{name}: is closed")
        _CommandFiles.standard[:] = _CommandFiles.standard or [sys.stdin.buffer.read()]
    return _CommandFiles.standard[0]


def refuse_read(path: str) -> None:
    """Raise FileError for an output file that this command has read, under any name, as it would be overwritten."""
    try:
        status = Path(path).stat()
    except (OSError, ValueError):  # it is new, or writing it will raise the error
        return
    if name := _CommandFiles.files.get((status.st_dev, status.st_ino)):
        raise FileError(f"{path}: must be another file than those that are read, such as {name}")


def read_as(path: str, reader: Callable[[bytes], T]) -> T:
    """Return the result of a reader for the bytes of a file, or of standard input for `-`; errors name the file."""
    data = read_bytes(path)
    with prefix_file_name("standard input" if path == STANDARD else path, path):
        return reader(data)


def format_for(path: str | None) -> str:
    """Return the format of an output file from its suffix, JSON by default; raises FormatError."""
    if path is None or path == STANDARD:
        return "json"
    with prefix_file_name(path):
        return formats.format_of_name(path)


def write(path: str | None, data: bytes) -> None:
    """Write a file, or standard output for None and `-`; raises FileError for a file that this command has read."""
    with writing():
        if path is None or path == STANDARD:
            _write_standard_output(data)
            return
        if _CommandFiles.sent is None:
            refuse_read(path)
            save(path, data)
        else:
            _CommandFiles.kept[path] = data
        _CommandFiles.written.append(path)


def suffix_of(path: str) -> str:
    """Return the suffix of a path in lower case; for a folder, the slash at its end."""
    return FOLDER if path.endswith(FOLDER) else Path(path).suffix.lower()


def refuse_unwritable(path: str | None) -> None:
    """Raise FileError early for a file that cannot be written; create the folder if the path names one."""
    if path is None or path == STANDARD or _CommandFiles.sent is not None:
        return
    if suffix_of(path) == FOLDER:
        with os_errors_named(path):
            Path(path).mkdir(parents=True, exist_ok=True)
        return
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise FileError(f"{path}: is a directory", way=WAYS[errno.EISDIR])
    if not target.parent.is_dir():
        raise FileError(f"{path}: no such directory: {target.parent}", way="make it first, or write elsewhere")
    if not os.access(target if target.exists() else target.parent, os.W_OK):
        raise FileError(f"{path}: permission denied", way=WAYS[errno.EACCES])


def say(text: str) -> None:
    """Print a message to standard error; nothing happens if that is closed."""
    with contextlib.suppress(OSError):
        click.echo(text, err=True)


def warnings(findings: Iterable[Finding]) -> Iterator[str]:
    """Yield a warning line for each finding."""
    for finding in findings:
        yield f"warning: {finding.rule}: {finding.message}"


def is_terminal(stream: object) -> bool:
    """True if a standard stream, which may be closed, is a terminal."""
    return bool(getattr(stream, "isatty", lambda: False)())


def wants_table(display: str | None) -> bool:
    """True if a list is shown as a table: if the option says so or, by default, on a terminal."""
    return display == "table" or (display is None and is_terminal(sys.stdout))


def _write_standard_output(data: bytes) -> None:
    if sys.stdout is None:
        raise FileError("standard output: is closed")
    try:
        with os_errors_named("standard output"):
            rest = memoryview(data)
            while rest:  # an unbuffered stream may accept only a part
                rest = rest[sys.stdout.buffer.write(rest) or 0 :]
            sys.stdout.buffer.flush()
    except FileError:
        # The stream's unwritten buffer goes to the null device, so that the interpreter's exit does not fail again.
        with contextlib.suppress(OSError), Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        raise


_ERASE = "\r\033[K"


class ProgressLine:
    """A progress line on a terminal, redrawn in place: the elapsed time and the state of the work."""

    def __init__(self, terminal: TextIO) -> None:
        self.terminal = terminal
        self.latest: str | None = None
        self._began = time.monotonic()

    def take(self, text: str) -> None:
        """Store the latest state of the search, which is drawn later; called from the search's threads."""
        self.latest = text

    def draw(self) -> None:
        """Draw the elapsed time and the latest state, if there is one."""
        if self.latest is None:
            return
        from shutil import get_terminal_size

        width = get_terminal_size().columns - 1  # some terminals wrap after the last column
        self.terminal.write(f"{_ERASE}{f'{time.monotonic() - self._began:6.1f} s  {self.latest}'[:width]}")
        self.terminal.flush()

    def erase(self) -> None:
        """Erase the line, so that other output can follow."""
        self.terminal.write(_ERASE)
        self.terminal.flush()
