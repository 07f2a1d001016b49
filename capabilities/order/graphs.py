"""The common parts of questions about graphs of operations: options about their order, and a way to read them."""

from __future__ import annotations

from pydantic import Field

from memplan.capabilities.capability import SearchOptions, Seconds
from memplan.capabilities.order.search.solve import TIME_LIMIT_S
from memplan.capabilities.question import Question
from memplan.capabilities.reading import Reader
from memplan.planner.operations.graph import OperationGraph
from memplan.planner.operations.graph_variants import with_overwriting, with_resident_counted


class GraphOptions(SearchOptions):
    """The options of capabilities that change the order of operations."""

    time_limit_s: Seconds = Field(TIME_LIMIT_S, description="Seconds until the answer, all in all.")
    count_resident: bool = Field(False, description="Count weights, too: they lie in the memory that is planned.")
    in_place: bool = Field(False, description="Operations that go element by element may write over their inputs.")

    def variant(self, graph: OperationGraph) -> OperationGraph:
        """Return the graph as these options take it."""
        counted = with_resident_counted(graph) if self.count_resident else graph
        return with_overwriting(counted) if self.in_place else counted


def unaligned_graph(reader: Reader, data: bytes, name: str, _question: Question) -> OperationGraph:
    """Return the graph in a file; the alignment is the search's, which would round what a reader has rounded."""
    reader.options = reader.options.model_copy(update={"alignment": None})
    return reader.graph(data, name)
