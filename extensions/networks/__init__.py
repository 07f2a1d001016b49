"""Questions about networks: the operation order with the lowest peak, and the lifetimes of a program's buffers."""

from typing import TYPE_CHECKING, Any

from memplan.questions import Row

if TYPE_CHECKING:
    from memplan.questions.question import Question


def _order_question() -> "Question[Any]":
    from memplan.extensions.networks.order.order import QUESTION

    return QUESTION


def _liveness_question() -> "Question[Any]":
    from memplan.extensions.networks.liveness.liveness import QUESTION

    return QUESTION


ORDER = Row(
    _order_question,
    panel="Networks",
    document="order.md",
    former={"recompute": "order --recompute", "reorder": "order"},
    help="Order operations so that as few bytes as possible are alive at once, and plan them in that order.",
)
LIVENESS = Row(
    _liveness_question,
    panel="Networks",
    document="liveness.md",
    former={"shadow": "liveness --plan"},
    help="Find out when the buffers of a program are alive, from its operations, and make a problem of them that"
    " can be planned.",
)
