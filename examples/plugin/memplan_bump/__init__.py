"""A memplan plugin: a reader of a bump allocator's logs, its planner, a solver, a question and a constraint kind."""

from memplan.questions import Row

COUNT = Row("memplan_bump.count:QUESTION", help="Count buffers.")
