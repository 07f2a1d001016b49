"""`memplan mcp`: a server that offers every question of memplan to assistants as a Model Context Protocol tool."""

from typing import TYPE_CHECKING

from memplan.questions import Command

if TYPE_CHECKING:
    import click


def _mcp(_name: str) -> "click.Command":
    from memplan.extensions.mcp.server import mcp

    return mcp


COMMAND = Command(
    _mcp,
    help="Serve an assistant on standard input and output, by the Model Context Protocol.",
    panel="Service",
)
