"""The library of problems: verified facts about each, submissions, and runs of any planner."""

from memplan.capabilities import Command

COMMAND = Command(
    where="memplan_library.command:library",
    help="Work with the library of problems: list, get and check them, submit plans, and run planners on them.",
    panel="Solvers",
)
