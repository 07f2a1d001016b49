"""The table of commands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from inspect import cleandoc
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from memplan.api.cli.help import SectionedCommand, SectionedGroup
from memplan.api.cli.texts import written
from memplan.planner import __version__
from memplan.planner.extensions import extensions
from memplan.questions import Command, Row, questions

if TYPE_CHECKING:
    from memplan.api.cli.from_capability import CommandExtras
    from memplan.questions.capability import Capability

COMMANDS = {
    "examples": "local.examples",
    "solvers": "solvers.doctor",
    "schema": "solvers.schema",
    "serve": "service.serving",
    "worker": "service.serving",
    "keys": "service.keys",
    "database": "service.database",
    "core": "solvers.core",
    "doctor": "solvers.doctor",
}
"""Maps a command that is written by hand to the module of this package that has it."""
PANELS = {
    "Files": ("examples", "schema"),
    "Solvers": ("solvers", "core", "doctor"),
    "Service": ("serve", "worker", "keys", "database"),
}
"""The help panels of commands that belong to no capability; the rows of capabilities name their own."""
_PANEL_OF = {name: panel for panel, names in PANELS.items() for name in names}


def added() -> dict[str, Command]:
    """Return the commands of other distributions by name; memplan's own names take precedence."""
    rows = extensions("commands")
    return {name: row for name, row in rows.items() if name not in COMMANDS and name not in questions()}


def names() -> list[str]:
    """Return the names of all commands."""
    return [*(name for name in questions() if name not in COMMANDS), *COMMANDS, *added()]


class Runnable(NamedTuple):
    """The application for a command line, its name in messages, and the remaining arguments."""

    run: Callable[..., int | None]
    name: str
    arguments: Sequence[str]


def runnable(arguments: Sequence[str]) -> Runnable:
    """Return the application for a command line: only the command that it begins with, to avoid other imports.

    If it does not begin with a command, that is the list of all.
    """
    name = arguments[0] if arguments else ""
    if name not in names():
        return Runnable(app(names(), listed), "memplan", arguments)
    command = made(name)
    if (row := questions().get(name)) is not None and row.deprecated:
        click.echo(f"memplan: warning: {name}: is deprecated {row.deprecated}", err=True)
    return Runnable(command, f"memplan {name}", arguments[1:])


def app(names: Sequence[str], make: Callable[[str], click.Command]) -> SectionedGroup:
    """Return the group of some commands in their panels; `make` returns each."""
    about = "Plan memory: a pool and an offset for every buffer, with a proof or an honest gap."
    version = click.version_option(__version__, message="memplan %(version)s", help="Show the version.")
    panels = {name: _PANEL_OF.get(name) or _row(name).panel for name in names}
    group = SectionedGroup("memplan", panels=panels, help=about)
    for name in names:
        group.add_command(make(name), name)
    return version(group)


def _row(name: str) -> Row | Command:
    """Return the row of a command that belongs to a question or to another distribution."""
    return questions().get(name) or added()[name]


def made(name: str) -> click.Command:
    """Return a command; one with commands of its own is a group."""
    if name in COMMANDS:
        command = getattr(import_module(f"{__package__}.{COMMANDS[name]}"), name)
    elif name in questions():
        # Imported here: commands without a capability start without it.
        from memplan.api.cli.from_capability import command_of

        command = command_of(*capability_of(name))
    else:
        command = added()[name].load()
    return command if isinstance(command, click.Command) else _of_typer(name, command)


def _of_typer(name: str, command: Any) -> click.Command:
    """Return a command that a distribution still brings as a function or an application of typer."""
    click.echo(f"memplan: warning: {name}: is deprecated as a command of typer, bring a click.Command", err=True)
    typer = import_module("typer")  # memplan itself does not need typer
    application = command
    if not isinstance(command, typer.Typer):
        application = typer.Typer(add_completion=False)
        application.command()(command)

    def run(words: Sequence[str]) -> None:
        application([*words], prog_name=f"memplan {name}")

    words = click.Argument(("words",), nargs=-1, type=click.UNPROCESSED)
    settings = {"ignore_unknown_options": True, "help_option_names": []}  # typer parses the words itself
    return click.Command(name, callback=run, params=[words], context_settings=settings)


def capability_of(name: str) -> tuple[Capability[Any], CommandExtras]:
    """Return the capability of a command, and the extras of that command."""
    from memplan.api.cli.from_capability import CommandExtras
    from memplan.questions.capability.registry import CAPABILITIES

    module = questions()[name].command
    extras = CommandExtras() if module is None else import_module(module).LOCAL
    return CAPABILITIES[name], extras


def listed(name: str) -> SectionedCommand:
    """Return a stand-in for the list of commands, with the help of the command of that name, which is not imported."""
    text = written(name)
    about = _row(name).help if text is None else cleandoc(text.split("\n\n")[1])
    return SectionedCommand(name, help=about)
