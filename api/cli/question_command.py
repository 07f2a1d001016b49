"""The command of a question: its inputs become arguments, its options flags, and its help the help text."""

from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import click

from memplan.api.cli.advice import CommandLine, QuestionCommand
from memplan.api.cli.asking import answer_of_call, end_call, read_call, write_answer
from memplan.api.cli.flags import QUIET, SERVER, TABLE, THREADS, Flag, flag_of
from memplan.api.cli.reading import parameters_of_inputs
from memplan.api.cli.running import INTERRUPTED
from memplan.api.cli.streams import FOLDER
from memplan.planner.errors import InputError
from memplan.questions.question import Question

EXITS: Mapping[int, str] = MappingProxyType({2: "wrong input", INTERRUPTED: "interrupted"})
_OUTPUT = "Write the answer to this file, in the form that its suffix says: {suffixes}. May be repeated."
_FORMAT = (
    "The form of the answer. The default is a table on a terminal, and JSON otherwise. page opens a page in a browser."
    " status,peak writes only these fields of the JSON, and -placements all fields but this one."
)


def _run_line(command: QuestionCommand, given: Mapping[str, Any]) -> int:
    # click passes a repeatable flag as a tuple, so convert a tuple to a list, or to None if the flag is absent.
    values = {name: list(value) or None if isinstance(value, tuple) else value for name, value in given.items()}
    line = CommandLine(command, values, {})
    try:
        return command.answer(line)
    except InputError as error:
        raise line.completed_error(error) from error


def _command_parameters(
    question: Question[Any], flags: Sequence[click.Parameter], formats: Sequence[str], suffixes: Collection[str]
) -> list[click.Parameter]:
    """Return the arguments and flags of a question's command, generated from its inputs and its option models.

    `flags` has the command's further flags; one with the name of a generated flag replaces that flag.
    """
    files = [each for each in question.inputs if each.from_file is not None]
    inputs = {each.parameter for each in files}
    models = [question.options, *(each.reading for each in files if each.reading is not None)]
    named = ("a folder" if suffix == FOLDER else suffix for suffix in sorted({".json", *suffixes} - {""}))
    spelled = ("-o",) if "output" in question.options.model_fields else ("--output", "-o")
    output = Flag("outputs", *spelled, multiple=True, metavar="FILE", help=_OUTPUT.format(suffixes=", ".join(named)))
    parameters: list[click.Parameter] = [
        *parameters_of_inputs(question),
        *([] if any(each.name == "output" for each in flags) else [output]),
        *(flag_of(*row) for model in models for row in model.model_fields.items() if row[0] not in inputs),
        Flag("display", "--format", metavar=f"{'|'.join(formats)}|FIELDS", help=_FORMAT),
        *(*flags, SERVER, THREADS, QUIET),
    ]
    # A command's own flags are listed last, so they replace generated flags of the same name.
    return list({parameter.name: parameter for parameter in parameters}.values())


def command_of(
    question: Question[Any],
    *flags: click.Parameter,
    formats: Sequence[str] = ("json", TABLE),
    forms: Collection[str] = (),
    beside: Collection[str] = (),
    needs_plans: Collection[str] = (),
) -> Callable[[Callable[[CommandLine], int]], QuestionCommand]:
    """Return a decorator that turns a function from CommandLine to exit status into the command of a question.

    `flags` are extra flags; one with the name of a generated flag replaces that flag. See QuestionCommand for the rest.
    """

    exits = sorted({**EXITS, **(question.exits or {0: "there is an answer"})}.items())
    statuses = ", ".join(f"{status} {meaning}" for status, meaning in exits)

    def decorate(answer: Callable[[CommandLine], int]) -> QuestionCommand:
        command: QuestionCommand = QuestionCommand(
            *(question, answer, formats, forms, beside, needs_plans),
            callback=lambda **given: _run_line(command, given),
            params=_command_parameters(question, flags, formats, {*forms, *beside}),
            help=f"{question.help}\n\nExit status: {statuses}.",
        )
        return command

    return decorate


def answer_plainly(line: CommandLine) -> int:
    """Answer a question whose command has no special flags or output formats; return the exit status."""
    call = read_call(line)
    answer = answer_of_call(call)
    write_answer(call, answer)
    return end_call(call, answer)
