"""Schedule: networks and layers through a fast memory, with the least time or traffic."""

from memplan.questions import Row

SCHEDULE = Row(
    "schedule",
    {"ScheduleAnswer": "answer"},
    command="memplan.extensions.schedule.command",
    panel="Networks",
    document="schedule.md",
    package=__name__,
)
