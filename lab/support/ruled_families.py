"""Small random problems whose constraints often raise the optimum above the lower bound; see `lab.families`."""

from typing import Any

import numpy as np

from lab.support.memory_rules import apply_rules
from memplan.planner.model.problem import Problem

_FAST = 0.5
"""The size of the fast memory, as a fraction of the peak of live bytes."""


def loose_problem(seed: int, n: int = 40, life: float = 4.0, high: int = 60) -> Problem:
    """Return a problem with random sizes of 3 to `high` - 1 bytes and lifetimes of about `life` steps."""
    return Problem.model_validate({"buffers": _buffer_rows(np.random.default_rng(seed), n, life, high)})


def aligned_problem(seed: int, n: int = 20, life: float = 5.0, high: int = 60) -> Problem:
    """Return a problem with random alignments of 1 to 16 bytes; sizes need not be multiples of them."""
    rng = np.random.default_rng(seed)
    rows = _buffer_rows(rng, n, life, high)
    for row, alignment in zip(rows, rng.choice([1, 1, 2, 4, 8, 16], n).tolist(), strict=True):
        row["alignment"] = alignment
    return Problem.model_validate({"buffers": rows})


def conflicting_problem(seed: int, n: int = 20, density: float = 0.4, high: int = 30) -> Problem:
    """Return a problem without lifetimes in which any two buffers conflict with probability `density`."""
    rng = np.random.default_rng(seed)
    rows = [{"id": i, "size": int(size)} for i, size in enumerate(rng.integers(3, high, n))]
    pairs = [(i, j) for j in range(n) for i in range(j) if rng.random() < density]
    return Problem.model_validate({"buffers": rows, "conflicts": pairs})


def costly_problem(seed: int, n: int = 20, life: float = 5.0, high: int = 60) -> Problem:
    """Return a problem of two memories with costs of 1 and 6 per byte; the fast one holds half of the live peak."""
    rng = np.random.default_rng(seed)
    rows = _buffer_rows(rng, n, life, high)
    for row, accesses in zip(rows, rng.integers(1, 9, n).tolist(), strict=True):
        row["traffic"] = accesses * row["size"]
    most = max(sum(row["size"] for row in rows if row["start"] <= at < row["end"]) for at in range(n))
    pools = [{"name": "fast", "size": max(high, int(_FAST * most)), "cost": 1.0}, {"name": "slow", "cost": 6.0}]
    return Problem.model_validate({"buffers": rows, "pools": pools, "objective": "cost"})


def memories_problem(seed: int, n: int = 1000, coarse: int = 0, slower: int = 1, rules: str = "") -> Problem:
    """Return a problem with a memory of 64 KiB at no cost, `slower` memories of 96 KiB, and an unlimited one.

    Later memories cost more per byte. In each step, a buffer starts that is alive for 2 to 20 steps; `coarse` percent
    of the buffers are aligned to 4,096 bytes, all others to 64. `rules` adds names of `memory_rules`, joined by `+`.
    """
    rng, rows = np.random.default_rng(seed), []
    sizes, lives = (64 * rng.integers(1, 260, n)).tolist(), rng.choice([2, 3, 3, 4, 5, 8, 20], n).tolist()
    for k, (size, life, accesses) in enumerate(zip(sizes, lives, rng.choice([1, 1, 2, 3], n).tolist(), strict=True)):
        alignment = 4096 if rng.integers(100) < coarse else 64
        rows.append({"id": f"b{k}", "size": size, "start": k, "end": k + life, "alignment": alignment})
        rows[-1]["traffic"] = accesses * size
    middle = [{"name": f"sram{k}", "size": 98304, "cost": 4.0 * (k + 1)} for k in range(slower)]
    pools = [{"name": "tcm", "size": 65536}, *middle, {"name": "dram", "cost": 20.0}]
    data = {"buffers": rows, "pools": pools, "objective": "cost"}
    return Problem.model_validate(apply_rules(data, rules, seed))


def banked_problem(seed: int, n: int = 12, life: float = 4.0, high: int = 24) -> Problem:
    """Return a problem with 16-byte banks, where half of the pairs with overlapping lifetimes must not share a bank."""
    rng = np.random.default_rng(seed)
    rows = _buffer_rows(rng, n, life, high)
    meeting = [
        (i, j)
        for j, late in enumerate(rows)
        for i, early in enumerate(rows[:j])
        if max(early["start"], late["start"]) < min(early["end"], late["end"])
    ]
    pairs = [pair for pair in meeting if rng.random() < 0.5]
    return Problem.model_validate(
        {
            "buffers": rows,
            "pools": [{"name": "sram", "bank_size": 16}],
            "bank": [{"buffers": list(pair)} for pair in pairs],
        }
    )


def _buffer_rows(rng: np.random.Generator, n: int, life: float, high: int) -> list[dict[str, Any]]:
    starts, lives = rng.integers(0, max(1, n // 2), n).tolist(), rng.exponential(life, n).tolist()
    sizes = rng.integers(3, high, n).tolist()
    return [
        {"id": i, "size": size, "start": start, "end": start + 1 + int(long)}
        for i, (size, start, long) in enumerate(zip(sizes, starts, lives, strict=True))
    ]
