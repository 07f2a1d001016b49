"""The files and standard streams of a command. Each error is one sentence that begins with the file's name."""

import contextlib
import errno
import os
import shlex
import stat
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TextIO, TypeVar

import click

from memplan.files import WAYS, os_errors_named, prefix_file_name, write_file_atomically
from memplan.planner import formats
from memplan.planner.errors import FileError, OptionError, excerpt
from memplan.planner.model.finding import Finding
from memplan.solvers.processes.apart import writing

if TYPE_CHECKING:
    from memplan.api.cli.advice import CommandLine

STANDARD = "-"
PAGE, PICTURE, CERTIFICATE = ".html", ".svg", ".proof"
FOLDER = "/"
"""The last character of an output path that denotes a folder."""
_OF_CONVERT = (".c", ".h", ".ld", ".lp", ".tflite", ".pte", ".mlf", ".tar")
"""The suffixes of files that `memplan convert` makes from a finished plan."""
T = TypeVar("T")


class _CommandFiles:
    """The record of the files that the current command has read and written.

    `piped` has the bytes of standard input and of named pipes once they are read, and `written` the paths of the
    written files. If the command line came from another machine, the command reads only the files in `sent`, by path,
    and instead of writing its output files it stores their bytes in `kept`.
    """

    files: ClassVar[dict[tuple[int, int], str]] = {}
    """The path of each file that was read, by (device, inode), which identifies the file under any of its names."""
    piped: ClassVar[dict[str, bytes]] = {}
    written: ClassVar[list[str]] = []
    sent: ClassVar[Mapping[str, bytes] | None] = None
    kept: ClassVar[dict[str, bytes]] = {}


def begin_command(sent: Mapping[str, bytes] | None = None) -> Mapping[str, bytes]:
    """Clear the record of read and written files for a new command, and return the mapping that receives output files.

    `sent` has the bytes of input files by path, if the command line came from another machine; the command may read
    only these, and its output files then go to the returned mapping instead of the disk.
    """
    _CommandFiles.files.clear()
    _CommandFiles.piped.clear()
    _CommandFiles.written.clear()
    _CommandFiles.sent, _CommandFiles.kept = sent, {}
    return _CommandFiles.kept


def say_written() -> None:
    """Print the names of the files that this command has written, and clear the list."""
    if _CommandFiles.written:
        print_message(f"memplan: wrote {', '.join(_CommandFiles.written)}")
        _CommandFiles.written.clear()


def read_bytes(path: str) -> bytes:
    """Return the bytes of a file; those of `-` (standard input) and of pipes are kept for further reads.

    Raises FileError.
    """
    name = "standard input" if path == STANDARD else path
    if path in _CommandFiles.piped:
        return _CommandFiles.piped[path]
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
        elif sys.stdin is None:
            raise FileError(f"{name}: is closed")
        else:
            data = sys.stdin.buffer.read()
    _CommandFiles.piped[path] = data
    return data


def refuse_read(path: str) -> None:
    """Raise FileError if this command has read the output file, under any name, because writing would overwrite it."""
    try:
        status = Path(path).stat()
    except (OSError, ValueError):  # A missing file cannot be an input, and writing the file reports any other error.
        return
    if name := _CommandFiles.files.get((status.st_dev, status.st_ino)):
        raise FileError(f"{path}: must not be a file that the command reads, such as {name}")


def read_as(path: str, reader: Callable[[bytes], T]) -> T:
    """Return what `reader` makes of a file's bytes (`-`: standard input); its errors begin with the file's name."""
    data = read_bytes(path)
    with prefix_file_name("standard input" if path == STANDARD else path, path):
        return reader(data)


def format_for(path: str | None) -> str:
    """Return the format of an output file by its suffix; JSON without a path. Raises FormatError."""
    if path is None or path == STANDARD:
        return "json"
    with prefix_file_name(path):
        return formats.format_of_name(path)


def write_output(path: str | None, data: bytes) -> None:
    """Write bytes to a file, or to standard output for None or `-`; raises FileError for a file that was read."""
    with writing():
        if path is None or path == STANDARD:
            _write_standard_output(data)
            return
        if _CommandFiles.sent is None:
            refuse_read(path)
            with os_errors_named(path):
                Path(path).parent.mkdir(parents=True, exist_ok=True)
            write_file_atomically(path, data)
        else:
            _CommandFiles.kept[path] = data
        _CommandFiles.written.append(path)


def suffix_of(path: str) -> str:
    """Return the suffix of a path in lower case; `/` for the path of a folder."""
    return FOLDER if path.endswith(FOLDER) else Path(path).suffix.lower()


def refuse_unwritable(path: str | None) -> None:
    """Raise FileError if an output file, or a folder (a path that ends in `/`), cannot be written."""
    if path is None or path == STANDARD or _CommandFiles.sent is not None:
        return
    target = Path(os.path.realpath(path))
    if suffix_of(path) == FOLDER:  # `write_output` creates the folder, so that a refused command leaves nothing.
        with os_errors_named(path):
            target = next(each for each in (target, *target.parents) if each.exists())
        if not target.is_dir():
            raise FileError(f"{path}: file exists: {target}", way=WAYS[errno.EEXIST])
    elif target.is_dir():
        raise FileError(f"{path}: is a directory", way=WAYS[errno.EISDIR])
    if not target.parent.is_dir():
        raise FileError(f"{path}: no such directory: {target.parent}", way="make it first, or write elsewhere")
    if not os.access(target if target.exists() else target.parent, os.W_OK):
        raise FileError(f"{path}: permission denied", way=WAYS[errno.EACCES])


def refuse_files(line: "CommandLine") -> bool:
    """Check all output files of a command line; return True if any of them is an extra file, such as a page.

    Raises InputError for a file that cannot be written, is also an input, is named twice, or has an unknown suffix.
    """
    arguments, command = line.given, line.command
    suffixes = {"", ".json", *command.forms, *command.beside}
    files = [arguments.get(each.parameter) for each in line.question.inputs if each.from_file is not None]
    more = arguments.get("more")  # `more` lists input files in some commands and is a plain option in others.
    files += [*(more if isinstance(more, list) else ()), arguments.get("budgets_file")]
    read = {os.path.realpath(path) for path in files if path is not None}
    outputs = arguments.get("outputs") or []
    if repeated := [path for k, path in enumerate(outputs) if path in outputs[:k]]:
        raise OptionError(f"output: must name each file once, got {repeated[0]} again: leave one out")
    # An explicit --format decides the format, so output files may then have any suffix.
    is_named = arguments.get("display") not in (None, "table")
    for path in outputs:
        if suffix_of(path) not in suffixes and not is_named:
            names = ", ".join(sorted(suffixes - {"", FOLDER}))
            words = f"`memplan convert {arguments.get('problem')} plan.json -o {shlex.quote(path)}`"
            is_converted = suffix_of(path) in _OF_CONVERT and "problem" in arguments and ".c" not in suffixes
            way = f": {words} makes this file from a plan" if is_converted else ""
            raise OptionError(f"output: must end in {names}, got {excerpt(path)}{way}")
        if path != STANDARD and os.path.realpath(path) in read:
            raise OptionError(f"output: must not be a file that the command reads, got {path}: name another")
        if suffix_of(path) in command.needs_plans and arguments["server"] is not None:
            reason = "because a server's answers lack the file's plans"
            raise OptionError(f"output: must not be {path} with --server, {reason}")
    named_files = [path for name in ("save_plan", "save_baseline") if (path := arguments.get(name)) is not None]
    if arguments.get("save_plan") is not None and os.path.realpath(arguments["save_plan"]) in read:
        raise OptionError(f"save-plan: must not be a file that the command reads, got {arguments['save_plan']}")
    for path in (*outputs, *named_files):
        refuse_unwritable(path)
    return bool(named_files) or any(suffix_of(path) in command.beside for path in outputs)


def print_message(text: str) -> None:
    """Print a message to standard error; do nothing if that stream is closed."""
    with contextlib.suppress(OSError):
        click.echo(text, err=True)


def warning_lines(findings: Iterable[Finding]) -> Iterator[str]:
    """Yield one warning line per finding of a reader or of lint."""
    for finding in findings:
        yield f"warning: {finding.rule}: {finding.message}"


def is_terminal(stream: object) -> bool:
    """Return True if a stream is a terminal; False for a closed stream or None."""
    return bool(getattr(stream, "isatty", lambda: False)())


def wants_table(display: str | None) -> bool:
    """Return True if a list is printed as a table: on request, or by default on a terminal."""
    return display == "table" or (display is None and is_terminal(sys.stdout))


def _write_standard_output(data: bytes) -> None:
    """Write all bytes to standard output; raises FileError if that stream is closed or cannot be written."""
    if sys.stdout is None:
        raise FileError("standard output: is closed")
    try:
        with os_errors_named("standard output"):
            rest = memoryview(data)
            while rest:  # A stream without buffer may write only some of the bytes, so write the rest.
                rest = rest[sys.stdout.buffer.write(rest) or 0 :]
            sys.stdout.buffer.flush()
    except FileError:
        # Redirect the stream to the null device, so that the flush at interpreter exit does not fail again.
        with contextlib.suppress(OSError), Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        raise


_ERASE = "\r\033[K"


class ProgressLine:
    """A terminal line, redrawn in place, with the elapsed time and the latest progress message."""

    def __init__(self, terminal: TextIO) -> None:
        """Start the clock; nothing is drawn before the first message."""
        self.terminal = terminal
        self.latest: str | None = None
        self._began = time.monotonic()

    def take(self, text: str) -> None:
        """Store the latest progress message for the next drawing; any thread of the search may call this."""
        self.latest = text

    def draw(self) -> None:
        """Draw the elapsed time and the latest message; do nothing before the first message."""
        if self.latest is None:
            return
        from shutil import get_terminal_size

        width = get_terminal_size().columns - 1  # some terminals wrap a full line, so leave the last column empty
        self.terminal.write(f"{_ERASE}{f'{time.monotonic() - self._began:6.1f} s  {self.latest}'[:width]}")
        self.terminal.flush()

    def erase(self) -> None:
        """Erase the progress line, so that other output can take its place."""
        self.terminal.write(_ERASE)
        self.terminal.flush()
