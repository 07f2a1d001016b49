"""The table of commands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from memplan.api.cli.help import SectionedCommand, SectionedGroup
from memplan.planner import __version__
from memplan.planner.extensions import extensions
from memplan.questions import Command, Row, questions

if TYPE_CHECKING:
    from memplan.api.cli.from_capability import CommandExtras
    from memplan.questions.capability import Capability


def _own(where: str, about: str, panel: str) -> Command:
    return Command(f"{__package__}.{where}", about, panel)


COMMANDS = {
    "examples": _own("local.examples:examples", "Write the examples that the documents name into a folder.", "Files"),
    "solvers": _own("solvers.doctor:solvers", "List the solvers: what is installed, and what each can do.", "Solvers"),
    "schema": _own(
        "solvers.schema:schema",
        "Write the JSON Schema of problems, plans, operations and graphs, with the version of memplan.",
        "Files",
    ),
    "serve": _own("service.serving:serve", "Serve over HTTP until a signal stops the process.", "Service"),
    "worker": _own(
        "service.serving:worker",
        "Run the jobs that servers put into the database, until a signal stops the process.",
        "Service",
    ),
    "keys": _own(
        "service.keys:keys", "Make, list and revoke the keys by which callers of the service are known.", "Service"
    ),
    "database": _own("service.database:database", "Bring the database of the service to this version.", "Service"),
    "core": _own(
        "solvers.core:core",
        "Get the planner for a program in C, C++, Rust or Zig that links it: the folder of its sources, or two files.",
        "Solvers",
    ),
    "doctor": _own(
        "solvers.doctor:doctor",
        "Report which code runs and why, which extras are installed, and how to install those that are missing.",
        "Solvers",
    ),
}
"""The commands that are written by hand, in modules of this package."""


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
    panels = {name: _row(name).panel for name in names}
    group = SectionedGroup("memplan", panels=panels, help=about)
    for name in names:
        group.add_command(make(name), name)
    return version(group)


def _row(name: str) -> Row | Command:
    """Return the row of a command."""
    return COMMANDS.get(name) or questions().get(name) or added()[name]


def made(name: str) -> click.Command:
    """Return a command; one with commands of its own is a group."""
    if name not in COMMANDS and name in questions():
        from memplan.api.cli.from_capability import command_of

        return command_of(*capability_of(name))
    command: click.Command = (COMMANDS.get(name) or added()[name]).load()
    return command


def capability_of(name: str) -> tuple[Capability[Any], CommandExtras]:
    """Return the capability of a command, and the extras of that command."""
    from memplan.api.cli.from_capability import CommandExtras
    from memplan.questions.capability.registry import CAPABILITIES

    module = questions()[name].command
    extras = CommandExtras() if module is None else import_module(module).LOCAL
    return CAPABILITIES[name], extras


def listed(name: str) -> SectionedCommand:
    """Return a stand-in for the list of commands, with the sentence of the command, which is not imported."""
    return SectionedCommand(name, help=_row(name).help)
