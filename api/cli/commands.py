"""The table of commands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from inspect import cleandoc
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from memplan.api.cli.help import SETTINGS, SectionedCommand, SectionedGroup
from memplan.api.cli.texts import written
from memplan.capabilities import Command, Row, questions
from memplan.planner import __version__
from memplan.planner.extensions import extensions

if TYPE_CHECKING:
    from memplan.api.cli.from_capability import CommandExtras
    from memplan.capabilities.capability import Capability

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
"""Maps a command that is written by hand to the module of this package with its function."""
PANELS = {
    "Files": ("examples", "schema"),
    "Solvers": ("solvers", "core", "doctor"),
    "Service": ("serve", "worker", "keys", "database"),
}
"""The help panels of commands that belong to no capability; the rows of capabilities name their own."""
_PANEL_OF = {name: panel for panel, names in PANELS.items() for name in names}
_APPLICATION: dict[str, Any] = {
    "add_completion": False,
    "rich_markup_mode": None,
    "pretty_exceptions_enable": False,
    "context_settings": SETTINGS,
}


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
        if name and not name.startswith("-"):
            # Imported here: most commands are memplan's own.
            from memplan.planner.errors.extras import COMMANDS as BROUGHT
            from memplan.planner.errors.extras import require

            require(f"{name}:", {BROUGHT[name]} if name in BROUGHT else ())
        return Runnable(app(names(), listed), "memplan", arguments)
    command = made(name)
    if (row := questions().get(name)) is not None and row.deprecated:
        typer.echo(f"memplan: warning: {name}: is deprecated {row.deprecated}", err=True)
    if isinstance(command, typer.Typer):
        return Runnable(app([name]), "memplan", arguments)
    alone = typer.Typer(**_APPLICATION)
    alone.command(cls=SectionedCommand, context_settings=SETTINGS)(command)
    return Runnable(alone, f"memplan {name}", arguments[1:])


def app(names: Sequence[str], make: Callable[[str], Any] | None = None) -> typer.Typer:
    """Return the application of some commands in their panels; `make` returns the function of each."""
    about = "Plan memory: a pool and an offset for every buffer, with a proof or an honest gap."
    application = typer.Typer(help=about, no_args_is_help=True, cls=SectionedGroup, **_APPLICATION)
    application.callback()(memplan)
    for name in names:
        command, panel = (make or made)(name), _PANEL_OF.get(name) or _row(name).panel
        if isinstance(command, typer.Typer):
            application.add_typer(command, name=name, cls=SectionedGroup, rich_help_panel=panel)
        else:
            settings: dict[str, Any] = {"context_settings": SETTINGS, "rich_help_panel": panel}
            application.command(name, cls=SectionedCommand, **settings)(command)
    return application


def _row(name: str) -> Row | Command:
    """Return the row of a command that belongs to a question or to another distribution."""
    return questions().get(name) or added()[name]


def made(name: str) -> Any:
    """Return the function of a command, or the application of a command with subcommands."""
    if name in COMMANDS:
        return getattr(import_module(f"{__package__}.{COMMANDS[name]}"), name)
    if name not in questions():
        return added()[name].load()
    # Imported here: commands without a capability start without it.
    from memplan.api.cli.from_capability import command_of

    return command_of(*capability_of(name))


def capability_of(name: str) -> tuple[Capability[Any], CommandExtras]:
    """Return the capability of a command, and the extras of that command."""
    from memplan.api.cli.from_capability import CommandExtras
    from memplan.capabilities.capability.registry import CAPABILITIES

    module = questions()[name].command
    extras = CommandExtras() if module is None else import_module(f"{__package__}.local.{module}").LOCAL
    return CAPABILITIES[name], extras


def listed(name: str) -> Callable[[], None]:
    """Return a stand-in for the list of commands, with the help of the command of that name, which is not imported."""

    def command() -> None: ...

    text = written(name)
    command.__doc__ = _row(name).help if text is None else cleandoc(text.split("\n\n")[1])
    return command


def _show_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"memplan {__version__}")
        raise typer.Exit


def memplan(
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Take the options that precede a command."""
