"""Plans of problems whose sizes are expressions, valid for all values of their symbols, and limits of these symbols."""

from typing import TYPE_CHECKING, Any

from memplan.questions import Row

if TYPE_CHECKING:
    from memplan.questions.question import Question


def _load_question() -> "Question[Any]":
    from memplan.extensions.shapes.shapes import QUESTION

    return QUESTION


SHAPES = Row(
    _load_question,
    panel="Networks",
    document="shapes.md",
    former={"limits": "shapes --limits", "verify-shapes": "shapes --verify"},
    help="Plan a problem whose sizes are expressions, such as `48*b*n**2`, once for all values of its symbols.",
)
