"""Small problems from a seed whose pairs cost something where they share bytes, in pools that are nearly too small."""

from __future__ import annotations

import random
from typing import Any

from memplan.planner.model.problem import Problem

RULES = ("alignment", "base", "reserved", "conflicts", "pins", "holes", "one size", "pools", "banks", "hard banks")


def priced_problem(seed: int, most: int = 6) -> Problem:
    """Return a problem of three to `most` buffers in one pool each; other rules with a chance of 3 in 10 each."""
    rng = random.Random(seed)
    asked = {rule for rule in RULES if rng.random() < 0.3}
    n, unit, size = rng.randint(3, most), rng.choice((1, 1, 4)), rng.randint(1, 5)
    names = ["near", "far"] if "pools" in asked else ["near"]
    rows = [_row(rng, k, asked, unit, size, names) for k in range(n)]
    pools = [_pool(rng, name, asked, rows, unit) for name in names]
    free = [row["id"] for row in rows if "offset" not in row]
    pairs = [[a, b] for a in range(n) for b in range(a) if rng.random() < 0.7]
    data: dict[str, Any] = {"buffers": rows, "pools": pools, "objective": "cost"}
    if "banks" in asked:
        data["bank"] = [{"buffers": pair, "weight": rng.choice((1, 2.5))} for pair in pairs]
    else:
        cut = rng.randint(0, len(pairs))
        shares = ((pairs[:cut], 1), (pairs[cut:], rng.choice((1, 3))))
        data["reuse"] = [{"pairs": some, "cost": cost} for some, cost in shares if some]
    if "conflicts" in asked and len(free) > 1:
        data["conflicts"] = [rng.sample(free, 2) for _ in range(2)]
    if "hard banks" in asked and len(free) > 1:
        data["bank"] = [*data.get("bank", ()), {"buffers": rng.sample(free, 2)}]
    return Problem.model_validate(data)


def _row(rng: random.Random, k: int, asked: set[str], unit: int, size: int, names: list[str]) -> dict[str, Any]:
    start = rng.randint(0, 6)
    row: dict[str, Any] = {"id": k, "size": unit * (size if "one size" in asked else rng.randint(1, 5))}
    row["pools"] = [rng.choice(names)]
    if "holes" in asked and rng.random() < 0.3:
        row["lifetimes"] = [[start, start + 1], [start + 2, start + 3]]
    else:
        row |= {"start": start, "end": start + rng.randint(1, 2)}
    if "alignment" in asked and rng.random() < 0.6:
        row["alignment"] = rng.choice((2, 3, 4))
    if "pins" in asked and rng.random() < 0.15:
        row |= {"offset": unit * rng.randint(0, 4), "alignment": 1}
    return row


def _pool(rng: random.Random, name: str, asked: set[str], rows: list[dict[str, Any]], unit: int) -> dict[str, Any]:
    times = range(10)
    load = max(
        sum(
            row["size"]
            for row in rows
            if any(low <= t < high for low, high in row.get("lifetimes", [[row.get("start"), row.get("end")]]))
            and row["pools"] == [name]
        )
        for t in times
    )
    pool: dict[str, Any] = {
        "name": name,
        "size": max(load, unit) + unit * rng.choice((0, 1, 1, 2, 4, 6)),
        "device": name,
    }
    if "reserved" in asked:
        pool["reserved"] = [[unit * rng.randint(0, 6), rng.randint(1, 3)]]
        pool["size"] += 3
    if "base" in asked:
        pool["base_address"] = rng.randint(0, 5)
    if asked & {"banks", "hard banks"}:
        pool["bank_size"] = rng.choice((unit, unit, 2 * unit, 3))
    return pool
