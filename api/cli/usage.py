"""Hints beside click's messages for wrong command lines: the flag, value or command that was probably meant."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import pairwise
from pathlib import Path
from typing import Any

from memplan.api.cli.advice import flags_for
from memplan.api.cli.flag_names import spelled
from memplan.planner.errors import OptionError
from memplan.planner.errors.did_you_mean import OtherWords, meant, other_words
from memplan.planner.systems import systems
from memplan.questions import former_names
from memplan.questions.capability.registry import CAPABILITIES

_COMMANDS: Mapping[str, OtherWords] = {
    "memplan": {"--version": "version", "--help": "help man"},
    "memplan keys": {"revoke": "rm remove delete del", "add": "create new make"},
}
_NEAR = 0.75
_CHOICE = re.compile(r"'([^']*)' is not one of (.*)")


def leave_near_words(error: Any) -> None:
    """Keep only those of click's suggestions that closely resemble the given word."""
    if getattr(error, "possibilities", None):
        given = getattr(error, "option_name", None) or error.command_name
        error.possibilities = get_close_matches(given, error.possibilities, cutoff=_NEAR)


def hints(error: Any, arguments: Sequence[str]) -> Iterator[str]:
    """Yield corrections of a command line that click refuses, as whole commands where possible."""
    message, command = error.format_message(), getattr(getattr(error, "ctx", None), "command", None)
    if message.startswith("No such command") and (Path(arguments[0]).exists() or "." in arguments[0]):
        yield f"did you mean `memplan {shlex.join(['plan', *arguments])}`?"
    elif message.startswith("No such command") and arguments[0] in former_names():
        yield f"did you mean `memplan {former_names()[arguments[0]]}`?"
    elif message.startswith("No such command"):
        group = error.ctx.command_path
        near = meant(message.split("'")[1], (), _COMMANDS.get(group))
        yield f"did you mean `{group} {near}`?" if near else f"`{group} --help` lists all commands"
    elif (option := getattr(error, "option_name", None)) and message.startswith("No such option"):
        flags = {flag for each in command.params for flag in each.opts} if command is not None else set()
        here = {f"--{name}": words for name, words in other_words("options").items() if f"--{name}" in flags}
        if (flag := meant(option.lstrip("-"), (), here)) is not None:
            yield f"did you mean {flag}?"
        elif others := [name for name in CAPABILITIES if option in _options(name)]:
            some = ", ".join(f"`memplan {name}`" for name in others[:3])
            yield f"{option} is an option of {some}{' and others' if others[3:] else ''}"
        elif len(option) == 2 and (longer := sorted(flag for flag in flags if flag.startswith(f"-{option}"))):
            yield f"did you mean {' or '.join(longer)}?"
        elif not getattr(error, "possibilities", None):
            yield f"`{error.ctx.command_path} --help` says which options there are"
    elif match := _CHOICE.search(message):
        choices = re.findall(r"'([^']*)'", match[2])
        targets = {target: words for each in systems() for target, words in each.other_targets.items()}
        values = {**other_words("values"), **targets}
        here = {choice: values.get(choice, "") for choice in choices}
        value, default = meant(match[1], choices, here), getattr(getattr(error, "param", None), "default", None)
        if value is not None:
            yield f"did you mean {value}?"
        elif default is not None:
            yield f"the default is {default}"
        else:
            yield f"it may be left out: `memplan {arguments[0]} --help` says what is done then"
    elif "does not take a value" in message:
        yield f"write {getattr(error, 'option_name', 'it')} alone, or leave it out"
    elif lacking := re.search(r"(?:Missing option|^Option) '(-[^']*)'", message):
        yield from _of_option(lacking[1], arguments)
    elif missing := re.search(r"Missing argument '(.*)'", message):
        about = str(getattr(error.param, "help", None) or "").rstrip(".")
        yield f"{missing[1]} is {about[:1].lower()}{about[1:]}" if about else f"see `memplan {arguments[0]} --help`"
        if "PLAN" in missing[1] and len(arguments) > 1:
            yield f"`memplan plan {shlex.quote(arguments[1])} -o plan.json` writes a plan"
    elif getattr(error, "param", None) is not None and "did you mean" not in message:
        words = [part for word in arguments for part in (word.split("=", 1) if word[:2] == "--" else [word])]
        occurrences = [word for flag, word in pairwise(words) if flag in error.param.opts]
        if occurrences:
            default = error.param.default
            about = str(getattr(error.param, "help", None))
            way = f"its help says: {about}" if default is None else f"the default is {default}"
            got = "" if ", got " in message else f"got {occurrences[-1]}; "
            yield f"{error.param.opts[0]}: {got}{way}"
    elif extra := re.search(r"unexpected extra arguments? \((.*)\)|unexpected extra argument\(s\) \((.*)\)", message):
        yield from _of_extra([*arguments], (extra[1] or extra[2]).split(" "))


def refuse_repeated(command: str, flags: Sequence[str]) -> None:
    """Raise OptionError for a repeated flag that takes one value, since click would use the last."""
    if command not in CAPABILITIES:
        return
    # Imported here, and below: most command lines are right.
    from memplan.api.cli.commands import made

    for row in made(command).params:
        names = [flag for flag in flags if flag in flags_for(row)]
        if len(set(names) if getattr(row, "is_flag", False) else names) > 1 and not row.multiple:
            name = spelled(row.name)[0].partition("/")[0].removeprefix("--")
            raise OptionError(f"{name}: must be given once, got {' and '.join(names)}")


def _options(command: str) -> dict[str, Any]:
    """Return the options of a command by their flags."""
    from memplan.api.cli.commands import made

    return {flag: row for row in made(command).params for flag in flags_for(row)}


def _of_option(flag: str, arguments: Sequence[str]) -> Iterator[str]:
    """Yield the values of an option that is missing or lacks its value."""
    if (about := _options(arguments[0]).get(flag) if arguments[0] in CAPABILITIES else None) is not None:
        yield f"{flag} {about.metavar or 'VALUE'}: {about.help}"


def _of_extra(arguments: list[str], extra: list[str]) -> Iterator[str]:
    """Yield the command lines that may be meant by one with too many files."""
    first = next((word for word in arguments[1:] if not word.startswith("-") and word not in extra), None)
    if first is None:
        yield f"{arguments[0]} takes no files: leave {shlex.join(extra)} out"
        return
    at, words = arguments.index(first), [word for word in arguments if word not in extra]
    if Path(whole := " ".join([first, *extra])).exists():
        yield f"did you mean `memplan {shlex.join([*arguments[:at], whole, *words[at + 1 :]])}`?"
        return
    before = arguments[arguments.index(extra[0]) - 1] if extra[0] in arguments else ""
    flag = arguments[arguments.index(before) - 1] if before in arguments[1:] else ""
    if before.startswith("-") and not Path(extra[0]).exists():
        yield f"{before} takes no value: leave {extra[0]} out"
        return
    if flag.startswith("-") and not Path(extra[0]).exists():
        yield f"did you mean {flag} '{before} {extra[0]}', in quotes, or a value without a space?"
        return
    each = [shlex.join([*words[:at], file, *words[at + 1 :]]) for file in (first, *extra)]
    yield f"{arguments[0]} takes fewer files; for each: {', '.join(f'`memplan {line}`' for line in each)}"
