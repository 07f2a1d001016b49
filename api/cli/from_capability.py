"""Commands generated from capabilities: arguments from inputs, flags from options, help from docstrings."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click

from memplan.api.cli.advice import CommandLine
from memplan.api.cli.flags import BROWSER, PANEL_OF, QUIET, SERVER, TABLE, THREADS, Flag, flag_of, options_given
from memplan.api.cli.help import SectionedCommand
from memplan.api.cli.outputs import refuse_files
from memplan.api.cli.reading import as_for_the_plan, parameters_of_inputs, read_files
from memplan.api.cli.running import FAULT, INTERRUPTED, WRONG_INPUT, graceful_interrupts, seconds_left
from memplan.api.cli.streams import (
    FOLDER,
    ProgressLine,
    is_terminal,
    say,
    say_written,
    suffix_of,
    wants_table,
    warnings,
    write,
)
from memplan.files import named
from memplan.planner.errors import InputError, OptionError, ReaderFaultError
from memplan.questions.capability import NEVER, Capability, CapabilityOptions, Control, Deadline, silent
from memplan.questions.capability.selection import Selection
from memplan.questions.reading import OF_PLANS, Reader, ReadOptions, with_reading
from memplan.solvers.processes.apart import run_in_thread

Result = TypeVar("Result")
_OUTPUT = "Write the answer to this file, in the form that its suffix says: {suffixes}. May be repeated."
_FORMAT = (
    "The form of the answer. The default is a table on a terminal, and JSON otherwise. page opens a page in a browser."
    " status,peak writes only these fields of the JSON, and -placements all fields but this one."
)
_FOR_FILES = 0.1
"""The share of the time limit for extra files: a page of 30,000 operations takes 0.5 s."""
_GRACE_S = 0.25
_WRITING_S = 0.2
"""The seconds after its limit in which a command may still find a first answer, and those for writing its files."""
_WRITTEN = "what is written with the answer"
EXITS = {2: "wrong input", INTERRUPTED: "interrupted"}


@dataclass(eq=False, repr=False)
class Invocation:
    """A command while it runs.

    line: the command line.
    flags: what it says, by the names of parameters.
    files: the files of inputs, by their names.
    reader, question, options: what was read of them.
    outputs: the files that -o names, where it takes several.
    selection: the only fields of the answer's JSON that are wanted on standard output.
    opens: True where a page of the answer is to be opened in a browser.
    due: when the answer is, so that there is time for its files.
    limit_s, left_s: a limit of time that was given, and what says how much of it is left.
    prepared: what the command's own part keeps for after the answer.
    exit_status: that of what it writes.
    said: sentences for people, about what was written or not.
    """

    line: CommandLine
    flags: Mapping[str, Any]
    files: Mapping[str, str | None]
    reader: Reader
    question: Mapping[str, Any]
    options: CapabilityOptions
    outputs: Sequence[str]
    selection: Selection | None = None
    opens: bool = False
    due: Deadline = NEVER
    limit_s: float | None = None
    left_s: Callable[[], float] = lambda: float("inf")
    prepared: Any = None
    exit_status: int = 0
    said: list[str] = field(default_factory=list)

    def say(self, *texts: str) -> None:
        """Print texts on standard error, with complete commands."""
        for text in texts:
            say(f"memplan: {self.line.completed(text)}")

    def run_in_time(
        self,
        work: Callable[[], Result],
        what: str = "an answer",
        more_s: float = 0.0,
        *,
        noted: Sequence[Result] = (),
        meanwhile: Callable[[], None] | None = None,
    ) -> Result:
        """Run work with a time limit; shortly after the limit, abandon it and return the last answer noted.

        Raises OptionError where nothing was noted.
        """
        try:
            return run_in_thread(work, meanwhile, lambda: _GRACE_S + more_s + self.left_s())
        except TimeoutError:
            if noted:
                return noted[-1]
            raise OptionError(f"time-limit: must be enough for {what}, got {self.limit_s:g}") from None

    def change(self, **options: Any) -> None:
        """Change options for the writers of the command's files."""
        self.options = self.options.model_copy(update=options)

    def title(self, name: str | None = None) -> str:
        """Return the title of a page: the name of its subject, or of the file."""
        return name or Path(next(iter(self.files.values())) or "").name

    def has_output(self, *suffixes: str) -> bool:
        """Return True if -o names a file with one of the suffixes."""
        return any(suffix_of(path) in suffixes for path in self.outputs)


class Ended(NamedTuple):
    """One of several command lines after its run: its exit status, and its error."""

    line: CommandLine
    status: int
    wrong: Sequence[str]


Keep = Callable[[CommandLine, Any], None]
"""Takes the answer of a command line."""
Writer = Callable[[Invocation, Any, str], bytes | None]
"""Returns the bytes of a file, or None after it has printed why there is none."""


class CommandExtras(NamedTuple):
    """What a command has that no other entrance has.

    flags: flags of its own, which win over those that are made.
    formats: the ways to write the answer to standard output.
    forms: by their suffix, files that have the answer in another form than JSON.
    beside: by their suffix, files beside the answer, such as a page; they get a part of the time.
    needs_plans: the suffixes of files that need more than what a service answers.
    files: the flags that name further files.
    loads: imports what flags need, before the time begins.
    runs: may run the whole command line in its own way, and return the exit status; else it returns None.
    reads: may read the question in its own way.
    prepare: raises InputError before work is spent.
    begin: does work of its own on the question, in the time of the answer.
    shows: writes the answer in a form of the command's own; False where it is to be written as ever.
    finish: writes what else was asked for, and returns what to say.
    owns_output: the command's flag `output` is its own.
    says_lines: print the lines for people to standard error where standard output has JSON.
    draws_progress: draw progress on one line of a terminal, instead of a line for each event.
    """

    flags: Sequence[click.Parameter] = ()
    formats: Sequence[str] = ("json", TABLE)
    forms: Mapping[str, Writer] = {}  # never changed, so that instances may share it
    beside: Mapping[str, Writer] = {}  # never changed, so that instances may share it
    needs_plans: Sequence[str] = ()
    files: Sequence[str] = ()
    loads: Callable[[Mapping[str, Any]], None] = lambda _given: None
    runs: Callable[[CommandLine], int | None] = lambda _line: None
    reads: Callable[[Reader, Mapping[str, Any]], Mapping[str, Any] | None] = lambda _reader, _given: None
    prepare: Callable[[Invocation], None] = lambda _: None
    begin: Callable[[Invocation, Control], None] = lambda _call, _control: None
    shows: Callable[[Invocation, Any], bool] = lambda _call, _answer: False
    finish: Callable[[Invocation, Any], Sequence[str]] = lambda _call, _answer: ()
    owns_output: bool = False
    says_lines: bool = False
    draws_progress: bool = False


_NO_EXTRAS = CommandExtras()


def command_of(capability: Capability[Any], extras: CommandExtras = _NO_EXTRAS) -> SectionedCommand:
    """Return the command of a capability."""
    parameters = parameters_of(capability, extras)

    def command(**given: Any) -> int:
        # An option that may be repeated is a list; None means that it was not given.
        values = {name: list(value) or None if isinstance(value, tuple) else value for name, value in given.items()}
        line = CommandLine(capability, parameters, values)
        if any(values.get(name) is not None for name in OF_PLANS):
            line = as_for_the_plan(line)
        try:
            status = extras.runs(line)
            return run(line, extras) if status is None else status
        except InputError as error:
            raise line.completed_error(error) from error

    exits = dict(sorted({**EXITS, **(capability.exits or {0: "there is an answer"})}.items()))
    statuses = ", ".join(f"{status} {meaning}" for status, meaning in exits.items())
    text = f"{capability.help}\n\nExit status: {statuses}."
    return SectionedCommand(capability.name, callback=command, params=[*parameters], help=text, panels=PANEL_OF)


def parameters_of(capability: Capability[Any], extras: CommandExtras) -> tuple[click.Parameter, ...]:
    """Return the parameters of the command of a capability."""
    files = [each for each in capability.inputs if each.from_file is not None]
    models = [capability.options, *(each.reading for each in files if each.reading is not None)]
    suffixes = sorted(suffix for suffix in {".json", *extras.forms, *extras.beside} if suffix)
    text = _OUTPUT.format(suffixes=", ".join("a folder" if suffix == FOLDER else suffix for suffix in suffixes))
    spelled = ("-o",) if "output" in capability.options.model_fields else ("--output", "-o")
    output = Flag("outputs", *spelled, multiple=True, metavar="FILE", help=text)
    parameters: list[click.Parameter] = [
        *parameters_of_inputs(capability),
        *([] if extras.owns_output else [output]),
        *(flag_of(*row) for model in models for row in model.model_fields.items()),
        Flag("display", "--format", metavar=f"{'|'.join(extras.formats)}|FIELDS", help=_FORMAT),
        *(*extras.flags, SERVER, THREADS, QUIET),
    ]
    # A flag of the command comes after a generated one of the same name, and replaces it.
    return tuple({parameter.name: parameter for parameter in parameters}.values())


def run(line: CommandLine, extras: CommandExtras) -> int:
    """Read files and flags, answer, and write the answer; return the exit status. Raises MemplanError.

    With a time limit, work that reads no clock is abandoned soon after it, and its last answer so far is returned.
    """
    call = _read(line, extras)
    is_quiet, noted = call.flags["quiet"], list[Any]()
    if call.reader.warnings and not is_quiet:
        call.say(*warnings(call.reader.warnings))
    drawn = ProgressLine(sys.stderr) if extras.draws_progress and not is_quiet and is_terminal(sys.stderr) else None

    def report(event: Mapping[str, Any]) -> None:
        if (text := line.capability.progress(event)) is not None:
            say(f"memplan: {text}") if drawn is None else drawn.take(text)

    is_told = not is_quiet and (drawn is not None or not extras.draws_progress)
    with graceful_interrupts() as cancelled:
        control = Control(call.due, cancelled, report if is_told else silent, is_local=True, note=noted.append)

        def work() -> Any:
            extras.begin(call, control)
            if (server := call.flags["server"]) is None:
                # A reader of its own reports errors itself, without the name of the file.
                foreign = [each.name for each in line.capability.inputs if each.is_foreign and each.name in call.files]
                with named(call.files[foreign[0]] if foreign else None):
                    return line.capability.answered(call.question, call.options, control)
            from memplan.api.cli.remote import ask

            return ask(server, line.capability, call.question, call.options, control)

        answer = call.run_in_time(work, noted=noted, meanwhile=None if drawn is None else drawn.draw)
        if drawn is not None:
            drawn.erase()
    answer = with_reading(answer, call.reader)
    show(call, extras, answer)
    call.said += call.run_in_time(lambda: _beside(call, extras, answer), _WRITTEN, _WRITING_S)
    if not is_quiet:
        interrupted = ("interrupted; this is the best answer so far",) if cancelled.is_set() else ()
        call.say(*interrupted, *call.said)
        say_written()
    return INTERRUPTED if cancelled.is_set() else line.capability.exit_status(answer) or call.exit_status


def run_apart(lines: Sequence[CommandLine], extras: CommandExtras, keep: Keep | None = None) -> Iterator[Ended]:
    """Run the command lines of several files independently of each other; Ctrl-C ends them all.

    What is wrong with a file is printed, before its line is yielded. Answers go to `keep` where that is given, and else
    where their line says; lines with `on` run on the cluster that it names.
    """
    if lines and lines[0].given.get("on") is not None:
        from memplan.api.cli.clusters import runner_on

        yield from runner_on(lines[0].given["on"])(lines, lines[0].given["on"], keep)
        return
    if keep is not None:
        extras = extras._replace(shows=lambda call, answer: keep(call.line, answer) or True)
    for one in lines:
        wrong = tuple[str, ...]()
        try:
            status = run(one, extras)
        except InputError as error:
            status, wrong = WRONG_INPUT, one.completed_error(error).sentences
        except ReaderFaultError as fault:
            status, wrong = FAULT, (str(fault),)
        say_wrong(one, wrong)
        yield Ended(one, status, wrong)
        if status == INTERRUPTED:
            return


def say_wrong(line: CommandLine, wrong: Iterable[str]) -> None:
    """Print the error of a command line's file."""
    for sentence in wrong:
        say(f"memplan: error: {'' if sentence.startswith(line.file) else f'{line.file}: '}{sentence}")


def _read(line: CommandLine, extras: CommandExtras) -> Invocation:
    """Read the flags, then the files within the time limit; raises InputError."""
    capability, arguments = line.capability, line.given
    is_beside = refuse_files(line, extras.forms, extras.beside, extras.needs_plans, extras.files)
    selection, display = None, arguments["display"]
    if display == BROWSER:
        arguments = {**arguments, "display": TABLE}
    elif display not in (None, *extras.formats):
        selection = Selection.of(capability.answer, [display], extras.formats)
        arguments = {**arguments, "display": "json"}  # at a terminal, too
    options = options_given(capability.options, arguments)
    plain = None if line.plain is None else options_given(ReadOptions, line.plain)
    reader = Reader(options_given(ReadOptions, arguments), plain=plain, plan_hash=line.plan_hash)
    paths = {each.name: arguments.get(each.name) for each in capability.inputs if each.from_file is not None}
    # The modules for the files are imported before the time limit begins.
    for path in filter(None, paths.values()):
        reader.load(path)
    extras.loads(arguments)
    call = Invocation(
        line, arguments, paths, reader, {}, options, arguments.get("outputs") or (), selection, display == BROWSER
    )
    if "time_limit_s" in options.model_fields_set and not options.counts_work:
        call.limit_s, call.left_s = options.time_limit_s, seconds_left(options.time_limit_s)
    # Reading counts as part of the time, unless work is counted instead.
    call.due = options.due()
    if is_beside and call.limit_s is not None:
        call.due = call.due.earlier(_FOR_FILES * call.limit_s)

    def read() -> None:
        question = extras.reads(reader, arguments)
        call.question = read_files(line, reader) if question is None else question
        extras.prepare(call)

    call.run_in_time(read)
    return call


def show(call: Invocation, extras: CommandExtras, answer: Any) -> None:
    """Write an answer: to the named files, and to standard output as a table or JSON."""
    capability, selection = call.line.capability, call.selection
    is_shown = extras.shows(call, answer)
    is_table = not is_shown and wants_table(call.flags.get("display"))
    answers = [path for path in call.outputs if suffix_of(path) not in extras.beside]
    for path in answers if not is_shown else ():
        form = extras.forms.get(suffix_of(path))
        data = capability.write(answer) if form is None else form(call, answer, path)
        if data is not None:
            write(path, data)
    if selection is not None:
        write(None, selection.write(capability.write(answer)))
    elif not is_shown and not answers and not is_table:
        write(None, capability.write(answer))
    if is_table:
        write(None, "".join(f"{call.line.completed(line)}\n" for line in capability.lines(answer)).encode())
    elif extras.says_lines and not is_shown and not call.flags["quiet"]:
        call.say(*capability.lines(answer))


def _beside(call: Invocation, extras: CommandExtras, answer: Any) -> Sequence[str]:
    """Write the files beside an answer, and return the lines about them."""
    for path in call.outputs:
        writer = extras.beside.get(suffix_of(path))
        if writer is not None and (data := writer(call, answer, path)) is not None:
            write(path, data)
    return extras.finish(call, answer)
