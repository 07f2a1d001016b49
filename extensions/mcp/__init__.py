"""Every question of memplan as a tool for assistants: `memplan mcp`, by the Model Context Protocol."""

from memplan.questions import Command

COMMAND = Command(
    where="memplan.extensions.mcp.server:mcp",
    help="Serve an assistant on standard input and output, by the Model Context Protocol.",
    panel="Service",
)
