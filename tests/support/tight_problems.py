"""Small problems that are hard for their size, because they are nearly full at all times."""

import random
from typing import Any

import numpy as np

from memplan.planner.model.problem import Problem

FEATURES = ("plain", "holes", "conflicts", "alignment", "one alignment", "pins", "reserved", "everything")


def tight_problem(seed: int, feature: str, capacity: int | None = None) -> Problem:
    """Return a problem of three to six buffers with one feature, or with all of them."""
    rng = np.random.default_rng([seed, FEATURES.index(feature)])
    asked = set(FEATURES) if feature == "everything" else {feature}
    buffers = [_buffer(rng, k, asked) for k in range(int(rng.integers(3, 7)))]
    pool: dict[str, Any] = {"name": "only", "size": capacity}
    if "reserved" in asked:
        pool["reserved"] = rng.integers(1, 6, (int(rng.integers(1, 3)), 2)).tolist()
    if "alignment" in asked:
        pool |= {"alignment": int(rng.choice([1, 2])), "base_address": int(rng.integers(0, 4)), "device": pool["name"]}
    pairs = [(a, b) for b in range(len(buffers)) for a in range(b) if rng.random() < 0.3]
    return Problem.model_validate(
        {"buffers": buffers, "pools": [pool], "conflicts": pairs if "conflicts" in asked else []}
    )


def _buffer(rng: np.random.Generator, k: int, asked: set[str]) -> dict[str, Any]:
    row: dict[str, Any] = {"id": k, "size": int(rng.integers(1, 6))}
    start = int(rng.integers(0, 4))
    end = start + int(rng.integers(1, 4))
    if "conflicts" in asked and rng.random() < 0.25:
        pass
    elif "holes" in asked and rng.random() < 0.5:
        again = end + int(rng.integers(1, 3))
        row["lifetimes"] = [(start, end), (again, again + 1)]
    else:
        row |= {"start": start, "end": end}
    if "alignment" in asked:
        row["alignment"] = int(rng.choice([1, 1, 2, 3, 4]))
    elif "one alignment" in asked:
        row["alignment"] = 4
    if "pins" in asked and rng.random() < 0.3:
        row["offset"] = 4 * int(rng.integers(0, 3))
    return row


def full_load(seed: int, n: int, height: int = 1000, live: int = 5) -> Problem:
    """Return about `n` buffers whose live bytes equal `height` at every time; the minimum peak is often higher."""
    rng = np.random.default_rng(seed)
    alive = [(0, size) for size in _pieces(rng, height, live)]
    rows: list[tuple[int, int, int]] = []
    time = 0
    while len(rows) + len(alive) < n:
        time += 1
        ending = set(rng.choice(len(alive), min(len(alive), int(rng.integers(1, 4))), replace=False).tolist())
        freed = sum(alive[k][1] for k in ending)
        rows += [(alive[k][0], time, alive[k][1]) for k in sorted(ending)]
        more = max(1, len(ending) + int(rng.integers(-1, 2)))
        alive = [row for k, row in enumerate(alive) if k not in ending]
        alive += [(time, size) for size in _pieces(rng, freed, more)]
    rows += [(start, time + 1, size) for start, size in alive]
    buffers = [{"id": k, "start": start, "end": end, "size": size} for k, (start, end, size) in enumerate(rows)]
    return Problem.model_validate({"buffers": buffers})


def _pieces(rng: np.random.Generator, total: int, count: int) -> list[int]:
    """Return up to `count` positive numbers that add up to `total`."""
    cuts = np.sort(rng.choice(np.arange(1, total), min(count, total) - 1, replace=False))
    return list(np.diff(np.concatenate(([0], cuts, [total]))).tolist())


def mixed_alignments(seed: int, n: int) -> Problem:
    """Return `n` buffers of at most 24 bytes aligned to 1, 2, 4 or 8; the minimum peak often exceeds all bounds."""
    rng = random.Random(seed)
    rows: list[dict[str, Any]] = []
    for k in range(n):
        start = rng.randrange(n)
        end = start + 1 + rng.randrange(max(2, n // 2))
        rows.append({"id": k, "start": start, "end": end, "size": rng.randint(1, 24)})
        rows[-1]["alignment"] = rng.choice([1, 2, 4, 8])
    return Problem.model_validate({"buffers": rows})
