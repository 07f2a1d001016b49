"""The library of problems: what is known of each, checked without memplan; submissions; runs of anybody's planner."""

from memplan.capabilities import Command

COMMAND = Command(
    where="memplan_library.command:library",
    help="Work with the library of problems: list, get and check them, submit plans, and run planners on them.",
    panel="Solvers",
)
