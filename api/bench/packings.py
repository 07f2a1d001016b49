"""Perfect packings: a rectangle of time and bytes cut into buffers, so that the best peak is its height.

Every byte is in use at every time, hence no plan has a smaller peak; and the cuts are a plan.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class Rectangle(NamedTuple):
    """A buffer where the cuts leave it: alive in [start, end), on the addresses [low, high)."""

    start: int
    end: int
    low: int
    high: int


Cut = Callable[[Rectangle, Rectangle, np.random.Generator], list[Rectangle]]
"""Given a rectangle, the whole and a source of chance, return its pieces; the rectangle alone where it is too small."""


def guillotine(piece: Rectangle, whole: Rectangle, rng: np.random.Generator) -> list[Rectangle]:
    """Cut a rectangle in two, from edge to edge, more often across its longer side."""
    start, end, low, high = piece
    width = (end - start) / (whole.end - whole.start)
    height = (high - low) / (whole.high - whole.low)
    across_time = rng.random() < (width / (width + height) if rng.random() < 0.6 else 0.5)
    if across_time and end - start >= 2:
        at = int(rng.integers(start + 1, end))
        return [Rectangle(start, at, low, high), Rectangle(at, end, low, high)]
    if not across_time and high - low >= 2:
        at = int(rng.integers(low + 1, high))
        return [Rectangle(start, end, low, at), Rectangle(start, end, at, high)]
    return [piece]


def pinwheel(piece: Rectangle, whole: Rectangle, rng: np.random.Generator) -> list[Rectangle]:
    """Cut a rectangle in five, four around one, which no cuts from edge to edge can do."""
    start, end, low, high = piece
    if end - start < 3 or high - low < 3:
        return guillotine(piece, whole, rng)
    left, right = sorted((start + 1 + rng.choice(end - start - 1, 2, replace=False)).tolist())
    under, over = sorted((low + 1 + rng.choice(high - low - 1, 2, replace=False)).tolist())
    pieces = [
        Rectangle(start, right, low, under),
        Rectangle(right, end, low, over),
        Rectangle(left, end, over, high),
        Rectangle(start, left, under, high),
        Rectangle(left, right, under, over),
    ]
    if rng.random() < 0.5:
        return [Rectangle(start + end - r.end, start + end - r.start, r.low, r.high) for r in pieces]
    return pieces


def dissect(n: int, whole: Rectangle, cut: Cut, rng: np.random.Generator) -> list[Rectangle]:
    """Cut the whole into exactly `n` rectangles, in random order; n must be at most half its area."""
    pieces = [whole]
    while len(pieces) < n:
        k = _chosen(pieces, rng)
        # A cut in five adds four: the last few are made two by two.
        pieces[k : k + 1] = (cut if n - len(pieces) >= 4 else guillotine)(pieces[k], whole, rng)
    return [pieces[k] for k in rng.permutation(n).tolist()]


def _chosen(pieces: list[Rectangle], rng: np.random.Generator) -> int:
    """Choose what to cut next: mostly in proportion to the area, else any."""
    if rng.random() < 0.3:
        return int(rng.integers(len(pieces)))
    area = np.array([float(r.end - r.start) * (r.high - r.low) for r in pieces])
    return int(rng.choice(len(pieces), p=area / area.sum()))
