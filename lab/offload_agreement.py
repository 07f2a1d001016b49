"""Compare offloading over a link with brute force: `python -m lab.offload_agreement [COUNT [SEED]]`.

A link moves tensors out of memory and back. For each random graph and several speeds of the link, memplan searches
programs of least time within memory limits between the graph's peak and one byte below the least of all programs.
A search of all programs confirms infeasible limits, least times and bounds. An independent checker checks the steps.
"""

import json
import random
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

from lab.recompute_agreement import false_claims
from lab.support.cases import run_cases
from memplan.checkers import transfers
from memplan.extensions.recompute.tests.offload_oracle import min_time
from memplan.programs.operations.costs import costs_of
from memplan.programs.operations.graph import OperationGraph, write_graph
from memplan.programs.operations.order_check import bytes_after, peak_of
from memplan.programs.order.answer import Recomputed
from memplan.programs.order.options import OrderOptions
from memplan.programs.order.order import order
from memplan.programs.order.search.solve import bound_unsearched
from tests.support.operation_graphs import plain_graph, training_chain

_PARTS = (-1, 0, 30, 60)
"""The limits, in percent of the way from the least bytes of any program to the peak; -1 means one byte too few."""
_SPEEDS = (0.25, 0.5, 1, 3)
CHECKER: Any = transfers
"""The checker, typed as Any because it has no type annotations."""


def draw(seed: int) -> OperationGraph:
    """Return a training chain of two or three layers, or a random graph, with small costs."""
    rng = random.Random(seed)
    graph = training_chain(rng, 2 + (seed % 8 == 1)) if seed % 2 else plain_graph(rng, 4)
    ops = tuple(row.model_copy(update={"cost": rng.randint(0, 6)}) for row in graph.ops)
    return graph.model_copy(update={"ops": ops})


def faults(seed: int, tally: Counter[str]) -> Iterator[str]:
    """Yield a line for each claim of an answer that a search of all programs refutes."""
    graph, rng = draw(seed), random.Random(seed)
    costs, count = costs_of(graph), range(len(graph.ops))
    link = rng.choice(_SPEEDS) * max(1, sum(graph.size) / max(1, len(graph.size)))
    peak, floor = peak_of(graph, count), max(bound_unsearched(graph)[0], bytes_after(graph, count))
    part = rng.choice(_PARTS)
    limit = max(0, floor - 1 if part < 0 else floor + (peak - floor) * part // 100)
    answer = _answer_within(graph, link, limit)
    least = min_time(graph, costs, link, limit)
    extra = None if least is None else least - sum(costs)
    tally["none"] += answer.has_none
    tally["least and proved"] += answer.is_within and answer.extra_cost == answer.extra_cost_lower_bound
    tally["sent"] += bool(answer.points[-1].steps)
    yield from (f"{limit}: {fault}" for fault in false_claims(answer, extra))
    tally["above the least"] += extra is not None and not (answer.is_within and answer.extra_cost == extra)
    yield from unsound_points(graph, link, answer)


def unsound_points(graph: OperationGraph, link: float, answer: Recomputed) -> Iterator[str]:
    """Yield a line for each point (program found) of an answer if its peak or time differs from the checker's."""
    for point in answer.points:
        if point.steps:
            steps = json.dumps([step.model_dump() for step in point.steps])
            found = CHECKER.check(write_graph(graph).decode(), steps, repr(link))
            if found != (point.live_peak, answer.cost + point.extra_cost):
                yield f"{point.live_peak} bytes in {answer.cost + point.extra_cost}, of which the checker says {found}"


def _answer_within(graph: OperationGraph, link: float, limit: int) -> Recomputed:
    options = OrderOptions(recompute=True, link=link, within=limit, time_limit_s=2, deterministic=True)
    found = order(graph, options).recomputed
    assert found is not None
    return found


def main() -> int:
    """Run the comparison on random graphs, and return the exit status."""
    return run_cases("offload_agreement", faults, count=300)


if __name__ == "__main__":
    sys.exit(main())
