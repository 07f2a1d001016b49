"""What a bump allocator adds to memplan: its logs, its planner, a question and a constraint kind."""

from typing import TYPE_CHECKING, Any

from memplan.questions import Row

if TYPE_CHECKING:
    from memplan.questions.capability import Capability


def _count(_name: str) -> "Capability[Any]":
    from memplan_bump.count import CAPABILITY

    return CAPABILITY


COUNT = Row(_count, help="Count buffers.")
