"""Schedules of networks through a fast memory, which minimise the time or the traffic."""

from typing import TYPE_CHECKING, Any

from memplan.questions import Row

if TYPE_CHECKING:
    from memplan.questions.question import Question


def _schedule() -> "Question[Any]":
    from memplan.extensions.schedule.schedule import QUESTION

    return QUESTION


SCHEDULE = Row(
    _schedule,
    panel="Networks",
    document="schedule.md",
    help="Schedule operations through a fast memory: choose which run together, in which tiles, and what stays in it.",
)
