"""Files and programs with reordered operations, and the problems that result from the new orders."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from memplan.planner.errors import FormatError, OptionError, count_text
from memplan.planner.foreign import reading as importers
from memplan.planner.foreign.imported import ImportedProblem
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.formats import memplan_json
from memplan.planner.model.finding import Finding
from memplan.programs.inputs import read_operations_field
from memplan.programs.lifetimes.accesses import GraphProblem
from memplan.programs.lifetimes.analysis import analyse
from memplan.programs.models.imported_program import ImportedProgram
from memplan.programs.operations.graph import read_graph
from memplan.programs.operations.graph_facts import ProgramFacts
from memplan.programs.operations.operations import Operations
from memplan.programs.operations.program_graph import program_graph, remove_scopes
from memplan.programs.order.answer import OrderAnswer
from memplan.programs.order.placement import order_and_place, order_and_plan
from memplan.programs.order.search.regions import OrderedRegions
from memplan.solvers.search.control import Control


@dataclass(frozen=True)
class ReorderedFile:
    """The best order found for the operations in a file, as an answer with a plan, and the reordered program, if any.

    `warnings` has the findings from reading the file, and `in_order` returns the problem of an order with the accesses
    of its operations.
    """

    answer: OrderAnswer
    in_order: Callable[[Sequence[int]], ImportedProblem]
    warnings: tuple[Finding, ...] = ()

    @property
    def read(self) -> ImportedProblem:
        """The problem of the operations in their new order."""
        return self.in_order(self.answer.order)

    def facts(self) -> dict[str, Any]:
        """Return the fields of the answer and, if the file contains a program, the reordered operations."""
        facts = self.answer.model_dump()
        if isinstance(self.read, ImportedProgram):
            facts["operations"] = self.read.operations.model_dump(mode="json", exclude_defaults=True)
        return facts

    def lines(self) -> Iterator[str]:
        """Yield the lines of text that summarise the order."""
        answer = self.answer
        yield f"reordered: {answer.moves:,} of {count_text(len(answer.order), 'operation')} moved; "
        yield f"at most {answer.peak:,} bytes are alive, {answer.given_peak:,} in the given order"
        yield "" if answer.moved is None else f"; cost {answer.moved.sentence}"


def reorder(data: bytes, name: str, control: Control, options: ModelOptions | None = None) -> ReorderedFile:
    """Reorder the operations of a model, a program or a graph, so that its plan needs fewer bytes.

    Raises FormatError or OperationsError for an invalid file, and OptionError for a file without operations.
    """
    if importers.detect(data, name) is not None:
        imported = importers.read_model(data, name, options)
        if not isinstance(imported, ImportedProgram):
            raise OptionError("order: best applies only to a file with operations, got a file with lifetimes only")
        return replace(reorder_program(imported.operations, control, imported.facts), warnings=imported.warnings)
    fields = _json_fields(data)
    if "ops" in fields:
        answer = order_and_place(graph := read_graph(data), control, goal="placed")
        return ReorderedFile(answer, partial(GraphProblem.in_order, answer.ordered or graph))
    if "functions" not in fields:
        raise OptionError(
            "order: best applies only to a model, a program or a graph of operations, got a file without operations",
            way="leave it out",
        )
    return reorder_program(read_operations_field(fields), control)


def _json_fields(data: bytes) -> dict[str, Any]:
    try:
        value = memplan_json.parse(data)
    except FormatError:
        return {}
    return value if isinstance(value, dict) else {}


def reorder_program(operations: Operations, control: Control, facts: ProgramFacts | None = None) -> ReorderedFile:
    """Reorder the statements of a program's entry so that its buffers need fewer bytes, and plan these buffers.

    Buffers are then alive from their first to their last use, whatever `alloc` and `free` state. Branches, loops and
    called functions keep their inner order, and operations with effects stay in order. No operation overwrites an
    input, because a program does not state where that is allowed. Raises OperationsError for a program without a graph.
    """
    drawn = program_graph(remove_scopes(operations), facts)

    def program_in_order(order: Sequence[int]) -> ImportedProgram:
        reordered = drawn.reorder(order)
        return ImportedProgram(analyse(reordered).problem, operations=reordered)

    answer = order_and_plan(
        OrderedRegions(drawn.graph), lambda order: program_in_order(order).problem, "placed", control
    )
    return ReorderedFile(answer, program_in_order)
