"""The library of problems: verified facts about each, submissions, and runs of any planner."""

from memplan.questions import Command

COMMAND = Command(
    where="memplan.extensions.library.command:library",
    help="Work with the library of problems: list, get and check them, submit plans, and run planners on them.",
    panel="Solvers",
)
