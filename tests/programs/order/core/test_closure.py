import random
from itertools import combinations

import numpy as np
import pytest

from memplan.programs.order.core.kernels import CUT, close_cheaply
from memplan.programs.order.search.cuts import ENDLESS, FlowArcs
from memplan.solvers.core.tables import Reference
from tests.support.depth import seeds


@pytest.mark.drawn
def test_close_cheaply_finds_the_best_closed_set() -> None:
    for seed in seeds(60):
        rng = random.Random(seed)
        n = rng.randint(1, 7)
        needs = {v: [u for u in range(n) if u != v and rng.random() < 0.25] for v in range(n)}
        worth = [rng.randint(-9, 9) for _ in range(n)]
        every = (set(chosen) for count in range(n + 1) for chosen in combinations(range(n), count))
        closed = [chosen for chosen in every if all({*needs[v]} <= chosen for v in chosen)]
        best = max(sum(worth[v] for v in chosen) for chosen in closed)
        arcs = FlowArcs(n, [(v, u, ENDLESS) for v, row in needs.items() for u in row])
        gain, price = (np.maximum(sign * np.array(worth, dtype=np.int64), 0) for sign in (1, -1))
        network = arcs.network(gain, price, np.ones(n, dtype=np.bool_), np.zeros(1, dtype=np.int64))
        assert close_cheaply(Reference(network)) == CUT
        found = {v for v in range(n) if network.level[v] >= 0}
        assert found in closed, seed
        assert sum(worth[v] for v in found) == best, seed
