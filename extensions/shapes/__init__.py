"""Problems whose sizes are expressions: plans for all values, and how far the symbols may grow."""

from memplan.questions import Row

SHAPES = Row(
    "shapes",
    {
        "ShapesAnswer": "shapes",
        "ShapesLimits": "limits",
        "SymbolicOffsets": "verify_shapes",
        "VerifiedShapes": "verify_shapes",
    },
    command="memplan.extensions.shapes.command",
    panel="Networks",
    document="shapes.md",
    former={"limits": "shapes --limits", "verify-shapes": "shapes --verify"},
    package=__name__,
)
