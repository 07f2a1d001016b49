"""The table of commands."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import typer

from memplan.capabilities import MODULES
from memplan.planner import __version__

COMMANDS = {
    "fits": "local.fits",
    "solvers": "solvers.solver_list",
    "schema": "solvers.schema",
    "bench": "solvers.bench",
    "library": "solvers.library",
    "serve": "service.serve",
    "worker": "service.worker",
    "keys": "service.keys",
    "core": "solvers.core",
    "doctor": "solvers.doctor",
}
"""From a command that is no capability's, or is made by hand, to the module of this package with its function."""
LOCALS = {
    **{name: f"local.{name}" for name in ("cascade", "certify", "check", "convert", "order", "plan", "verify")},
    **dict.fromkeys(("compare", "liveness", "schedule", "shapes", "sweep"), "local.studies"),
}
"""From a capability to the module of this package that has what its command alone has: `LOCAL`, or `LOCALS` by name."""
PANELS = {
    "Networks": ("order", "cascade", "schedule", "liveness", "shapes", "fits"),
    "Files": ("convert", "compare", "schema"),
    "Solvers": ("solvers", "core", "bench", "library", "doctor"),
    "Service": ("serve", "worker", "keys"),
}
"""The panels of the list of commands; all others are in the first, on plans."""
_PANEL_OF = {name: panel for panel, names in PANELS.items() for name in names}
_NAMES = (*(name for name in MODULES if name not in COMMANDS), *COMMANDS)


def app(arguments: Sequence[str]) -> typer.Typer:
    """Return the application with the command that the arguments begin with; with all, where they begin otherwise.

    No command waits for what only others import.
    """
    found = typer.Typer(
        help="Plan memory: a pool and an offset for every buffer, with a proof or an honest gap.",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode="markdown",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    found.callback()(memplan)
    for name in arguments[:1] if arguments and arguments[0] in _NAMES else _NAMES:
        command, panel = made(name), _PANEL_OF.get(name, "Plan")
        if isinstance(command, typer.Typer):
            found.add_typer(command, name=name, rich_help_panel=panel)
        else:
            found.command(name, rich_help_panel=panel)(command)
    return found


def made(name: str) -> Any:
    """Return the function of a command, or the application of one with commands of its own."""
    if name in COMMANDS:
        return getattr(import_module(f"{__package__}.{COMMANDS[name]}"), name)
    # Imported here: commands that are no capability's start without it.
    from memplan.api.cli.from_capability import command_of
    from memplan.capabilities.registry import CAPABILITIES

    return command_of(CAPABILITIES[name], *extras_of(name))


def extras_of(name: str) -> list[Any]:
    """Return what the command of a capability alone has; nothing for most."""
    if name not in LOCALS:
        return []
    module = import_module(f"{__package__}.{LOCALS[name]}")
    return [module.LOCALS[name] if hasattr(module, "LOCALS") else module.LOCAL]


def _show_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"memplan {__version__}")
        raise typer.Exit


def memplan(
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Take the options that come before a command."""
