"""The library of problems: checked facts about each problem, submissions of better plans, and runs of any planner."""

from typing import TYPE_CHECKING

from memplan.questions import Command

if TYPE_CHECKING:
    import click


def _library(_name: str) -> "click.Command":
    from memplan.extensions.library.command import library

    return library


COMMAND = Command(
    _library,
    help="Work with the library of problems: list, get and check them, submit plans, and run planners on them.",
    panel="Solvers",
)
