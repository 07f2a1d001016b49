"""Fronts of chains of cascade regions, compared with all chains that exist."""

import random
from itertools import combinations, product

import numpy as np

from memplan.extensions.cascade.access.access_graph import AccessGraph, driving_tensor
from memplan.extensions.cascade.core.kernels import KIND_AGAIN, KIND_ROWS
from memplan.extensions.cascade.regions.regions import CascadeRegion
from memplan.extensions.cascade.search.front import front_of_three, pareto_front
from memplan.extensions.cascade.search.options import WORST, CascadeOptions
from memplan.extensions.cascade.search.search import RegionSearch
from tests.support.cascade_twin import peak_of_region, region_of
from tests.support.random_networks import random_network, random_six

Costs = tuple[int, ...]


def beats(one: Costs, other: Costs) -> bool:
    return one != other and all(a <= b for a, b in zip(one, other, strict=True))


def fronts_differ(seed: int, most: int) -> list[str]:
    """Return the Pareto fronts of a random network's regions that miss a chain found by brute force."""
    rng = random.Random(seed)
    graph = random_network(rng, 3)
    n = len(graph.operations)
    options = CascadeOptions(input=rng.choice(["resident", "streamed"]), alignment=rng.choice([1, 16]))
    found = RegionSearch(graph, options).run()
    found = found[sorted(rng.sample(range(len(found)), min(most, len(found))))]
    chains: list[tuple[tuple[int, ...], int]] = [((), 0)]
    whole: set[Costs] = set()
    while chains:
        rows, at = chains.pop()
        if at == n:
            costs = found[list(rows), 2:5]
            whole.add((int(costs[:, 0].max()), int(costs[:, 1].sum()), int(costs[:, 2].sum())))
            continue
        chains += [((*rows, k), int(found[k, 1])) for k in range(len(found)) if found[k, 0] == at]
    of_two = {costs[:2] for costs in whole}
    got = [(chain.peak, chain.macs) for chain in pareto_front(found, n)]
    told = [] if got == _undominated_costs(of_two) else ["two"]
    by_three = [(chain.peak, chain.macs, chain.traffic) for chain in front_of_three(found, n, 2**62)[0]]
    return told if by_three == _undominated_costs(whole) else [*told, "three"]


def beaten(seed: int) -> list[Costs]:
    """Return the chains of row-striped regions of a random graph that dominate the found ones in peak and MACs.

    The costs of all intervals and stripe heights, rolled and recomputed, are enumerated.
    """
    rng = random.Random(seed)
    graph = random_six(rng)
    options = CascadeOptions(input=rng.choice(["resident", "streamed"]), output=rng.choice(["resident", "streamed"]))
    search, n = RegionSearch(graph, options), len(graph.operations)
    got = [(chain.peak, chain.macs) for chain in pareto_front(search.run(), n)]
    rows = search.layers().tolist()
    for first, end in combinations(range(n + 1), 2):
        inner = range(first, end - 1)
        read_early = [graph.readers[graph.operations[v].outputs[0]] for v in inner]
        is_striped = all(graph.operations[v].role == "striped" for v in inner)
        if not is_striped or graph.operations[end - 1].role == "barrier" or any(r and r[0] >= end for r in read_early):
            continue
        for height, kind in product(range(1, driving_tensor(graph, end - 1).rows) or (1,), (KIND_ROWS, KIND_AGAIN)):
            row = [first, end, 0, 0, 0, 0, kind, height, 0, 0]
            if _is_within(graph, region_of(graph, options, row)):
                peak, costs = peak_of_region(graph, options, row)
                rows.append([first, end, peak, *costs, *row[6:]])
    every = np.array(sorted(rows, key=lambda row: (row[1], row[0])), np.int64)
    points = [(chain.peak, chain.macs) for chain in pareto_front(every, n)]
    return [one for one in points if not any(other[0] <= one[0] and other[1] <= one[1] for other in got)]


def _is_within(graph: AccessGraph, region: CascadeRegion) -> bool:
    """Return True if a region and its smaller forms stay within the search's limit of multiplications."""
    macs = base = 0
    for v in reversed(range(region.first_operation, region.end)):
        made, once = region.ranges[v], graph.macs_of(v)
        area = sum(b - a for a, b in made.rows) * sum(b - a for a, b in made.columns)
        macs += once if graph.operations[v].role == "sum" else area * graph.operations[v].macs
        base += once
        if macs > int(WORST * base) + 1:
            return False
    return True


def _undominated_costs(points: set[Costs]) -> list[Costs]:
    return sorted((point for point in points if not any(beats(other, point) for other in points)), reverse=True)
