"""Files of other systems: their planners beside memplan, and problems, models and plans in other forms."""

from typing import TYPE_CHECKING, Any

from memplan.questions import Row

if TYPE_CHECKING:
    from memplan.questions.capability import Capability

_PANEL = "Files"


def _compare() -> "Capability[Any]":
    from memplan.extensions.files.compare.compare import CAPABILITY

    return CAPABILITY


def _convert() -> "Capability[Any]":
    from memplan.extensions.files.convert.convert import CAPABILITY

    return CAPABILITY


COMPARE = Row(
    _compare,
    panel=_PANEL,
    document="systems.md",
    help="Compare the memory planner of a model's own runtime with memplan: the bytes used, the bound, and the"
    " bytes saved.",
)
CONVERT = Row(
    _convert,
    panel=_PANEL,
    document="systems.md",
    former={**dict.fromkeys(("export", "deploy", "import"), "convert"), "model": "convert --to lp"},
    help="Write a problem, a model or a plan in another form: a table, operations, C, or into the model of a runtime.",
)
