"""Problems whose sizes are expressions: plans for all values, and how far the symbols may grow."""

from memplan.questions import Row

SHAPES = Row(
    "shapes",
    command="memplan.extensions.shapes.command",
    panel="Networks",
    document="shapes.md",
    former={"limits": "shapes --limits", "verify-shapes": "shapes --verify"},
    help="Plan a problem whose sizes are expressions, such as `48*b*n**2`, once for all values of its symbols.",
    package=__name__,
)
