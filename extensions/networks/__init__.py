"""Networks: operations in the order with the least peak, and the lifetimes that programs give their buffers."""

from memplan.questions import Row, Search

ORDER = Row(
    "order.order",
    command="memplan.extensions.networks.commands.order",
    panel="Networks",
    document="order.md",
    former={"recompute": "order --recompute", "reorder": "order"},
    help="Order operations so that as few bytes as possible are alive at once, and plan them in that order.",
    package=__name__,
)
LIVENESS = Row(
    "liveness.liveness",
    command="memplan.extensions.networks.commands.liveness",
    panel="Networks",
    document="liveness.md",
    former={"shadow": "liveness --plan"},
    help="Find out when the buffers of a program are alive, from its operations, and make a problem of them that"
    " can be planned.",
    package=__name__,
)
REORDER = Search("memplan.extensions.networks.commands.reordering:reordered")
CHECK_REORDER = Search("memplan.extensions.networks.commands.reordering:check")
PROBLEM_OF_GRAPH = Search("memplan.extensions.networks.inputs:problem_of_graph")
