"""Families of small drawn problems, whose constraints often raise the optimum above the bound; see `lab.families`."""

from __future__ import annotations

from typing import Any

import numpy as np

from memplan.planner.model.problem import Problem

_FAST = 0.5
"""The size of a fast memory, as a fraction of the live peak."""


def loose_problem(seed: int, n: int = 40, life: float = 4.0, high: int = 60) -> Problem:
    """Draw sizes below sixty bytes, and lifetimes of some four steps."""
    return Problem.model_validate({"buffers": _buffer_rows(np.random.default_rng(seed), n, life, high)})


def aligned_problem(seed: int, n: int = 20, life: float = 5.0, high: int = 60) -> Problem:
    """Draw alignments from 1 to 16, of which sizes are no multiples, and lifetimes of some five steps."""
    rng = np.random.default_rng(seed)
    rows = _buffer_rows(rng, n, life, high)
    for row, alignment in zip(rows, rng.choice([1, 1, 2, 4, 8, 16], n).tolist(), strict=True):
        row["alignment"] = alignment
    return Problem.model_validate({"buffers": rows})


def conflicting_problem(seed: int, n: int = 20, density: float = 0.4, high: int = 30) -> Problem:
    """Draw conflicts without lifetimes: any two buffers are in conflict with probability `density`."""
    rng = np.random.default_rng(seed)
    rows = [{"id": i, "size": int(size)} for i, size in enumerate(rng.integers(3, high, n))]
    pairs = [(i, j) for j in range(n) for i in range(j) if rng.random() < density]
    return Problem.model_validate({"buffers": rows, "conflicts": pairs})


def costly_problem(seed: int, n: int = 20, life: float = 5.0, high: int = 60) -> Problem:
    """Draw two memories, of which the fast one has room for half of the live peak, with costs of 1 and 6 an access."""
    rng = np.random.default_rng(seed)
    rows = _buffer_rows(rng, n, life, high)
    for row, accesses in zip(rows, rng.integers(1, 9, n).tolist(), strict=True):
        row["traffic"] = accesses * row["size"]
    most = max(sum(row["size"] for row in rows if row["start"] <= at < row["end"]) for at in range(n))
    pools = [{"name": "fast", "size": max(high, int(_FAST * most)), "cost": 1.0}, {"name": "slow", "cost": 6.0}]
    return Problem.model_validate({"buffers": rows, "pools": pools, "objective": "cost"})


def banked_problem(seed: int, n: int = 12, life: float = 4.0, high: int = 24) -> Problem:
    """Draw banks of 16 bytes, and half of the pairs that are alive together, which must not touch a common bank."""
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
