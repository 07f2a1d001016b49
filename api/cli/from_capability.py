"""Commands made of capabilities: arguments from inputs, flags from options, help from docstrings."""

from __future__ import annotations

import inspect
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from memplan.api.cli.advice import CommandLine
from memplan.api.cli.arguments import ListFormat, Quiet, ServerUrl
from memplan.api.cli.flags import (
    SELECTION,
    Selection,
    dashed,
    flags_of,
    keyword,
    options_given,
    paneled,
    selected,
    signed,
)
from memplan.api.cli.interrupts import INTERRUPTED, graceful_interrupts
from memplan.api.cli.progress import ProgressLine, TimeGiven
from memplan.api.cli.reading import parameters_of_inputs, read_files
from memplan.api.cli.streams import is_terminal, refuse_no_page, refuse_unwritable, say, wants_table, warnings, write
from memplan.capabilities.capability import Capability, CapabilityOptions, Control
from memplan.capabilities.question import Question
from memplan.capabilities.reading import Reader, ReadOptions
from memplan.files import named
from memplan.planner.errors import OptionError

JsonFile = Annotated[
    str | None, typer.Option("--output", "-o", metavar="FILE", help="Write the JSON here, whatever is shown.")
]
_FOR_FILES = 0.1
"""The part of a limit for files beside the answer: a page of 30,000 operations takes 0.5 s."""
EXITS = {2: "wrong input", INTERRUPTED: "interrupted"}


@dataclass(eq=False)
class Given:
    """What a command was given: its files by the names of inputs, its own flags, and what was read of both.

    `time` abandons what goes on beyond a limit that was given. Of the answer's JSON on standard
    output, only the `selection` is wanted. `prepared` is what the command's own part keeps for after the answer;
    `exit_status` is that of what it writes.
    """

    files: Mapping[str, str | None]
    flags: Mapping[str, Any]
    reader: Reader
    question: Question
    options: CapabilityOptions
    server: str | None
    line: CommandLine
    time: TimeGiven
    selection: Selection | None = None
    prepared: Any = None
    exit_status: int = 0

    def say(self, *texts: str) -> None:
        """Print texts to people, on standard error, with the commands that they advise as they run."""
        for text in texts:
            say(f"memplan: {self.line.completed(text)}")

    def refuse_remote(self, *flags: str) -> None:
        """Raise OptionError for flags of the command's own that need more than what a service answers."""
        for name in flags:
            if self.server is not None and self.flags.get(name) is not None:
                raise OptionError(f"{dashed(name)}: must not be given with --server, whose answer is not enough for it")

    def change(self, **options: Any) -> None:
        """Change options, for what a flag of the command's own needs of the answer."""
        self.options = self.options.model_copy(update=options)


@dataclass(frozen=True, eq=False)
class Local:
    """What a command has that no other entrance has: flags of its own, with files that it writes beside the answer.

    `loads` imports what flags need before the time begins; for files that flags in `files` name, a part of it is
    kept. `runs` may run the whole command line in a way of its own, and return the exit status, else it returns None;
    `reads` may so read the question. `prepare` raises InputError before work is spent; `begin` does work of its own on
    the question, in the time of the answer; `finish` writes what was asked for, and returns what to say.
    `shows` writes the answer in a form of the command's own, and returns False where it is to be written as ever. Where
    the command `owns_output`, its flag `output` names another file than that of the JSON. One that `says_lines` writes
    them to standard error where JSON goes to standard output: builds show the one, and programs read the other. One
    that `draws_progress` draws it on one line of a terminal, instead of a line for each event.
    """

    flags: Sequence[inspect.Parameter] = ()
    loads: Callable[[Mapping[str, Any]], None] = lambda _given: None
    files: Sequence[str] = ()
    runs: Callable[[CommandLine], int | None] = lambda _line: None
    reads: Callable[[Reader, Mapping[str, Any]], Question | None] = lambda _reader, _given: None
    begin: Callable[[Given, Control], None] = lambda _given, _control: None
    prepare: Callable[[Given], None] = lambda _: None
    finish: Callable[[Given, Any], Sequence[str]] = lambda _given, _answer: ()
    shows: Callable[[Given, Any], bool] = lambda _given, _answer: False
    owns_output: bool = False
    says_lines: bool = False
    draws_progress: bool = False


def command_of(capability: Capability[Any], local: Local | None = None) -> Callable[..., None]:
    """Return the function that typer makes a command of."""
    own = local or Local()
    files = [each for each in capability.inputs if each.from_file is not None]
    parameters = [
        *parameters_of_inputs(capability),
        keyword("output", JsonFile, None),
        *flags_of(capability.options),
        *(flag for each in files if each.reading is not None for flag in flags_of(each.reading)),
        *(() if "format" in capability.options.model_fields else (keyword("display", ListFormat, None),)),
        *SELECTION,
        *own.flags,
        keyword("server", ServerUrl, None),
        keyword("quiet", Quiet, False),
    ]

    # A flag of a command's own comes after one of the same name, and wins.
    unique = tuple({parameter.name: parameter for parameter in parameters}.values())

    def command(**given: Any) -> None:
        line = CommandLine(capability, unique, given)
        with line.in_errors():
            status = own.runs(line)
            raise typer.Exit(run(line, own) if status is None else status)

    command.__name__ = capability.name
    command.__doc__ = f"{capability.help}\n\n{_exit_sentence(capability)}"
    return signed(command, paneled(unique))


def run(line: CommandLine, local: Local) -> int:
    """Read files and flags, answer, and write the answer; return the exit status. Raises MemplanError.

    Where a time limit was given, what looks at no clock is abandoned soon after it, and the last answer that was
    noted is given.
    """
    capability, given = line.capability, line.given
    if not local.owns_output:
        refuse_unwritable(given["output"])
    refuse_no_page(given.get("page", given.get("page_file")))
    files = [given[name] for name in local.files if given[name] is not None]
    for file in files:
        refuse_unwritable(file)
    if (selection := selected(capability.answer, given)) is not None:
        given = {**given, "display": "json"}  # at a terminal, too
    options = options_given(capability.options, given)
    reader = Reader(options_given(ReadOptions, given))
    paths = {each.name: given.get(each.name) for each in capability.inputs if each.from_file is not None}
    # What the files need is imported before the time begins.
    for path in paths.values():
        reader.load(path)
    local.loads(given)
    is_ended = "time_limit_s" in options.model_fields_set and not options.counts_work
    time_given = TimeGiven(options.time_limit_s if is_ended else None)
    started = time.monotonic()

    def read() -> Given:
        question = local.reads(reader, given)
        question = read_files(line, reader) if question is None else question
        found = Given(paths, given, reader, question, options, given["server"], line, time_given, selection)
        local.prepare(found)
        return found

    found = time_given.run(read)
    if not given["quiet"]:
        found.say(*warnings(reader.warnings))
    drawn = ProgressLine(
        sys.stderr if local.draws_progress and is_terminal(sys.stderr) and not given["quiet"] else None
    )
    # Reading is a part of the time, unless work is counted instead.
    deadline = found.options.due(started)
    if files and is_ended:
        deadline = deadline.earlier(_FOR_FILES * found.options.time_limit_s)
    with graceful_interrupts() as cancelled:
        hear = _reporter(capability, drawn.take if local.draws_progress else _say_line, given["quiet"])
        noted: list[Any] = []
        control = Control(deadline, cancelled, hear, is_local=True, note=noted.append)

        def work() -> Any:
            local.begin(found, control)
            return answered(capability, found, control)

        answer = time_given.run(work, noted, lambda: drawn.draw(time.monotonic() - started))
        drawn.erase()
    show(capability, local, found, answer)
    return INTERRUPTED if cancelled.is_set() else capability.exit_status(answer) or found.exit_status


def answered(capability: Capability[Any], given: Given, control: Control) -> Any:
    """Return the answer, by this process or by the service that was named."""
    if given.server is None:
        # What reads a file itself, and not before, says what is wrong with it without the name.
        foreign = [given.files[each.name] for each in capability.inputs if each.is_foreign and each.name in given.files]
        with named(foreign[0] if foreign else None):
            return capability.answered(given.question, given.options, control)
    # Only a request over HTTP waits for these imports.
    from memplan.api.cli.remote import ask

    return ask(given.server, capability, given.question, given.options, control)


def show(capability: Capability[Any], local: Local, given: Given, answer: Any) -> None:
    """Write an answer: JSON to the file that was named, and a table for people or JSON to standard output."""
    _show(capability, local, given, answer)
    for sentence in given.time.run(lambda: local.finish(given, answer), is_answered=True):
        if not given.flags["quiet"]:
            given.say(sentence)


def _show(capability: Capability[Any], local: Local, given: Given, answer: Any) -> None:
    output, selection = None if local.owns_output else given.flags["output"], given.selection
    if local.shows(given, answer):
        if selection is not None:
            write(None, selection.write(capability.write(answer)))
        return
    is_table = wants_table(given.flags.get("display"))
    if output is not None:
        write(output, capability.write(answer))
    if selection is not None:
        write(None, selection.write(capability.write(answer)))
    elif output is None and not is_table:
        write(None, capability.write(answer))
    if is_table:
        write(None, "".join(f"{given.line.completed(line)}\n" for line in capability.lines(answer)).encode())
    elif local.says_lines and not given.flags["quiet"]:
        given.say(*capability.lines(answer))


def _exit_sentence(capability: Capability[Any]) -> str:
    exits = dict(sorted({**EXITS, **(capability.exits or {0: "there is an answer"})}.items()))
    return f"Exit status: {', '.join(f'{status} {meaning}' for status, meaning in exits.items())}."


def _say_line(line: str) -> None:
    say(f"memplan: {line}")


def _reporter(
    capability: Capability[Any], take: Callable[[str], None], quiet: bool
) -> Callable[[Mapping[str, Any]], None]:
    def report(event: Mapping[str, Any]) -> None:
        if not quiet and (line := capability.progress(event)) is not None:
            take(line)

    return report
