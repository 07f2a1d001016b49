"""What a bump allocator adds to memplan: its logs, its planner, a question and a constraint kind."""

from memplan.questions import Row

COUNT = Row("count", package=__name__, help="Count buffers.")
