"""Random problems from a seed, with any number of buffers and every feature that packing must respect."""

from typing import Any

import numpy as np

from memplan.planner.model.problem import Problem


def random_problem(
    seed: int, n: int, features: frozenset[str] = frozenset(), capacity: int | None = None, unit: int = 1
) -> Problem:
    """Return a random problem of `n` buffers; sizes are multiples of `unit`, at most 12 of them.

    `features` are those of the registry: holes, conflicts, pools, alignment, pins, reserved, cost. Pins are at rising
    offsets, so that they never collide. The last pool is unlimited unless a `capacity` is given.
    """
    rng = np.random.default_rng(seed)
    names = ["fast", "middle", "slow"] if "pools" in features else ["only"]
    pools: list[dict[str, Any]] = [{"name": name, "size": 20 * unit * (k + 1)} for k, name in enumerate(names)]
    pools[-1]["size"] = capacity
    for k, pool in enumerate(pools):
        if "alignment" in features:
            pool["alignment"], pool["base_address"] = int(rng.choice([1, 2, 3])), int(rng.integers(0, 9))
            pool["device"] = k  # each device has separate addresses
        if "reserved" in features:
            low = unit * int(rng.integers(1, 9))
            pool["reserved"] = [[low, unit * int(rng.integers(1, 4))], [low + 7 * unit, unit]]
        if "cost" in features:
            pool["cost"] = 1 + 4 * k
    buffers = [_random_buffer(rng, i, n, features, pools, unit) for i in range(n)]
    pairs = [[int(a), int(b)] for a, b in rng.integers(0, n, (n if "conflicts" in features else 0, 2)) if a != b]
    objective = "cost" if "cost" in features else "peak"
    return Problem.model_validate({"buffers": buffers, "pools": pools, "conflicts": pairs, "objective": objective})


def _random_buffer(
    rng: np.random.Generator, i: int, n: int, features: frozenset[str], pools: list[dict[str, Any]], unit: int
) -> dict[str, Any]:
    names, last = [pool["name"] for pool in pools], pools[-1]
    start = int(rng.integers(0, n))
    row: dict[str, Any] = {"id": i, "size": unit * int(rng.integers(1, 13))}
    if "conflicts" in features and rng.random() < 0.2:
        pass  # only explicit pairs restrict it
    elif "holes" in features and rng.random() < 0.4:
        cuts = start + np.cumsum(rng.integers(1, 2 + n // 8, 6))
        row["lifetimes"] = [[int(cuts[k]), int(cuts[k + 1])] for k in (0, 2, 4)]
    else:
        long_lived = rng.random() < 0.1
        row["start"], row["end"] = start, start + int(rng.integers(1, n if long_lived else 2 + n // 5))
    if "alignment" in features:
        row["alignment"] = int(rng.choice([1, 1, 2, 4, 6]))
    if "pools" in features and rng.random() < 0.3:
        row["pools"] = [names[-1], *names[: int(rng.integers(0, 2))]]
    if "pins" in features and i % 9 == 0:
        pin = 12 * (40 + i) * unit
        pin += -(pin + last.get("base_address", 0)) % last.get("alignment", 1)
        row.update(offset=pin, pools=[last["name"]], alignment=1)
    return row
