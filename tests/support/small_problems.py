"""Small tight problems from a seed, with every feature, some of them infeasible, for engines and brute force."""

import random
from typing import Any

from memplan.planner.model.problem import Problem

FEATURES = ("alignment", "base", "pins", "reserved", "capacity", "holes", "conflicts", "choice", "cost", "twins")


def small_problems(seed: int, count: int, most: int = 5) -> list[Problem]:
    """Return `count` problems of at most `most` buffers; each feature is used with a probability of 3 in 10."""
    rng = random.Random(seed)
    return [_problem(rng, rng.randint(2, most)) for _ in range(count)]


def _problem(rng: random.Random, n: int) -> Problem:
    features = {feature for feature in FEATURES if rng.random() < 0.3}
    names = rng.choice((["m0"], ["m0"], ["m0", "m1"]))
    pools = [_pool(rng, name, features, is_small=name != names[-1]) for name in names]
    buffers = [_buffer(rng, i, features, names) for i in range(n)]
    conflicts = [rng.sample(range(n), 2) for _ in range(rng.randint(0, 5) if "conflicts" in features else 0)]
    data: dict[str, Any] = {"buffers": buffers, "pools": pools, "conflicts": conflicts}
    return Problem.model_validate({**data, "objective": "cost" if "cost" in features else "peak"})


def _pool(rng: random.Random, name: str, features: set[str], is_small: bool) -> dict[str, Any]:
    pool: dict[str, Any] = {"name": name}
    if "alignment" in features:
        pool["alignment"] = rng.choice((1, 2, 3, 4))
    if "base" in features:
        pool["base_address"], pool["device"] = rng.choice((0, 1, 2, 4, 6)), name
    if "reserved" in features:
        pool["reserved"] = [(rng.randint(0, 12), rng.randint(1, 4)) for _ in range(rng.randint(0, 2))]
    if is_small or "capacity" in features:
        pool["size"] = rng.randint(4, 22)
    if "cost" in features:
        pool["cost"] = rng.choice((0, 1, 2, 2.5, 10, 0.1))
    return pool


def _buffer(rng: random.Random, i: int, features: set[str], names: list[str]) -> dict[str, Any]:
    start = rng.randint(0, 5)
    row: dict[str, Any] = {"id": i, "size": rng.randint(1, 9), "start": start, "end": start + rng.randint(1, 5)}
    if "twins" in features:
        row.update(size=rng.choice((2, 3)), start=start % 2, end=3)
    if "conflicts" in features and rng.random() < 0.3:
        del row["start"], row["end"]
    elif "holes" in features and rng.random() < 0.5:
        first, second, third, fourth = sorted(rng.sample(range(9), 4))
        del row["start"], row["end"]
        row["lifetimes"] = [(first, second), (third, fourth)]
    if "alignment" in features:
        row["alignment"] = rng.choice((1, 2, 3, 4, 8))
    if "pins" in features and rng.random() < 0.25:
        row.update(offset=rng.randint(0, 10), pools=[rng.choice(names)])
    elif "choice" in features and rng.random() < 0.4:
        row["pools"] = [rng.choice(names)]
    if "cost" in features:
        row["traffic"] = rng.randint(0, 20)
    return row
