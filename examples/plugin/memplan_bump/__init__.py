"""A memplan plugin: a reader of a bump allocator's logs, its planner, a solver, a question and a constraint kind."""

from typing import Any

from memplan.questions import Row


def _count() -> Any:
    """Import the question `count` when it is first used, and return it."""
    from memplan_bump.count import QUESTION

    return QUESTION


COUNT = Row(_count, help="Count buffers.")
