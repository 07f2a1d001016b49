"""Cascade: operations run in stripes; the memory that this saves and what it costs, each point a verified plan."""

from memplan.questions import Row, Search

CASCADE = Row(
    "cascade",
    command="memplan.extensions.cascade.command",
    panel="Networks",
    document="cascades.md",
    help="Run the operations of a network in stripes, which needs less memory, and show what each saving costs.",
    package=__name__,
)
REPAIRS_OF_GRAPH = Search("memplan.extensions.cascade.order_repairs:repairs_of_graph")
HINT = Search("memplan.extensions.cascade.hint:cascade_hint")
