"""Every question of memplan as a tool for assistants: `memplan mcp`, by the Model Context Protocol."""

from memplan.capabilities import Command

COMMAND = Command(
    where="memplan_mcp.server:mcp",
    help="Serve an assistant on standard input and output, by the Model Context Protocol.",
    panel="Service",
)
