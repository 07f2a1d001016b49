"""The table of commands."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Annotated

import typer

from memplan.planner import __version__

COMMANDS = {
    "plan": "plans.plan",
    "look": "plans.look",
    "verify": "plans.verify",
    "check": "plans.check",
    "diff": "studies.diff",
    "replay": "studies.replay",
    "explain": "studies.explain",
    "what-if": "studies.what_if",
    "audit": "studies.audit",
    "convert": "files.convert",
    "export": "files.export",
    "compare": "studies.compare",
    "liveness": "operations.liveness",
    "order": "operations.order",
    "cascade": "operations.cascade",
    "shadow": "operations.shadow",
    "solvers": "solvers.solver_list",
    "model": "files.model",
    "bench": "solvers.bench",
    "serve": "service.serve",
    "scheduler": "service.scheduler",
    "worker": "service.worker",
    "keys": "service.keys",
    "warm-up": "solvers.warm_up",
    "doctor": "solvers.doctor",
}
"""From a command to the module of this package that its function is in."""


def app(arguments: Sequence[str]) -> typer.Typer:
    """Return the application with the command that the arguments begin with; with all, where they begin otherwise.

    No command waits for what only others import.
    """
    found = typer.Typer(
        help="Plan memory: a pool and an offset for every buffer, with a proof or an honest gap.",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    found.callback()(memplan)
    for name in arguments[:1] if arguments and arguments[0] in COMMANDS else COMMANDS:
        module = import_module(f"memplan.api.cli.{COMMANDS[name]}")
        command = getattr(module, name.replace("-", "_"))
        if isinstance(command, typer.Typer):
            found.add_typer(command, name=name)
        else:
            found.command()(command)
    return found


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
