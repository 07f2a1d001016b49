"""The accesses of a program's operations to its buffers and constants, in time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from memplan.planner.errors import OptionError
from memplan.planner.foreign.imported import BufferUses, ImportedProblem, merged_accesses
from memplan.programs.lifetimes.expansion import expand
from memplan.programs.lifetimes.ordered import problem_of_order
from memplan.programs.lifetimes.timeline import NOWHERE
from memplan.programs.operations.graph import OperationGraph
from memplan.programs.operations.operations import Operations

_READS, _WRITES = ("read", "update"), ("write", "update", "part", "scratch")


def uses_of(operations: Operations) -> Mapping[str, BufferUses]:
    """Return the accesses to each buffer that is not an alias, and to each constant, by id.

    The accesses of an alias count as those of its buffer. Constants, persistent buffers and inputs that are written are
    given, and the latter two kept. Other inputs may be put anywhere. Raises OptionError for branches and loops,
    where time has no order.
    """
    timeline = expand(operations)
    if timeline.whole.parts:
        rule = f"applies only to operations without branches and loops, got {timeline.whole.parts[0].path}"
        raise OptionError.from_rule("moves", rule, way="leave it out")
    uses: dict[str, BufferUses] = {}
    for root, row in enumerate(timeline.variables):
        if row.root != NOWHERE:
            continue
        accesses = []
        for member in (timeline.variables[i] for i in timeline.families[root]):
            for mark in member.marks:
                time = timeline.stretches[mark.stretch].start
                if 0 <= time < timeline.steps and not mark.is_passed:
                    accesses += [(time, False, member.size)] * (mark.action in _READS)
                    accesses += [(time, True, member.size)] * (mark.action in _WRITES)
        is_kept = row.is_persistent or (row.role == "input" and any(is_write for _, is_write, _ in accesses))
        is_given = row.role == "constant" or is_kept
        name = row.id
        if row.role == "constant":  # All calls of a function have the same constants.
            call = timeline.activations[row.activation]
            name = f"{call.function}{row.id.removeprefix(call.path)}"
            accesses += uses[name].accesses if name in uses else []
        uses[name] = BufferUses(merged_accesses(accesses), is_given, is_kept)
    return uses


@dataclass(frozen=True, eq=False)
class GraphProblem(ImportedProblem):
    """The problem of a graph whose operations run in an order."""

    graph: OperationGraph = field(kw_only=True)
    order: Sequence[int] = field(kw_only=True)

    @classmethod
    def in_order(cls, graph: OperationGraph, order: Sequence[int], alignment: int = 1) -> Self:
        """Return the problem of a graph's tensors, as `problem_of_order` does."""
        return cls(problem_of_order(graph, order, alignment=alignment), graph=graph, order=order)

    @property
    def uses(self) -> Mapping[str, BufferUses]:
        """The accesses of operations to tensors and workspaces, by id; raises OptionError for regions."""
        return uses_in_order(self.graph, self.order)


def uses_in_order(graph: OperationGraph, order: Sequence[int]) -> Mapping[str, BufferUses]:
    """Return the accesses to a graph's tensors and workspaces if its operations run in an order, by id.

    Step k of the order is time step k. Raises OptionError for operations with regions.
    """
    at = {operation: time for time, operation in enumerate(order)}
    uses: dict[str, BufferUses] = {}
    for operation, time in at.items():
        if graph.ops[operation].regions:
            rule = f"applies only to operations without regions, got regions of operation {operation}"
            raise OptionError.from_rule("moves", rule, way="leave it out")
        uses[f"work_{operation}"] = BufferUses([(time, True, graph.ops[operation].work)])
    for tensor, size in enumerate(graph.size):
        maker = graph.maker[tensor]
        accesses = [(at[reader], False, size) for reader in graph.readers[tensor]]
        accesses += [] if maker is None else [(at[maker], True, size)]
        uses[f"tensor_{tensor}"] = BufferUses(merged_accesses(accesses))
    return uses
