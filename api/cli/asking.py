"""The steps that answer a command line: reading its files, answering its question, and writing the answer."""

import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from memplan.api.cli.advice import CommandLine, Keep
from memplan.api.cli.flags import BROWSER, TABLE, options_given
from memplan.api.cli.guarded import guarded_reading
from memplan.api.cli.reading import read_files
from memplan.api.cli.running import FAULT, INTERRUPTED, WRONG_INPUT, graceful_interrupts, seconds_left
from memplan.api.cli.streams import (
    ProgressLine,
    is_terminal,
    print_message,
    refuse_files,
    say_written,
    suffix_of,
    wants_table,
    warning_lines,
    write_output,
)
from memplan.files import prefix_file_name
from memplan.planner.errors import InputError, OptionError, ReaderFaultError
from memplan.questions.question import Control, Deadline, QuestionOptions, ignore_report
from memplan.questions.question.selection import Selection
from memplan.questions.reading import Reader, ReadOptions, add_reading_facts, import_reader
from memplan.solvers.processes.apart import run_in_thread

Result = TypeVar("Result")
Writers = Mapping[str, Callable[[str], bytes | None]]
"""Writers by suffix. Each takes a path and returns the file's bytes, or None if it needs no further writing."""
_NONE: Writers = {}
_FOR_FILES = 0.1
"""The share of the time limit reserved for extra files. A page of 30,000 operations takes 0.5 s."""
_GRACE_S = 0.25
_WRITING_S = 0.2
"""Seconds allowed after the time limit: for a first answer to arrive, and for writing its extra files."""


@dataclass(eq=False, repr=False)
class Call:
    """The state of one running command, from reading its files until the exit status is known.

    line: the command line that is answered.
    flags: the values of the command's parameters, by name.
    files: the path of each input's file, by the name of the input; None without a file.
    outputs: the paths of the output files given by -o; empty for a command without a list of output files.
    reader, values, options: the reader of the files, the values of the inputs, and the question's options.
    due: the deadline of the search, early enough to leave time for writing the files.
    selection: the fields of the answer's JSON that are written to standard output; None for all fields.
    opens: True if a page of the answer opens in a browser.
    limit_s, left_s: the time limit in seconds if one was given, and a function that returns the seconds left.
    cancelled: an event that Ctrl-C sets.
    noted: the interim answers, oldest first.
    drawn: the progress line of the terminal; None while no progress is drawn.
    exit_status: the exit status for a fault in writing files; it applies if the answer itself is a success.
    said: sentences for people that are printed at the end, such as hints.
    """

    line: CommandLine
    flags: Mapping[str, Any]
    files: Mapping[str, str | None]
    outputs: Sequence[str]
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

    def say(self, *texts: str) -> None:
        """Print messages to standard error; commands that they suggest get the current files and flags."""
        for text in texts:
            print_message(f"memplan: {self.line.complete(text)}")

    def run_in_time(
        self, work: Callable[[], Result], what: str = "an answer", more_s: float = 0.0, noted: Sequence[Result] = ()
    ) -> Result:
        """Return a function's result if it arrives within the time limit, or else the last interim answer.

        Shortly after the limit, the function is abandoned. Raises OptionError if there is no interim answer yet.
        """
        draw = None if self.drawn is None else self.drawn.draw
        try:
            return run_in_thread(work, draw, lambda: _GRACE_S + more_s + self.left_s())
        except TimeoutError:
            if noted:
                return noted[-1]
            raise OptionError(f"time-limit: must be enough for {what}, got {self.limit_s:g}") from None

    def reading_guard(self) -> AbstractContextManager[None]:
        """Return a guard for a block that reads the command's files; the files of other systems are a stranger's."""
        more = self.flags.get("more")  # `more` lists input files in some commands and is a plain option in others.
        files = [*filter(None, self.files.values()), *(more if isinstance(more, list) else ())]
        return guarded_reading(files, self.limit_s, self.left_s)

    def writing(self, work: Callable[[], Result]) -> Result:
        """Return the result of a function that writes extra files; raises OptionError if the time limit ends first."""
        return self.run_in_time(work, "the extra files", _WRITING_S)

    def change(self, **options: Any) -> None:
        """Replace the values of the given options, for example because an output file requires other values."""
        self.options = self.options.model_copy(update=options)

    def title(self, name: str | None = None) -> str:
        """Return the title of a page: the given name, else the file name of the first input."""
        return name or Path(next(iter(self.files.values())) or "").name

    def has_output(self, *suffixes: str) -> bool:
        """Return True if an output file given by -o has one of the suffixes."""
        return any(suffix_of(path) in suffixes for path in self.outputs)


def begin_call(line: CommandLine) -> Call:
    """Check a command line's flags, start its time limit, and return the call (the command's running state).

    Raises InputError for a wrong flag.
    """
    question, arguments, formats = line.question, line.given, line.command.formats
    is_beside = refuse_files(line)
    selection, display = None, arguments["display"]
    if display == BROWSER:
        arguments = {**arguments, "display": TABLE}
    elif display not in (None, *formats):
        selection = Selection.from_names(question.answer, [display], formats)
        # A table cannot show selected fields, so print them as JSON, even at a terminal.
        arguments = {**arguments, "display": "json"}
    inputs = {each.parameter for each in question.inputs if each.from_file is not None}
    said = {name: value for name, value in arguments.items() if name not in inputs}
    options = options_given(question.options, said)
    reader = Reader(options_given(ReadOptions, said))
    paths = {each.name: arguments.get(each.parameter) for each in question.inputs if each.from_file is not None}
    # Importers take long to load, whatever the user's files, so load the importers before the clock starts.
    for path in filter(None, paths.values()):
        import_reader(path)
    # Reading the files counts toward the time limit, unless the search counts work instead of time.
    outputs, due = arguments.get("outputs") or (), options.deadline()
    call = Call(line, arguments, paths, outputs, reader, options, due, {}, selection, display == BROWSER)
    if arguments.get("time_limit_s") is not None and not options.counts_work:
        call.limit_s, call.left_s = options.time_limit_s, seconds_left(options.time_limit_s)
        if is_beside:
            call.due = call.due.bring_forward(_FOR_FILES * options.time_limit_s)
    return call


def read_call(line: CommandLine) -> Call:
    """Start a command line's call and read its input files within the time limit; raises InputError."""
    call = begin_call(line)
    with call.reading_guard():
        call.values = call.run_in_time(lambda: read_files(line, call.reader))
    return call


def answer_of_call(call: Call) -> Any:
    """Return the answer to a started command's question; raises MemplanError."""
    with call_control(call) as control:
        return answer_call(call, control)


@contextmanager
def call_control(call: Call, *, draws: bool = False) -> Iterator[Control]:
    """Print the reader's warnings, and yield the control of the search; Ctrl-C cancels the search through it.

    With `draws`, a terminal shows progress as one line that is redrawn in place; otherwise, each event prints a line.
    """
    is_quiet = call.flags["quiet"]
    if call.reader.warnings and not is_quiet:
        call.say(*warning_lines(call.reader.warnings))
    call.drawn = ProgressLine(sys.stderr) if draws and not is_quiet and is_terminal(sys.stderr) else None

    def report(event: Mapping[str, Any]) -> None:
        if (text := call.line.question.progress(event)) is not None:
            print_message(f"memplan: {text}") if call.drawn is None else call.drawn.take(text)

    is_told = not is_quiet and (call.drawn is not None or not draws)
    with graceful_interrupts() as call.cancelled:
        yield Control(
            call.due, call.cancelled, report if is_told else ignore_report, is_local=True, note=call.noted.append
        )
        if call.drawn is not None:
            call.drawn.erase()
            call.drawn = None


def answer_call(call: Call, control: Control) -> Any:
    """Return the answer, computed locally or by the service given as `--server`; raises MemplanError.

    A computation that overruns the time limit is abandoned; then the last interim answer is returned.
    """
    question, server = call.line.question, call.flags["server"]

    def work() -> Any:
        if server is not None:
            from memplan.api.cli.remote import ask_service

            return ask_service(server, question, call.values, call.options, control, bool(call.flags.get("prove")))
        # The question reads the foreign file itself and does not know the file's name, so add the name to its errors.
        foreign = [each.name for each in question.inputs if each.is_foreign and each.name in call.files]
        with prefix_file_name(call.files[foreign[0]] if foreign else None):
            return question.answer_verified(call.values, call.options, control)

    reads = server is None and any(
        each.is_foreign for each in question.inputs if call.values.get(each.name) is not None
    )
    with call.reading_guard() if reads else nullcontext():
        answer, known = call.run_in_time(work, noted=call.noted), len(call.reader.warnings)
        answer = add_reading_facts(answer, call.reader)
    call.said += warning_lines(call.reader.warnings[known:])
    return answer


def write_answer(
    call: Call, answer: Any, forms: Writers = _NONE, *, is_written: bool = False, says_lines: bool = False
) -> None:
    """Write an answer to the output files, each in the format of its suffix; without output files, print it.

    It is printed as a table or as JSON. With `is_written`, the command has written the answer already, so only selected
    fields are printed. With `says_lines`, standard error gets the lines of the table that is not printed.
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
            write_output(path, data)
    if call.selection is not None:
        write_output(None, call.selection.write(question.write(answer)))
    elif not is_written and not answers and not is_table:
        write_output(None, question.write(answer))
    if is_table:
        write_output(None, "".join(f"{line.complete(text)}\n" for text in question.lines(answer)).encode())
    elif says_lines and not is_written and not call.flags["quiet"]:
        call.say(*question.lines(answer))


def write_beside(call: Call, writers: Writers) -> None:
    """Write an answer's extra output files, such as a page; raises OptionError if the time limit ends first."""
    paths = [path for path in call.outputs if suffix_of(path) in writers]

    def work() -> None:
        for path in paths:
            if (data := writers[suffix_of(path)](path)) is not None:
                write_output(path, data)

    if paths:
        call.writing(work)


def end_call(call: Call, answer: Any) -> int:
    """Print a command's remaining messages, and return its exit status."""
    if not call.flags["quiet"]:
        interrupted = ("interrupted; this is the best answer so far",) if call.cancelled.is_set() else ()
        call.say(*interrupted, *call.said)
        say_written()
    return INTERRUPTED if call.cancelled.is_set() else call.line.question.exit_status(answer) or call.exit_status


class LineOutcome(NamedTuple):
    """The outcome of one command line among several: its exit status and its error sentences."""

    line: CommandLine
    status: int
    wrong: Sequence[str]


def run_apart(lines: Sequence[CommandLine], keep: Keep | None = None) -> Iterator[LineOutcome]:
    """Run command lines, one per file, independently, and yield each outcome; Ctrl-C ends the whole run.

    The errors of a file are printed before its outcome is yielded. `keep` receives each answer; without it, the answers
    go to the output files of their command lines. With the flag `on`, the lines run on the cluster at that address.
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
    """Print the error sentences of a command line, each prefixed with the name of its input file."""
    for sentence in wrong:
        print_message(f"memplan: error: {'' if sentence.startswith(line.file) else f'{line.file}: '}{sentence}")
