"""The table of all commands. A command's module is imported only when the command runs."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import click

from memplan.api.cli.help import SectionedCommand, SectionedGroup
from memplan.planner import __version__
from memplan.planner.extensions import extensions, import_object
from memplan.questions import OWN_ROWS, QUESTIONS, Command, Row, question_rows

_OWN = "plan", "explain", "verify", "check", "sweep", "certify"
"""The questions of the base whose commands are in `api/cli/local`."""


def make_command(name: str) -> click.Command:
    """Import and return the command of this name; it may be a group of subcommands."""
    row = COMMANDS.get(name) or extensions("commands").get(name)
    where = f"memplan.api.cli.local.{name}:{name}" if name in _OWN else row.command if row is not None else None
    if where is not None:
        found: click.Command = import_object(where)
        return found
    from memplan.api.cli.question_command import answer_plainly, command_of

    return command_of(QUESTIONS[name])(answer_plainly)


COMMANDS = {
    "examples": Command(
        "memplan.api.cli.local.examples:examples", "Write the examples that the documents name into a folder.", "Files"
    ),
    "solvers": Command(
        "memplan.api.cli.solvers.doctor:solvers",
        "List the solvers: whether each is installed, and its features.",
        "Solvers",
    ),
    "schema": Command(
        "memplan.api.cli.solvers.schema:schema",
        "Write the JSON Schema of problems, plans, operations and graphs, with the version of memplan.",
        "Files",
    ),
    "serve": Command(
        "memplan.api.cli.service.serving:serve", "Serve over HTTP until a signal stops the process.", "Service"
    ),
    "worker": Command(
        "memplan.api.cli.service.serving:worker",
        "Run the jobs that servers put into the database, until a signal stops the process.",
        "Service",
    ),
    "keys": Command(
        "memplan.api.cli.service.keys:keys",
        "Make, list and revoke the keys by which callers of the service are known.",
        "Service",
    ),
    "database": Command(
        "memplan.api.cli.service.database:database", "Bring the database of the service to this version.", "Service"
    ),
    "core": Command(
        "memplan.api.cli.solvers.core:core",
        "Get the planner for a program in C, C++, Rust or Zig that links it: the folder of its sources, or two files.",
        "Solvers",
    ),
    "doctor": Command(
        "memplan.api.cli.solvers.doctor:doctor",
        "Report which code runs and why, which extras are installed, and how to install the missing extras.",
        "Solvers",
    ),
}
"""The commands that do not answer a question, such as `serve`."""


def extension_commands() -> dict[str, Command]:
    """Return, by name, the commands of extensions that do not answer a question."""
    rows = extensions("commands")
    return {name: row for name, row in rows.items() if name not in COMMANDS and name not in question_rows()}


def command_names() -> list[str]:
    """Return the names of all commands."""
    return [*(name for name in question_rows() if name not in COMMANDS), *COMMANDS, *extension_commands()]


class RunnableCommand(NamedTuple):
    """A command ready to run: its function, its name in messages, and its arguments."""

    run: Callable[..., int | None]
    name: str
    arguments: Sequence[str]


def find_command(arguments: Sequence[str]) -> RunnableCommand:
    """Return the command named by the first argument, importing only that command's module.

    If the first argument is not the name of a command, return the top-level group, which lists all commands.
    """
    name = arguments[0] if arguments else ""
    # Reading the tables of extensions is slow, so look among memplan's own commands first.
    is_own = name in COMMANDS or name in OWN_ROWS
    if not is_own and name not in command_names():
        return RunnableCommand(command_group(command_names(), listing_entry), "memplan", arguments)
    command = make_command(name)
    if (row := (OWN_ROWS if is_own else question_rows()).get(name)) is not None and row.deprecated:
        click.echo(f"memplan: warning: {name}: is deprecated {row.deprecated}", err=True)
    return RunnableCommand(command, f"memplan {name}", arguments[1:])


def command_group(names: Sequence[str], make: Callable[[str], click.Command]) -> SectionedGroup:
    """Return the group `memplan` with the named commands in help panels; `make` returns the command for a name."""
    about = "Plan memory: a pool and an offset for every buffer, with a proof or an honest gap."
    version = click.version_option(__version__, message="memplan %(version)s", help="Show the version.")
    panels = {name: _command_row(name).panel for name in names}
    group = SectionedGroup("memplan", panels=panels, help=about)
    for name in names:
        group.add_command(make(name), name)
    return version(group)


def _command_row(name: str) -> Row | Command:
    return COMMANDS.get(name) or question_rows().get(name) or extension_commands()[name]


def listing_entry(name: str) -> SectionedCommand:
    """Return a placeholder for a command in the list of commands: it has the help line, but no imported code."""
    return SectionedCommand(name, help=_command_row(name).help)
