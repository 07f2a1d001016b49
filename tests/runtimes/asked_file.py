"""A file with cached answers to questions about it, and live peaks that are computed without memplan's code."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from memplan.planner.errors import InputError
from memplan.planner.foreign.imported import ImportedProblem
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.foreign.reading import detect, read_model, read_problem
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.programs.lifetimes.ordered import problem_of_order
from memplan.programs.models.imported_program import ImportedProgram
from memplan.programs.models.model_graph import graph_of_imported, is_graph, read_model_graph
from memplan.programs.operations.graph import OperationGraph
from memplan.programs.order.answer import OrderAnswer
from memplan.programs.order.options import OrderOptions
from memplan.programs.order.order import order
from memplan.questions.plan.plan import PlanOptions, plan
from memplan.questions.reading import ReadOptions

SECONDS = 2.0
PROVED = "optimal"
A = TypeVar("A")


def live_peak(problem: Problem) -> int:
    """Return the peak of live bytes of a problem. An alias adds no bytes, but extends the lifetime of its root."""
    size = {row.id: row.size for row in problem.buffers}
    root = {row.id: row.id if row.alias_of is None else row.alias_of for row in problem.buffers}
    events: dict[int | str, list[tuple[int, int]]] = {}
    for row in problem.buffers:
        home = row.id
        while root[home] != home:
            home = root[home]
        events.setdefault(home, []).extend(row.intervals)
    times = sorted({start for spans in events.values() for start, _ in spans})
    alive = ([name for name, spans in events.items() if any(a <= t < b for a, b in spans)] for t in times)
    return max((sum(size[name] for name in names) for names in alive), default=0)


def graph_peak(graph: OperationGraph, order: Sequence[int]) -> int:
    """Return the live peak of an order of operations, including workspaces; inputs are alive from the start."""
    size = [0 if t in set(graph.resident) else bytes_ for t, bytes_ in enumerate(graph.size)]
    made = {t for row in graph.ops for t in row.outputs}
    first = dict.fromkeys([t for t in range(len(size)) if t not in made or t in graph.given], -1)
    last = dict(first)
    for k, v in enumerate(order):
        row = graph.ops[v]
        for t in (*row.inputs, *row.outputs):
            first.setdefault(t, k)
            last[t] = k
    last |= dict.fromkeys(graph.kept, len(order))
    work = [0, *(graph.ops[v].work for v in order), 0]
    return max(sum(size[t] for t in first if first[t] <= k <= last[t]) + work[k + 1] for k in range(-1, len(order) + 1))


@dataclass
class AskedFile:
    """A file, the options for reading it, and cached answers to questions about it; `tally` counts events by name."""

    data: bytes
    name: str
    options: ModelOptions
    tally: Counter[str]
    refused: dict[str, str] = field(default_factory=dict)

    def answer_or_none(self, what: str, question: Callable[[], A]) -> A | None:
        """Return the answer to a question, or None if the question refuses the file, which is recorded and counted."""
        try:
            return question()
        except InputError as error:
            self.tally[f"{what} refused"] += 1
            self.refused[what] = str(error)
            return None

    def read_options(self) -> ReadOptions:
        return ReadOptions(**self.options.model_dump(exclude_defaults=True))

    @cached_property
    def imported_file(self) -> ImportedProblem:
        """The content of the file (a model, a graph of operations, or a problem) as an imported problem."""
        if detect(self.data, self.name) is not None:
            return read_model(self.data, self.name, self.options)
        if is_graph(self.data):
            graph = read_model_graph(self.data, self.name).graph
            return ImportedProblem(problem_of_order(graph, range(len(graph.ops))))
        problem, imported = read_problem(self.data, self.name)
        return imported or ImportedProblem(problem)

    @cached_property
    def live_bytes(self) -> int:
        return live_peak(self.imported_file.problem)

    @property
    def is_plain(self) -> bool:
        """True if the problem has one pool, and no two buffers may share bytes while both are alive."""
        problem = self.imported_file.problem
        are_tied = problem.may_share or any(row.relative is not None for row in problem.buffers)
        return len(problem.pools) == 1 and not are_tied

    @property
    def is_flat(self) -> bool:
        """True if no operation has regions, so that lifetimes are exactly those that the graph states."""
        return self.graph is None or not any(row.regions for row in self.graph.ops)

    def is_consistent_peak(self, found: int, said: int) -> bool:
        """Return True if a computed peak equals the stated one or, if operations have regions, does not exceed it."""
        return found == said if self.is_flat else found <= said

    @cached_property
    def plan(self) -> Plan:
        return plan(self.imported_file.problem, options=PlanOptions(time_limit_s=SECONDS, deterministic=True))

    @cached_property
    def graph(self) -> OperationGraph | None:
        if is_graph(self.data):
            return read_model_graph(self.data, self.name).graph
        return None if not isinstance(self.imported_file, ImportedProgram) else self._graph()

    def _graph(self) -> OperationGraph | None:
        return self.answer_or_none("graph", lambda: graph_of_imported(self.imported_file).graph)

    @cached_property
    def order_answer(self) -> OrderAnswer | None:
        graph = self.graph
        if graph is None:
            return None
        options = OrderOptions(time_limit_s=SECONDS, deterministic=True, goal="placed")
        return self.answer_or_none("order", lambda: order(graph, options))
