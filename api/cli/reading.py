"""The inputs of a command: its arguments and flags for files and texts, and how these are read in turn."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from memplan.api.cli.advice import CommandLine
from memplan.api.cli.flags import argument, dashed, flag, spelled
from memplan.api.cli.streams import STANDARD, read_as
from memplan.capabilities.capability import Capability
from memplan.capabilities.question import Input, Question
from memplan.capabilities.reading import Reader
from memplan.planner.errors import FileError, InputError, OptionError, ProblemError
from memplan.planner.model.problem import Problem


def parameters_of_inputs(capability: Capability[Any]) -> list[inspect.Parameter]:
    """Return an argument or a flag for each input that files or texts say."""
    files = [each for each in capability.inputs if each.from_file is not None]
    return [
        *(_argument(each, is_first=each is files[0]) for each in files if not each.named_by_flag),
        *(_file_flag(each) for each in files if each.named_by_flag),
        *(_text_flag(each) for each in capability.inputs if each.from_file is None and each.from_text is not None),
    ]


def _argument(each: Input[Any], *, is_first: bool) -> inspect.Parameter:
    is_needed = is_first or (each.required and each.absent is None)
    metavar = each.metavar or dashed(each.name).upper()
    if is_needed:
        return argument(each.name, str, inspect.Parameter.empty, metavar=metavar, help=each.help)
    return argument(each.name, str | None, None, metavar=f"[{metavar}]", help=each.help)


def _file_flag(each: Input[Any]) -> inspect.Parameter:
    return flag(each.name, str | None, None, spelled(each.name)[0], metavar=each.metavar or "FILE", help=each.help)


def _text_flag(each: Input[Any]) -> inspect.Parameter:
    return flag(each.name, list[str] | None, None, spelled(each.name)[0], metavar=each.metavar, help=each.help)


def read_files(line: CommandLine, reader: Reader) -> Question:
    """Return the inputs that files and texts say; raises InputError, also where two files are each the other's."""
    capability, given = line.capability, line.given
    try:
        return _read_in_turn(line, reader, given)
    except InputError:
        swapped = _swapped(capability, given)
        if not swapped or not _is_read(line, Reader(reader.options), {**given, **swapped}):
            raise
        raise OptionError(f"{' and '.join(swapped)}: must change places: {line.with_files(swapped)}") from None


def _swapped(capability: Capability[Any], given: Mapping[str, Any]) -> dict[str, str]:
    """Return the first two files of a command in each other's place; none where there are not two to read again."""
    names = [each.name for each in capability.inputs if each.from_file is not None and given.get(each.name)][:2]
    paths = [given[name] for name in names]
    return {} if len(names) < 2 or STANDARD in paths else dict(zip(names, reversed(paths), strict=True))


def _is_read(line: CommandLine, reader: Reader, given: Mapping[str, Any]) -> bool:
    with contextlib.suppress(InputError):
        _read_in_turn(line, reader, given)
        return True
    return False


def _read_in_turn(line: CommandLine, reader: Reader, given: Mapping[str, Any]) -> Question:
    """Return the inputs that files and texts say; raises InputError."""
    capability, question = line.capability, dict[str, Any]()
    _refuse_standard_twice([given.get(each.name) for each in capability.inputs if each.from_file is not None])
    for each in sorted(capability.inputs, key=lambda each: each.reads_last):
        said = given.get(each.name)
        if said is None:
            value = None if each.absent is None else each.absent(reader, question)
            if value is not None:
                question[each.name] = value
            elif each.required and not capability.any_of:
                raise OptionError(f"{spelled(each.name)[0].removeprefix('--')}: is required ({each.help})")
        elif each.from_file is not None:
            try:
                if (value := _read_file(each, reader, said, question)) is not None:
                    question[each.name] = value
            except FileError as error:
                if f"save_{each.name}" not in given:
                    raise
                saved = given[f"save_{each.name}"]
                if saved is not None and Path(saved).resolve() == Path(said).resolve() and not Path(said).exists():
                    continue  # the first of many calls with the same command line makes the file
                way = line.with_files({each.name: None, f"save_{each.name}": said})
                raise FileError(f"{error}; {way} makes it") from None
        elif each.from_text is not None:
            question[each.name] = each.from_text(tuple(said), question)
    problem = question.get("problem")
    if isinstance(problem, Problem) and not len(problem.buffers) and reader.imported is None:
        raise ProblemError(f"{given['problem']}: buffers: must not be empty, as there is nothing to plan, got none")
    return question


def _read_file(each: Input[Any], reader: Reader, path: str, question: Question) -> Any:
    from_file = each.from_file
    assert from_file is not None
    return read_as(path, lambda data: from_file(reader, data, path, question))


def _refuse_standard_twice(paths: Sequence[str | None]) -> None:
    if paths.count(STANDARD) > 1:
        raise OptionError("files: only one of them must be standard input, got - twice")
