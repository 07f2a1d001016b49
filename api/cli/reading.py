"""The inputs of a command: their arguments and flags, and the order in which their files are read."""

import contextlib
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from memplan.api.cli.advice import CommandLine
from memplan.api.cli.flag_names import flag_text, flags_of
from memplan.api.cli.flags import Argument, Flag, flag_values
from memplan.api.cli.streams import STANDARD, print_message, read_as
from memplan.planner.errors import FileError, InputError, Option, OptionError, ProblemError, excerpt
from memplan.planner.model.problem import Problem
from memplan.questions.inputs.values import Input, InputValues, read_inputs
from memplan.questions.question import Question
from memplan.questions.reading import Reader


def parameters_of_inputs(question: Question[Any]) -> list[click.Parameter]:
    """Return the arguments, then the flags, for all inputs of a question that files or texts can provide."""
    parameters: list[click.Parameter] = []
    is_first = True
    for each in sorted(question.inputs, key=lambda each: (each.from_file is None, each.named_by_flag)):
        if each.from_file is None and each.from_text is None:
            continue
        if each.from_file is None or each.named_by_flag:
            is_text = each.from_file is None
            metavar = each.metavar or (None if is_text else "FILE")
            parameters.append(
                Flag(each.parameter, flags_of(each.parameter)[0], multiple=is_text, metavar=metavar, help=each.help)
            )
            continue
        metavar = each.metavar or each.name.replace("_", "-").upper()
        if is_first or (each.required and each.absent is None):
            parameters.append(Argument(each.name, metavar=metavar, help=each.help))
        else:
            parameters.append(Argument(each.name, required=False, metavar=f"[{metavar}]", help=each.help))
        is_first = False
    return parameters


def read_files(line: CommandLine, reader: Reader) -> InputValues:
    """Return the inputs read from files and texts; raises InputError, with a remedy if two files were swapped."""
    question, arguments = line.question, line.given
    try:
        return _read_in_turn(line, reader, arguments)
    except InputError:
        swapped = _swap_files(question, arguments)
        if not swapped or not _can_read(line, Reader(reader.options), {**arguments, **swapped}):
            raise
        raise OptionError(f"{' and '.join(swapped)}: must be swapped: {line.set_files(swapped)}") from None
    finally:
        line.recorded.update({name: flag_values(value) for name, value in reader.recorded.items()})
        if line.recorded and not arguments["quiet"]:
            print_message(f"memplan: the problem is read with {line.words_of(line.recorded)}, as it was for the plan")


def _swap_files(question: Question[Any], given: Mapping[str, Any]) -> dict[str, str]:
    names = [each.name for each in question.inputs if each.from_file is not None and given.get(each.name)][:2]
    paths = [given[name] for name in names]
    return {} if len(names) < 2 or STANDARD in paths else dict(zip(names, reversed(paths), strict=True))


def _can_read(line: CommandLine, reader: Reader, given: Mapping[str, Any]) -> bool:
    with contextlib.suppress(InputError):
        _read_in_turn(line, reader, given)
        return True
    return False


def _read_in_turn(line: CommandLine, reader: Reader, given: Mapping[str, Any]) -> InputValues:
    """Return the inputs, read from files and texts in the question's order; raises InputError."""
    question = line.question
    if [given.get(each.parameter) for each in question.inputs if each.from_file is not None].count(STANDARD) > 1:
        raise OptionError("files: must read standard input at most once, got - twice")
    for each in question.inputs:
        if each.required and each.absent is None and given.get(each.parameter) is None and not question.any_of:
            raise OptionError(f"{flag_text(Option(each.parameter))}: is required ({each.help})")

    def read(each: Input[Any], argument: Any, values: InputValues, reader: Reader) -> Any:
        """Return the value of an input from a file, or from the texts of an option; raises InputError."""
        if each.from_file is None:
            return None if each.from_text is None else each.from_text(tuple(argument), values)
        from_file = each.from_file
        try:
            return read_as(argument, lambda data: from_file(reader, data, argument, values))
        except FileError as error:
            if f"save_{each.name}" in given:
                return _require_own_output(line, each, argument, error)
            if each.named_by_flag and not Path(argument).suffix and str(error).endswith(here := f" in {Path.cwd()}"):
                rule = f"must be the path of a file, got {excerpt(argument)}, which does not exist{here} ({each.help})"
                raise FileError(f"{flag_text(Option(each.parameter))}: {rule}") from None
            raise

    settled = read_inputs(
        question.inputs, {each.name: given.get(each.parameter) for each in question.inputs}, read, reader
    )
    problem = settled.get("problem")
    if isinstance(problem, Problem) and not len(problem.buffers) and reader.imported is None:
        raise ProblemError(f"{given['problem']}: buffers: must have at least one buffer to plan, got none")
    return settled


def _require_own_output(line: CommandLine, each: Input[Any], path: str, error: FileError) -> None:
    """Raise FileError for the missing input file `path`, unless a flag (--save-baseline) makes the command write it."""
    saved = line.given[f"save_{each.name}"]
    if saved is not None and Path(saved).resolve() == Path(path).resolve() and not Path(path).exists():
        return  # The first run of a command creates its baseline file, so the file may be missing.
    way = line.set_files({each.name: None, f"save_{each.name}": path})
    if not each.named_by_flag:  # Files without a flag are plans, so advise `memplan plan`.
        way = f"`memplan plan {shlex.join([str(line.file), '-o', path])}`"
    raise FileError(f"{error}; make the file with {way}") from None
