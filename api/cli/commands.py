"""The table of commands."""

from __future__ import annotations

from typing import Annotated

import typer

from api.cli.bench import bench
from api.cli.compare import compare
from api.cli.convert import convert
from api.cli.export import export
from api.cli.liveness import liveness
from api.cli.model import model
from api.cli.plan import plan
from api.cli.serve import serve
from api.cli.shadow import shadow
from api.cli.solver_list import solvers
from api.cli.verify import verify
from api.cli.warm_up import warm_up
from planner import __version__

app = typer.Typer(
    help="Plan memory: a pool and an offset for every buffer, with a proof or an honest gap.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

for command in (plan, verify, convert, export, compare, liveness, shadow, solvers, model, bench, serve, warm_up):
    app.command()(command)


def _show_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"memplan {__version__}")
        raise typer.Exit


@app.callback()
def memplan(
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Take the options that come before a command."""
