"""Hints for command lines that click rejects: the flag, value or command that was probably intended."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import pairwise
from pathlib import Path
from typing import Any

import click

from memplan.api.cli.advice import flags_for
from memplan.api.cli.help import ExtraArguments
from memplan.planner.errors.did_you_mean import OtherWords, closest_word, word_table
from memplan.planner.systems import systems
from memplan.questions import QUESTIONS, former_names

_COMMANDS: Mapping[str, OtherWords] = {
    "memplan": {"--version": "version", "--help": "help man"},
    "memplan keys": {"revoke": "rm remove delete del", "add": "create new make"},
}
_NEAR = 0.75


def leave_near_words(error: Any) -> None:
    """Remove from an error of click all suggestions that do not closely resemble the given word."""
    if getattr(error, "possibilities", None):
        given = getattr(error, "option_name", None) or error.command_name
        error.possibilities = get_close_matches(given, error.possibilities, cutoff=_NEAR)


def usage_hints(error: click.UsageError, words: Sequence[str]) -> Iterator[str]:
    """Yield hints on a command line that click rejected, where possible as complete commands."""
    match error:
        case click.NoSuchCommand():
            yield _command_hint(error, words)
        case click.NoSuchOption():
            yield from _option_hints(error)
        case ExtraArguments():
            yield from _extra_file_hints([*words], error.extra)
        case click.BadOptionUsage():
            option = next(each for each in _command_parameters(error) if error.option_name in flags_for(each))
            yield f"write {error.option_name} alone, or leave it out" if option.is_flag else _option_help(option)
        case click.MissingParameter():
            yield from _missing_value_hints(error.param, words)
        case click.BadParameter(param=click.Parameter()):
            yield from _wrong_value_hints(error.param, words)


def _command_parameters(error: click.UsageError) -> Sequence[Any]:
    return () if error.ctx is None else error.ctx.command.params


def _option_help(option: Any) -> str:
    return f"{option.opts[0]} {option.metavar or 'VALUE'}: {option.help}"


def _command_hint(error: click.NoSuchCommand, words: Sequence[str]) -> str:
    name, group = error.command_name, "memplan" if error.ctx is None else error.ctx.command_path
    if Path(words[0]).exists() or "." in words[0]:
        return f"did you mean `memplan {shlex.join(['plan', *words])}`?"
    if words[0] in former_names():
        return f"did you mean `memplan {former_names()[words[0]]}`?"
    near = closest_word(name, (), _COMMANDS.get(group))
    return f"did you mean `{group} {near}`?" if near else f"`{group} --help` lists all commands"


def _option_hints(error: click.NoSuchOption) -> Iterator[str]:
    """Yield a hint on an unknown option: the option that was probably intended, or commands that have the option."""
    from memplan.api.cli.commands import make_command

    option, flags = error.option_name, {flag for each in _command_parameters(error) for flag in each.opts}
    here = {f"--{name}": words for name, words in word_table("options").items() if f"--{name}" in flags}
    if (flag := closest_word(option.lstrip("-"), (), here)) is not None:
        yield f"did you mean {flag}?"
    elif others := [name for name in QUESTIONS if any(option in flags_for(each) for each in make_command(name).params)]:
        some = ", ".join(f"`memplan {name}`" for name in others[:3])
        yield f"{option} is an option of {some}{' and others' if others[3:] else ''}"
    elif len(option) == 2 and (longer := sorted(flag for flag in flags if flag.startswith(f"-{option}"))):
        yield f"did you mean {' or '.join(longer)}?"
    elif not error.possibilities and error.ctx is not None:
        yield f"`{error.ctx.command_path} --help` says which options there are"


def _missing_value_hints(parameter: Any, words: Sequence[str]) -> Iterator[str]:
    if isinstance(parameter, click.Option):
        yield _option_help(parameter)
        return
    name, about = parameter.human_readable_name, str(getattr(parameter, "help", None) or "").rstrip(".")
    yield f"{name} is {about[:1].lower()}{about[1:]}" if about else f"see `memplan {words[0]} --help`"
    if parameter.name == "plan" and len(words) > 1:
        yield f"`memplan plan {shlex.quote(words[1])} -o plan.json` writes a plan"


def _wrong_value_hints(parameter: Any, words: Sequence[str]) -> Iterator[str]:
    """Yield a hint about an option's wrong value: the most similar valid value, the default, or the option's help."""
    parts = [part for word in words for part in (word.split("=", 1) if word[:2] == "--" else [word])]
    given = [value for flag, value in pairwise(parts) if flag in parameter.opts]
    default, about = parameter.default, getattr(parameter, "help", None)
    if isinstance(parameter.type, click.Choice):
        targets = {target: words for each in systems() for target, words in each.other_targets.items()}
        values = {**word_table("values"), **targets}
        here = {choice: values.get(choice, "") for choice in parameter.type.choices}
        if given and (near := closest_word(given[-1], here, here)) is not None:
            yield f"did you mean {near}?"
        elif default is None:
            yield f"it may be left out: `memplan {words[0]} --help` says what is done then"
        else:
            yield f"the default is {default}"
    elif given:
        yield f"{parameter.opts[0]}: {f'its help says: {about}' if default is None else f'the default is {default}'}"


def _extra_file_hints(words: list[str], extra: Sequence[str]) -> Iterator[str]:
    """Yield the command lines that a user with too many file arguments may have intended."""
    first = next((word for word in words[1:] if not word.startswith("-") and word not in extra), None)
    if first is None:
        yield f"{words[0]} takes no files: leave {shlex.join(extra)} out"
        return
    at, kept = words.index(first), [word for word in words if word not in extra]
    if Path(whole := " ".join([first, *extra])).exists():
        yield f"did you mean `memplan {shlex.join([*words[:at], whole, *kept[at + 1 :]])}`?"
        return
    before = words[words.index(extra[0]) - 1]
    flag = words[words.index(before) - 1]
    if before.startswith("-") and not Path(extra[0]).exists():
        yield f"{before} takes no value: leave {extra[0]} out"
    elif flag.startswith("-") and not Path(extra[0]).exists():
        yield f"did you mean {flag} '{before} {extra[0]}', in quotes, or a value without a space?"
    else:
        each = [shlex.join([*kept[:at], file, *kept[at + 1 :]]) for file in (first, *extra)]
        yield f"{words[0]} takes fewer files; for each: {', '.join(f'`memplan {line}`' for line in each)}"
