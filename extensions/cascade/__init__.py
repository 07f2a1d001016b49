"""Cascades: operations run together in stripes, which saves memory for some extra work, with a plan for each point."""

from typing import TYPE_CHECKING, Any

from memplan.questions import Row

if TYPE_CHECKING:
    from memplan.questions.question import Question


def _cascade() -> "Question[Any]":
    from memplan.extensions.cascade.cascade import QUESTION

    return QUESTION


CASCADE = Row(
    _cascade,
    panel="Networks",
    document="cascades.md",
    help="Run the operations of a network in stripes, which needs less memory, and show what each saving costs.",
)
