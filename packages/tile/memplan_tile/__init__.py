"""Matrix operations computed tile by tile in a fast memory: an input form of `memplan schedule`."""

from memplan.capabilities import Form

FORM = Form(
    question="schedule",
    where="memplan_tile.contest:ScheduleProblem",
    key="op_types",
    words="operations on matrices, which have op_types",
    names={"ScheduleProblem": "memplan_tile.contest"},
)
