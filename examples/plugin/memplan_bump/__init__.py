"""A memplan plugin: a reader of a bump allocator's logs, its planner, a solver, a question and a constraint kind."""

from typing import Any

from memplan.questions import Row


def _load_count() -> Any:
    from memplan_bump.count import QUESTION

    return QUESTION


COUNT = Row(_load_count, help="Count buffers.")
