"""The steps of answering a command line: read its files, answer its question, and write the answer."""

import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from memplan.api.cli.advice import CommandLine, Keep
from memplan.api.cli.flags import BROWSER, TABLE, options_given
from memplan.api.cli.outputs import refuse_files
from memplan.api.cli.reading import read_files
from memplan.api.cli.running import FAULT, INTERRUPTED, WRONG_INPUT, graceful_interrupts, seconds_left
from memplan.api.cli.streams import (
    ProgressLine,
    is_terminal,
    say,
    say_written,
    suffix_of,
    wants_table,
    warnings,
    write,
)
from memplan.files import prefix_file_name
from memplan.planner.errors import InputError, OptionError, ReaderFaultError
from memplan.questions.question import Control, Deadline, QuestionOptions, ignore_report
from memplan.questions.question.selection import Selection
from memplan.questions.reading import Reader, ReadOptions, add_reading_facts, load
from memplan.solvers.processes.apart import run_in_thread

Result = TypeVar("Result")
Writers = Mapping[str, Callable[[str], bytes | None]]
"""By suffix, the function that returns the bytes for a path, or None if it wrote the file or explained why not."""
_NONE: Writers = {}
_FOR_FILES = 0.1
"""The share of the time limit for extra files; a page of 30,000 operations takes 0.5 s."""
_GRACE_S = 0.25
_WRITING_S = 0.2
"""The seconds after the time limit in which a first answer may still be found, and for writing its files."""


@dataclass(eq=False, repr=False)
class Call:
    """The state of a running command.

    line: the command line.
    flags: the values of the command's parameters, by name.
    files: the paths of the inputs' files, by input.
    reader, values, options: the reader of the files, the values of the inputs, and the options.
    due: the deadline of the answer, which leaves time to write the files.
    selection: the fields of the answer's JSON that are written to standard output; None for all.
    opens: True if a page of the answer is to be opened in a browser.
    limit_s, left_s: the given time limit, and a function that returns the seconds left.
    cancelled: an event that Ctrl-C sets.
    noted: the interim answers.
    drawn: the line of a terminal that shows progress, or None.
    exit_status: the exit status of writing the files.
    said: sentences for people that are printed at the end: written files, and hints.
    """

    line: CommandLine
    flags: Mapping[str, Any]
    files: Mapping[str, str | None]
    reader: Reader
    options: QuestionOptions
    due: Deadline
    values: Mapping[str, Any] = field(default_factory=dict)
    selection: Selection | None = None
    opens: bool = False
    limit_s: float | None = None
    left_s: Callable[[], float] = lambda: float("inf")
    cancelled: threading.Event = field(default_factory=threading.Event)
    noted: list[Any] = field(default_factory=list)
    drawn: ProgressLine | None = None
    exit_status: int = 0
    said: list[str] = field(default_factory=list)

    @property
    def outputs(self) -> Sequence[str]:
        """The output files of -o, if the command takes several; else none."""
        return self.flags.get("outputs") or ()

    def say(self, *texts: str) -> None:
        """Print texts on standard error, with suggested commands completed."""
        for text in texts:
            say(f"memplan: {self.line.complete(text)}")

    def run_in_time(
        self,
        work: Callable[[], Result],
        what: str = "an answer",
        more_s: float = 0.0,
        noted: Sequence[Result] = (),
    ) -> Result:
        """Run work within the time limit; shortly after it, abandon the work and return the last interim answer.

        Raises OptionError if there is no interim answer.
        """
        draw = None if self.drawn is None else self.drawn.draw
        try:
            return run_in_thread(work, draw, lambda: _GRACE_S + more_s + self.left_s())
        except TimeoutError:
            if noted:
                return noted[-1]
            raise OptionError(f"time-limit: must be enough for {what}, got {self.limit_s:g}") from None

    def writing(self, work: Callable[[], Result]) -> Result:
        """Run a function that writes extra files, in the remaining time; raises OptionError if that is too short."""
        return self.run_in_time(work, "what is written with the answer", _WRITING_S)

    def change(self, **options: Any) -> None:
        """Replace some options of the question, as the command's output files require."""
        self.options = self.options.model_copy(update=options)

    def title(self, name: str | None = None) -> str:
        """Return the title of a page: the name of its subject, or of the first file."""
        return name or Path(next(iter(self.files.values())) or "").name

    def has_output(self, *suffixes: str) -> bool:
        """True if -o names a file with one of the suffixes."""
        return any(suffix_of(path) in suffixes for path in self.outputs)


def begin(line: CommandLine) -> Call:
    """Start a command: read its flags, refuse unwritable files, and start the time limit; raises InputError."""
    question, arguments, formats = line.question, line.given, line.command.formats
    is_beside = refuse_files(line)
    selection, display = None, arguments["display"]
    if display == BROWSER:
        arguments = {**arguments, "display": TABLE}
    elif display not in (None, *formats):
        selection = Selection.from_names(question.answer, [display], formats)
        arguments = {**arguments, "display": "json"}  # also at a terminal
    inputs = {each.name for each in question.inputs if each.from_file is not None}
    said = {name: value for name, value in arguments.items() if name not in inputs}
    options = options_given(question.options, said)
    plain = None if line.plain is None else options_given(ReadOptions, line.plain)
    reader = Reader(options_given(ReadOptions, said), plain=plain, plan_hash=line.plan_hash)
    paths = {each.name: arguments.get(each.name) for each in question.inputs if each.from_file is not None}
    # Importers are imported before the time limit starts, since that does not depend on the files.
    for path in filter(None, paths.values()):
        load(path)
    # Reading the files is part of the time limit, unless the search counts its work.
    call = Call(line, arguments, paths, reader, options, options.deadline(), {}, selection, display == BROWSER)
    if arguments.get("time_limit_s") is not None and not options.counts_work:
        call.limit_s, call.left_s = options.time_limit_s, seconds_left(options.time_limit_s)
        if is_beside:
            call.due = call.due.bring_forward(_FOR_FILES * options.time_limit_s)
    return call


def read(line: CommandLine) -> Call:
    """Start a command, and read its files within the time limit; raises InputError."""
    call = begin(line)
    call.values = call.run_in_time(lambda: read_files(line, call.reader))
    return call


def ask(call: Call) -> Any:
    """Return the answer to the question of a running command; raises MemplanError."""
    with call_control(call) as control:
        return answer_call(call, control)


@contextmanager
def call_control(call: Call, *, draws: bool = False) -> Iterator[Control]:
    """Print the reader's warnings, and yield the control for the following work, which Ctrl-C cancels.

    If `draws`, progress is a single line of a terminal that is redrawn; else a line for each event.
    """
    is_quiet = call.flags["quiet"]
    if call.reader.warnings and not is_quiet:
        call.say(*warnings(call.reader.warnings))
    call.drawn = ProgressLine(sys.stderr) if draws and not is_quiet and is_terminal(sys.stderr) else None

    def report(event: Mapping[str, Any]) -> None:
        if (text := call.line.question.progress(event)) is not None:
            say(f"memplan: {text}") if call.drawn is None else call.drawn.take(text)

    is_told = not is_quiet and (call.drawn is not None or not draws)
    with graceful_interrupts() as call.cancelled:
        yield Control(
            call.due, call.cancelled, report if is_told else ignore_report, is_local=True, note=call.noted.append
        )
        if call.drawn is not None:
            call.drawn.erase()
            call.drawn = None


def answer_call(call: Call, control: Control) -> Any:
    """Return the answer, computed here or by the named service; raises MemplanError.

    Work that does not check the clock is abandoned soon after the time limit, and its last interim answer is returned.
    """
    question, server = call.line.question, call.flags["server"]

    def work() -> Any:
        if server is not None:
            from memplan.api.cli.remote import ask

            return ask(server, question, call.values, call.options, control, bool(call.flags.get("prove")))
        # The question reads this file itself, so errors get the name of the file here.
        foreign = [each.name for each in question.inputs if each.is_foreign and each.name in call.files]
        with prefix_file_name(call.files[foreign[0]] if foreign else None):
            return question.answer_verified(call.values, call.options, control)

    return add_reading_facts(call.run_in_time(work, noted=call.noted), call.reader)


def show(
    call: Call, answer: Any, forms: Writers = _NONE, *, is_written: bool = False, says_lines: bool = False
) -> None:
    """Write an answer to the output files, by their suffixes, and to standard output as a table or JSON.

    If the command `is_written` by itself, only selected fields are written. If `says_lines`, the lines for people are
    written to standard error when standard output has JSON.
    """
    question, line = call.line.question, call.line
    if line.keep is not None:
        line.keep(line, answer)
        is_written = True
    is_table = not is_written and wants_table(call.flags["display"])
    answers = [path for path in call.outputs if suffix_of(path) not in line.command.beside]
    for path in answers if not is_written else ():
        form = forms.get(suffix_of(path))
        if (data := question.write(answer) if form is None else form(path)) is not None:
            write(path, data)
    if call.selection is not None:
        write(None, call.selection.write(question.write(answer)))
    elif not is_written and not answers and not is_table:
        write(None, question.write(answer))
    if is_table:
        write(None, "".join(f"{line.complete(text)}\n" for text in question.lines(answer)).encode())
    elif says_lines and not is_written and not call.flags["quiet"]:
        call.say(*question.lines(answer))


def write_beside(call: Call, writers: Writers) -> None:
    """Write the extra files of an answer in the remaining time; raises OptionError if that is too short."""
    paths = [path for path in call.outputs if suffix_of(path) in writers]

    def work() -> None:
        for path in paths:
            if (data := writers[suffix_of(path)](path)) is not None:
                write(path, data)

    if paths:
        call.writing(work)


def end(call: Call, answer: Any) -> int:
    """Print the remaining messages of a command, and return its exit status."""
    if not call.flags["quiet"]:
        interrupted = ("interrupted; this is the best answer so far",) if call.cancelled.is_set() else ()
        call.say(*interrupted, *call.said)
        say_written()
    return INTERRUPTED if call.cancelled.is_set() else call.line.question.exit_status(answer) or call.exit_status


class LineOutcome(NamedTuple):
    """The result of one of several command lines: its exit status, and its error sentences."""

    line: CommandLine
    status: int
    wrong: Sequence[str]


def run_apart(lines: Sequence[CommandLine], keep: Keep | None = None) -> Iterator[LineOutcome]:
    """Run the command lines of several files independently, and yield their outcomes; Ctrl-C ends all of them.

    Errors of a file are printed before its outcome is yielded. `keep` receives the answers, if it is given; else they
    are written as their lines require. With the flag `on`, the lines run on the cluster that it names.
    """
    if lines and lines[0].given.get("on") is not None:
        from memplan.api.cli.clusters import runner_on

        yield from runner_on(lines[0].given["on"])(lines, lines[0].given["on"], keep)
        return
    for one in lines:
        wrong = tuple[str, ...]()
        try:
            status = one.command.answer(one._replace(keep=keep))
        except InputError as error:
            status, wrong = WRONG_INPUT, one.completed_error(error).sentences
        except ReaderFaultError as fault:
            status, wrong = FAULT, (str(fault),)
        say_wrong(one, wrong)
        yield LineOutcome(one, status, wrong)
        if status == INTERRUPTED:
            return


def say_wrong(line: CommandLine, wrong: Iterable[str]) -> None:
    """Print the error sentences of a command line, each with the name of its file."""
    for sentence in wrong:
        say(f"memplan: error: {'' if sentence.startswith(line.file) else f'{line.file}: '}{sentence}")
