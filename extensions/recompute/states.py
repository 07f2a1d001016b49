"""The complete search for the cheapest program of a small graph, over all orders and repetitions of its operations."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from memplan.extensions.recompute.again import may_run_again
from memplan.extensions.recompute.core.kernels import LEAST, MOST_IN_STATE, NONE, LeastRuns, Reruns, least_work
from memplan.programs.operations.graph import OperationGraph
from memplan.programs.order.search.parts import flatten_lists
from memplan.solvers.core.tables import Reference
from memplan.solvers.search.control import Control

_MOST_COST = 2**50
_ENDLESS = 2**60
MOST_STATES = 100_000
"""The maximum number of states to visit, which takes about a second."""
_STEPS = 64
"""The maximum number of runs in a program, as a multiple of the number of operations."""
_WORK_PER_NODE = 200
_MOST_PAIRS = 8
"""The maximum number of an operation's outputs and overwritable inputs, because all their choices are searched."""


@dataclass(frozen=True)
class SearchResult:
    """The cheapest sequence of runs found, or None, and a lower bound on the cost of every sequence.

    The bound is None if no sequence is possible at any cost.
    """

    runs: tuple[int, ...] | None
    bound: int | None


def can_search(graph: OperationGraph, costs: Sequence[int]) -> bool:
    """Return True if a graph is small enough for a search over states."""
    is_small = max(len(graph.ops), len(graph.size)) <= MOST_IN_STATE
    return is_small and sum(costs) < _MOST_COST and max(map(len, overwriting_pairs(graph)), default=0) <= _MOST_PAIRS


def overwriting_pairs(graph: OperationGraph) -> list[list[tuple[int, int]]]:
    """Return, for each operation, the (output, input) pairs in which the output may overwrite the input.

    Unlike in a graph whose operations run once, the input may be needed later, because its maker may run again.
    """
    size, resident = graph.working_bytes, set(graph.resident)
    return [
        [
            (output, tensor)
            for output, tensor in dict.fromkeys((row.outputs[k], row.inputs[j]) for k, j in row.may_overwrite)
            if output in graph.new_tensors[v]
            and 0 < size[output] <= size[tensor]
            and tensor not in row.outputs
            and tensor not in resident
        ]
        for v, row in enumerate(graph.ops)
    ]


def reruns_of(graph: OperationGraph, costs: Sequence[int], order: Sequence[int] | None = None) -> Reruns:
    """Return the table of a graph for the compiled searches; operations are numbered by `order`, or as given."""
    order = range(len(graph.ops)) if order is None else order
    at = {v: k for k, v in enumerate(order)}
    kept = set(graph.kept)
    behind = may_run_again(graph)
    ops = [graph.ops[v] for v in order]
    input_first, inputs = flatten_lists(
        [
            sorted({*row.inputs, *row.outputs}.difference(graph.new_tensors[v]))
            for v, row in zip(order, ops, strict=True)
        ]
    )
    output_first, outputs = flatten_lists([graph.new_tensors[v] for v in order])
    before_first, before = flatten_lists([sorted(at[u] for u in graph.predecessors[v]) for v in order])
    behind_first, others = flatten_lists([sorted(at[w] for w in behind[v] or ()) for v in order])
    return Reruns(
        input_first=input_first,
        input=inputs,
        output_first=output_first,
        output=outputs,
        before_first=before_first,
        before=before,
        behind_first=behind_first,
        behind=others,
        is_again=np.array([behind[v] is not None for v in order], dtype=np.int64),
        work=np.array([row.work for row in ops], dtype=np.int64),
        cost=np.array([costs[v] for v in order], dtype=np.int64),
        size=np.array(graph.working_bytes, dtype=np.int64),
        maker=np.array([-1 if v is None else at[v] for v in graph.maker], dtype=np.int64),
        is_there=np.array([bool(row) or t in kept for t, row in enumerate(graph.readers)], dtype=np.int64),
        is_kept=np.array([t in kept for t in range(len(graph.size))], dtype=np.int64),
    )


def search_states(
    graph: OperationGraph,
    costs: Sequence[int],
    budget: int,
    most: int | None,
    control: Control,
    most_states: int = MOST_STATES,
) -> SearchResult:
    """Search at most `most_states` states for the cheapest runs within `budget` bytes and a cost of `most`."""
    limit = most_states
    if control.counts_work:
        limit = max(1, min(limit, int(control.work_left[0]) // _WORK_PER_NODE))
    answer = np.zeros(4, dtype=np.int64)
    run = np.zeros(_STEPS * max(1, len(graph.ops)), dtype=np.int64)
    pairs = overwriting_pairs(graph)
    over_first, outputs = flatten_lists([[output for output, _ in row] for row in pairs])
    query = LeastRuns(
        budget=budget,
        most=_ENDLESS - 1 if most is None else most,
        node_limit=limit,
        over_first=over_first,
        over_output=outputs,
        over_input=flatten_lists([[tensor for _, tensor in row] for row in pairs])[1],
        run=run,
        answer=answer,
        flag=control.raised,
    )
    outcome = least_work(Reference(reruns_of(graph, costs)), Reference(query))
    steps, cost, bound, nodes = answer.tolist()
    control.spend(_WORK_PER_NODE * nodes)
    if outcome == LEAST:
        return SearchResult(tuple(run[:steps].tolist()), cost)
    return SearchResult(None, None if outcome == NONE and bound >= _ENDLESS else bound)
