"""Schedule: networks and layers through a fast memory, with the least time or traffic."""

from memplan.questions import Row

SCHEDULE = Row(
    "schedule",
    command="memplan.extensions.schedule.command",
    panel="Networks",
    document="schedule.md",
    help="Schedule operations through a fast memory: choose which run together, in which tiles, and what stays in it.",
    package=__name__,
)
