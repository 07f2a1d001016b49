"""Networks: operations in the order with the least peak, and the lifetimes that programs give their buffers."""

from memplan.questions import Row, Search

ORDER = Row(
    "order.order",
    {
        "OrderAnswer": "order.answer",
        "OrderOptions": "order.options",
        "Recomputed": "order.answer",
        "order_operations": "order.search.solve",
    },
    command="memplan.extensions.networks.commands.order",
    panel="Networks",
    document="order.md",
    former={"recompute": "order --recompute", "reorder": "order"},
    package=__name__,
)
LIVENESS = Row(
    "liveness.liveness",
    {"LivenessAnswer": "liveness.liveness", "Shadow": "liveness.liveness"},
    command="memplan.extensions.networks.commands.liveness",
    panel="Networks",
    document="liveness.md",
    former={"shadow": "liveness --plan"},
    package=__name__,
)
REORDER = Search("memplan.extensions.networks.commands.reordering:reordered")
CHECK_REORDER = Search("memplan.extensions.networks.commands.reordering:check")
REORDER_PROGRAM = Search("memplan.extensions.networks.order.reordering:reorder_program")
