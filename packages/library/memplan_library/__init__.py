"""The library of problems: what is known of each, checked without memplan; submissions; runs of anybody's planner."""

from memplan.capabilities import Command

COMMAND = Command(
    where="memplan_library.command:library",
    help="Keep the library of problems: list, check and get them, submit plans, run planners.",
    panel="Solvers",
)
