"""Files of other systems: their planners beside memplan, and problems, models and plans in other forms."""

from memplan.questions import Row

_PANEL = "Files"
COMPARE = Row(
    "compare.compare",
    command="memplan.api.cli.local.compare",
    panel=_PANEL,
    document="systems.md",
    package=__name__,
    help="Compare the memory planner of a model's own runtime with memplan: the bytes used, the bound, and the"
    " bytes saved.",
)
CONVERT = Row(
    "convert.convert",
    command="memplan.extensions.files.convert_command",
    panel=_PANEL,
    document="systems.md",
    former={**dict.fromkeys(("export", "deploy", "import"), "convert"), "model": "convert --to lp"},
    package=__name__,
    help="Write a problem, a model or a plan in another form: a table, operations, C, or into the model of a runtime.",
)
