"""Several input files of one command: models that share memory, or files answered independently of each other."""

import contextlib
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memplan.api.cli.advice import CommandLine
from memplan.api.cli.asking import run_apart
from memplan.api.cli.flags import Argument
from memplan.api.cli.streams import FOLDER, read_as, refuse_unwritable, suffix_of
from memplan.files import os_errors_named
from memplan.planner.errors import FileError, OptionError, excerpt
from memplan.questions.reading import Reader, join_problems, names_of, refuse_files


def read_several(reader: Reader, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Read the files of `memplan plan` as the models of one application, and return its joined problem as input.

    If `--keep` is given, its plan is an input too. Raises InputError.
    """
    together, paths = given["together"] or (), [given["problem"], *(given["more"] or ())]
    if len(paths) > 1 and Path(whole := " ".join(paths)).exists():
        raise FileError(f"{paths[0]}: no such file; did you mean `memplan {shlex.join(['plan', whole])}`?")
    refuse_files(paths, together, given["persistent"] or ())
    read = []
    if (keep := given["keep"]) is not None:
        read_as(keep, reader.take_record)
    for path in paths:
        problem = read_as(path, lambda data: reader.problem(data, path))  # noqa: B023 - run at once
        read.append((path, problem, reader.ids_of_state(problem)))
    reader.imported = None
    reader.application = join_problems(read, together, given["persistent"] or ())
    problem = reader.application.problem
    values: dict[str, Any] = {"problem": problem}
    if keep is not None:
        values["keep"] = read_as(keep, lambda data: reader.plan(data, keep, problem))
    return values


def files_argument(text: str) -> Argument:
    """Return the argument that accepts a command's further files; `text` is its help."""
    return Argument("more", nargs=-1, required=False, metavar="[FILE]...", help=text)


def refuse_on(line: CommandLine, what: str) -> None:
    """Raise OptionError if a command line with a single input has `--on`; `what` names the inputs it requires."""
    if line.given["on"] is not None:
        raise OptionError(f"on: applies only to {what}, got {excerpt(line.file)} alone: leave out --on")


def has_several(line: CommandLine) -> bool:
    """Return True if the command line has several files and, as its output, a folder for their separate answers.

    Raises OptionError if the command requires a folder for several files, and for `--on` in any other case.
    """
    arguments, outputs = line.given, list[str](line.given["outputs"] or ())
    is_each = [suffix_of(path) for path in outputs] == [FOLDER] and not arguments.get("together")
    if arguments["more"] and is_each:
        return True
    refuse_on(line, "several files and -o FOLDER/")
    if arguments["more"] and "together" not in arguments:
        reason = f"because {line.question.name} answers each file separately"
        raise OptionError(f"output: must be a folder for several files, such as -o answers/, {reason}")
    return False


def run_each(line: CommandLine) -> int:
    """Answer several files independently, write the answers into a folder, and return the highest exit status."""
    first, folder = line.question.inputs[0].name, line.given["outputs"][0]
    paths = [line.file, *line.given["more"]]
    refuse_unwritable(folder)
    made = [each for each in (Path(folder), *Path(folder).parents) if not each.exists()]
    files = [str(Path(folder, f"{name}.{line.question.name}.json")) for name in names_of(paths)]
    alone = {**line.given, "more": None}
    lines = [
        line._replace(given={**alone, first: path, "outputs": [file]}) for path, file in zip(paths, files, strict=True)
    ]
    try:
        with os_errors_named(folder):
            Path(folder).mkdir(parents=True, exist_ok=True)
        return max(one.status for one in run_apart(lines))
    finally:
        for each in made:
            with contextlib.suppress(OSError):  # A folder with an answer is not empty, and stays.
                each.rmdir()
