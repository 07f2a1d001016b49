"""Random inputs for planners of other systems, and hashes of the planners' answers."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Sequence

Row = tuple[int, int, int]
"""A buffer as (size in bytes, start, end)."""


def planner_input(seed: int) -> list[Row]:
    """Return 1 to 60 random buffers with few or many distinct sizes and short or long lifetimes."""
    draw = random.Random(seed)
    sizes = [draw.randint(1, 4096) for _ in range(draw.choice((2, 5, 1000)))]
    horizon, longest = draw.choice((8, 30, 100)), draw.choice((3, 20))
    rows = []
    for _ in range(draw.randint(1, 60)):
        start = draw.randrange(horizon)
        rows.append((draw.choice(sizes), start, start + draw.randint(1, longest)))
    return rows


def digest(answers: Iterable[Sequence[int]]) -> str:
    return hashlib.sha256("\n".join(" ".join(map(str, row)) for row in answers).encode()).hexdigest()[:16]
