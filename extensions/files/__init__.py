"""Questions about files of other systems: `compare` their planners with memplan, and `convert` problems and plans."""

from typing import TYPE_CHECKING, Any

from memplan.questions import Row

if TYPE_CHECKING:
    from memplan.questions.question import Question

_PANEL = "Files"


def _compare() -> "Question[Any]":
    from memplan.extensions.files.compare.compare import QUESTION

    return QUESTION


def _convert() -> "Question[Any]":
    from memplan.extensions.files.convert.convert import QUESTION

    return QUESTION


COMPARE = Row(
    _compare,
    panel=_PANEL,
    document="systems.md",
    help="Compare the memory planner of a model's own runtime with memplan: the bytes used, the bound, the"
    " bytes saved.",
)
CONVERT = Row(
    _convert,
    panel=_PANEL,
    document="systems.md",
    former={**dict.fromkeys(("export", "deploy", "import"), "convert"), "model": "convert --to lp"},
    help="Write a problem, a model or a plan in another form: a table, operations, C, or into the model of a runtime.",
)
