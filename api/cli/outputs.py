"""Checks of a command line's output files before the work begins."""

from __future__ import annotations

import os
import shlex

from memplan.api.cli.advice import CommandLine
from memplan.api.cli.flags import TABLE
from memplan.api.cli.streams import FOLDER, STANDARD, refuse_unwritable, suffix_of
from memplan.planner.errors import OptionError, excerpt

_OF_CONVERT = (".c", ".h", ".ld", ".lp", ".tflite", ".pte", ".mlf", ".tar")
"""The suffixes of files that `memplan convert` makes from a finished plan."""


def refuse_files(line: CommandLine) -> bool:
    """Raise InputError for an output file that cannot be written; return True if there are extra files."""
    arguments, command = line.given, line.command
    suffixes = {"", ".json", *command.forms, *command.beside}
    files = [arguments.get(each.name) for each in line.question.inputs if each.from_file is not None]
    # Some commands have an option `more` instead of a list of files `more`, so check its type.
    more = arguments.get("more")
    files += [*(more if isinstance(more, list) else ()), arguments.get("budgets_file")]
    read = {os.path.realpath(path) for path in files if path is not None}
    outputs = arguments.get("outputs") or []
    if repeated := [path for k, path in enumerate(outputs) if path in outputs[:k]]:
        raise OptionError(f"output: must name each file once, got {repeated[0]} again: leave one out")
    # An explicit --format decides the format, so output files may then have any suffix.
    is_named = arguments.get("display") not in (None, TABLE)
    for path in outputs:
        if suffix_of(path) not in suffixes and not is_named:
            names = ", ".join(sorted(suffixes - {"", FOLDER}))
            words = f"`memplan convert {arguments.get('problem')} plan.json -o {shlex.quote(path)}`"
            way = f": {words} makes it from a plan" if suffix_of(path) in _OF_CONVERT and "problem" in arguments else ""
            raise OptionError(f"output: must end in {names}, got {excerpt(path)}{way}")
        if path != STANDARD and os.path.realpath(path) in read:
            raise OptionError(f"output: must not be a file that the command reads, got {path}")
        if suffix_of(path) in command.needs_plans and arguments["server"] is not None:
            raise OptionError(f"output: {path} must not be requested with --server, whose answers lack its plans")
    named_files = [path for name in ("save_plan", "save_baseline") if (path := arguments.get(name)) is not None]
    if arguments.get("save_plan") is not None and os.path.realpath(arguments["save_plan"]) in read:
        raise OptionError(f"save-plan: must not be a file that the command reads, got {arguments['save_plan']}")
    for path in (*outputs, *named_files):
        refuse_unwritable(path)
    return bool(named_files) or any(suffix_of(path) in command.beside for path in outputs)
