"""Schedule: networks and layers through a fast memory, with the least time or traffic."""

from typing import TYPE_CHECKING, Any

from memplan.questions import Row

if TYPE_CHECKING:
    from memplan.questions.capability import Capability


def _schedule() -> "Capability[Any]":
    from memplan.extensions.schedule.schedule import CAPABILITY

    return CAPABILITY


SCHEDULE = Row(
    _schedule,
    panel="Networks",
    document="schedule.md",
    help="Schedule operations through a fast memory: choose which run together, in which tiles, and what stays in it.",
)
