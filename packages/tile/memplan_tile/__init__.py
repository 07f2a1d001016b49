"""Operations on matrices, tile by tile through a fast memory: a form of the problems of `memplan schedule`."""

from memplan.capabilities import Form

FORM = Form(
    question="schedule",
    where="memplan_tile.contest:ScheduleProblem",
    key="op_types",
    words="operations on matrices, which have op_types",
    names={"ScheduleProblem": "memplan_tile.contest"},
)
