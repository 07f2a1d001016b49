"""Small problems from a seed in some pools, whose costs count: prices of pools, of shared bytes and of banks."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from memplan.planner.model.problem import Problem


def several_pools(
    seed: int, objective: object = "peak", most: int = 5, pool_counts: Sequence[int] = (2, 2, 3)
) -> Problem:
    """Return a problem of two to `most` buffers in at most three pools; each rule with a chance of 3 in 10."""
    rng = random.Random(seed)
    names = ["fast", "mid", "slow"][: rng.choice(pool_counts)]
    has = {rule for rule in ("alignment", "sizes", "costs", "banks", "choice", "conflicts") if rng.random() < 0.3}
    count = rng.randint(2, most)
    rows = [_row(rng, k, has, names) for k in range(count)]
    pools: list[dict[str, Any]] = [{"name": name} for name in names]
    for k, pool in enumerate(pools):
        if "sizes" in has and k + 1 < len(pools):
            pool["size"] = rng.randint(2, 12)
        if "costs" in has:
            pool["cost"] = rng.choice((0, 0, 1, 2.5))
        if "banks" in has and rng.random() < 0.7:
            pool["bank_size"] = rng.choice((2, 3, 4))
    pairs = [[a, b] for a in range(count) for b in range(a) if rng.random() < 0.6] or [[0, 1]]
    data: dict[str, Any] = {"buffers": rows, "pools": pools, "objective": objective}
    if rng.random() < 0.7:
        cut = rng.randint(0, len(pairs))
        shares = ((pairs[:cut], 1), (pairs[cut:], rng.choice((1, 3, 7))))
        data["reuse"] = [{"pairs": some, "cost": cost} for some, cost in shares if some]
    if "banks" in has:
        entry = {"buffers": rng.choice(pairs)}
        data["bank"] = [entry | rng.choice(({}, {"weight": 1}, {"weight": 2.5}))]
    if "conflicts" in has:
        data["conflicts"] = [rng.choice(pairs)]
    return Problem.model_validate(data)


def _row(rng: random.Random, k: int, has: set[str], names: list[str]) -> dict[str, Any]:
    start = rng.randint(0, 3)
    row: dict[str, Any] = {"id": k, "size": rng.randint(1, 6), "start": start, "end": start + rng.randint(1, 2)}
    if "alignment" in has:
        row["alignment"] = rng.choice((1, 1, 2, 4))
    if "choice" in has and rng.random() < 0.4:
        row["pools"] = rng.sample(names, rng.randint(1, len(names)))
    return row
