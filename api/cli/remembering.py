"""The options that the plan of a command line remembers, and that the line itself does not say."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

from memplan.api.cli.advice import CommandLine
from memplan.api.cli.flags import in_texts
from memplan.api.cli.streams import read_bytes, say
from memplan.capabilities.reading import ReadOptions
from memplan.capabilities.remembered import OF_PLANS, reading_of_plan
from memplan.planner.errors import FileError


def as_for_the_plan(line: CommandLine) -> CommandLine:
    """Return a command line with the options that the problem of its plan was read with, and say which these are."""
    capability, given, said = line.capability, line.given, dict[str, Any]()
    models = [capability.options, *(each.reading for each in capability.inputs if each.reading is not None)]
    if not any(issubclass(model, ReadOptions) for model in models):
        return line
    for path in (given.get(name) for name in OF_PLANS):
        if path is not None:
            with suppress(FileError):  # which its reader names
                said |= reading_of_plan(read_bytes(path))
    flags = {each.name: each for each in line.parameters if each.name in said}
    unsaid = {name: in_texts(said[name]) for name, flag in flags.items() if given.get(name) in (None, flag.default)}
    if not unsaid:
        return line
    found = replace(line, given={**given, **unsaid}, plain=given, plan_hash=said["problem_hash"])
    if not given["quiet"]:
        say(f"memplan: the problem is read with {' '.join(found.words_of(unsaid))}, as it was for the plan")
    return found
