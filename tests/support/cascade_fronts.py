"""Fronts of chains of regions against all chains there are."""

from __future__ import annotations

import random

from memplan.solvers.cascade.front import front, front_of_three
from memplan.solvers.cascade.options import CascadeOptions
from memplan.solvers.cascade.search import RegionSearch
from tests.support.random_networks import random_network

Costs = tuple[int, ...]


def beats(one: Costs, other: Costs) -> bool:
    """Return True if one is another, and as good in everything."""
    return one != other and all(a <= b for a, b in zip(one, other, strict=True))


def fronts_differ(seed: int, most: int) -> list[str]:
    """Return which fronts of a random network's regions, `most` of them, are not those of all their chains."""
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
    got = [(chain.peak, chain.macs) for chain in front(found, n)]
    told = [] if got == _best(of_two) else ["two"]
    by_three = [(chain.peak, chain.macs, chain.traffic) for chain in front_of_three(found, n, 2**62)[0]]
    return told if by_three == _best(whole) else [*told, "three"]


def _best(points: set[Costs]) -> list[Costs]:
    return sorted((point for point in points if not any(beats(other, point) for other in points)), reverse=True)
