"""Several files of one `memplan plan`: models that share a memory, or problems that are planned each by itself."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from memplan.api.cli.advice import CommandLine
from memplan.api.cli.from_capability import CommandExtras, run_apart
from memplan.api.cli.streams import FOLDER, read_as, refuse_unwritable, suffix_of
from memplan.capabilities.reading import Reader, joined, names_of, refuse_files
from memplan.planner.errors import FileError


def read_several(reader: Reader, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Read several files as the models of one application; raises InputError, also for one file."""
    together, paths = given["together"] or (), [given["problem"], *(given["more"] or ())]
    if len(paths) > 1 and Path(whole := " ".join(paths)).exists():
        raise FileError(f"{paths[0]}: no such file; did you mean `memplan {shlex.join(['plan', whole])}`?")
    refuse_files(paths, together)
    read = [(path, read_as(path, lambda data: reader.problem(data, path))) for path in paths]  # noqa: B023 - at once
    reader.imported = None
    reader.application = joined(read, together)
    problem = reader.application.problem
    question: dict[str, Any] = {"problem": problem}
    if (keep := given["keep"]) is not None:
        question["keep"] = read_as(keep, lambda data: reader.plan(data, keep, problem))
    return question


def run_each(line: CommandLine, extras: CommandExtras) -> int | None:
    """Plan several files each by itself, into a folder; None where it is said how they run in one memory."""
    arguments, outputs = line.given, list[str](line.given["outputs"] or ())
    if arguments["together"] or [suffix_of(path) for path in outputs] != [FOLDER]:
        return None
    (folder,), paths = outputs, [arguments["problem"], *arguments["more"]]
    refuse_unwritable(folder)
    files = [str(Path(folder, f"{name}.plan.json")) for name in names_of(paths)]
    alone = {**arguments, "more": None}
    lines = [
        replace(line, given={**alone, "problem": path, "outputs": [file]})
        for path, file in zip(paths, files, strict=True)
    ]
    return max([status for _, status, _ in run_apart(lines, extras)])
