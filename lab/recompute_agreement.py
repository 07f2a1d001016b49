"""Compare least extra work with brute force: `python -m lab.recompute_agreement [COUNT [SEED]] [--limits 20]`.

For each random graph, memplan searches programs, in which operations may run again, within memory limits from the
graph's peak down to the need of one operation. A lower limit must never cost less, and no answer may be worse than a
point of another answer. A search of all programs must confirm infeasible limits, least costs and bounds. With `--layers
N`, the graphs are training chains of N layers, without that search. The tests try a few graphs.
"""

import random
import sys
from collections import Counter
from collections.abc import Iterator

from lab.support.cases import run_cases
from memplan.extensions.recompute.tests.recompute_oracle import min_extra_cost
from memplan.programs.operations.costs import costs_of
from memplan.programs.operations.graph import OperationGraph
from memplan.programs.operations.order_check import peak_of
from memplan.programs.order.answer import Recomputed
from memplan.programs.order.options import OrderOptions
from memplan.programs.order.order import order
from memplan.programs.order.search.solve import bound_unsearched
from tests.support.operation_graphs import plain_graph, training_chain


def draw(seed: int, layers: int) -> OperationGraph:
    """Return a training chain of `layers` layers; for 0, a chain of four or a random graph of five operations."""
    rng = random.Random(seed)
    if layers:
        return training_chain(rng, layers)
    return training_chain(rng, 4) if seed % 2 else plain_graph(rng, 5)


def faults(seed: int, tally: Counter[str], limits: int = 20, layers: int = 0) -> Iterator[str]:
    """Yield a line for each answer about a random graph that is wrong or contradicts another answer."""
    graph = draw(seed, layers)
    peak, least = peak_of(graph, range(len(graph.ops))), bound_unsearched(graph)[0]
    answers = {
        limit: _answer_within(graph, limit) for limit in {peak - (peak - least) * k // limits for k in range(limits)}
    }
    points = [point for answer in answers.values() for point in answer.points]
    for limit, answer in sorted(answers.items()):
        tally["limits"] += 1
        best = min((point.extra_cost for point in points if point.peak <= limit), default=None)
        if best != (answer.extra_cost if answer.is_within else None):
            yield f"{limit}: {answer.extra_cost if answer.is_within else 'nothing'}, another answer has {best}"
        if not layers:
            yield from (f"{limit}: {fault}" for fault in _faults_by_enumeration(graph, limit, answer, tally))


def _answer_within(graph: OperationGraph, limit: int) -> Recomputed:
    found = order(graph, OrderOptions(recompute=True, within=limit, time_limit_s=5, deterministic=True)).recomputed
    assert found is not None
    return found


def false_claims(answer: Recomputed, least: int | None) -> Iterator[str]:
    """Yield each claim of an answer that contradicts `least`, the least extra cost (None if no program fits)."""
    if answer.has_none and least is not None:
        yield f"said to be none, where {least} is the least"
    if least is not None and answer.extra_cost_lower_bound > least:
        yield f"said to be at least {answer.extra_cost_lower_bound}, where {least} is the least"
    if answer.is_within and (least is None or answer.extra_cost < least):
        yield f"{answer.extra_cost} is less than the least, {least}"


def _faults_by_enumeration(graph: OperationGraph, limit: int, answer: Recomputed, tally: Counter[str]) -> Iterator[str]:
    """Yield the claims of an answer that a search of all programs refutes."""
    costs = costs_of(graph)
    least = min_extra_cost(graph, costs, limit)
    tally["none"] += answer.has_none
    yield from false_claims(answer, least)
    tally["least and proved"] += answer.is_within and answer.extra_cost == answer.extra_cost_lower_bound
    tally["above the least"] += answer.is_within and answer.extra_cost != least
    for point in answer.points[:-1]:
        of_peak = min_extra_cost(graph, costs, point.peak)
        if of_peak is None or point.extra_cost_lower_bound > of_peak:
            yield f"a point at {point.peak} of at least {point.extra_cost_lower_bound}, where {of_peak} is the least"


def main() -> int:
    """Run the comparison on random graphs, and return the exit status."""
    return run_cases("recompute_agreement", faults, count=250, limits=20, layers=0)


if __name__ == "__main__":
    sys.exit(main())
