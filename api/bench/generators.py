"""Families of problems made by rule, with seeds: the same parameters give the same problem on any machine.

A perfect packing is a rectangle of time and bytes cut into buffers: every byte is in use at every time, hence no plan
has a smaller peak; and the cuts are a plan.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from memplan.planner.errors import OptionError, shown
from memplan.planner.model.buffer_table import I64, BufferTable
from memplan.planner.model.problem import Problem


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


HEIGHT = 2**20
"""The height of perfect packings, in bytes."""
_CUTS = {"guillotine": guillotine, "pinwheel": pinwheel}


@dataclass(frozen=True, eq=False)
class GeneratedProblem:
    """A problem and, where there is one, a peak that is known to be reachable, in bytes."""

    problem: Problem
    known_peak: int | None = None


@dataclass(frozen=True)
class FamilyParameter:
    """A parameter of a family: a number of the default's type within limits, or one of some words."""

    default: int | float | str
    at_least: float = 0
    at_most: float = 1e9
    one_of: tuple[str, ...] = ()

    def read(self, where: str, text: str) -> int | float | str:
        """Return the value that a text spells; raises OptionError, which says `where`."""
        if self.one_of:
            if text not in self.one_of:
                raise OptionError(f"{where}: must be one of {', '.join(self.one_of)}, got {shown(text)}")
            return text
        try:
            value = type(self.default)(text)
        except ValueError:
            kind = "an integer" if isinstance(self.default, int) else "a number"
            raise OptionError(f"{where}: must be {kind}, got {shown(text)}") from None
        if not self.at_least <= float(value) <= self.at_most:
            raise OptionError(f"{where}: must be at least {self.at_least:g} and at most {self.at_most:g}, got {value}")
        return value


@dataclass(frozen=True)
class Family:
    """A generator: `make(seed, **parameters)`."""

    name: str
    make: Callable[..., GeneratedProblem]
    parameters: Mapping[str, FamilyParameter]


def perfect(seed: int, n: int, kind: str, granule: int, slack: float, by: str) -> GeneratedProblem:
    """Cut `HEIGHT` bytes of a pool into `n` buffers with sizes that are multiples of `granule`.

    `slack` percent of them are then shrunk or removed (`by`): the height stays reachable, the optimum may be lower.
    """
    rng = np.random.default_rng(seed)
    if HEIGHT % granule:
        raise OptionError(f"perfect.granule: must divide {HEIGHT}, got {granule}")
    whole = Rectangle(0, max(60, 3 * n), 0, HEIGHT // granule)
    pieces = np.array(dissect(n, whole, _CUTS[kind], rng), dtype=np.int64)
    start, end, size = pieces[:, 0], pieces[:, 1], pieces[:, 3] - pieces[:, 2]
    loose = rng.permutation(n)[: round(n * slack / 100)]
    if by == "removal":
        start, end, size = (np.delete(values, loose) for values in (start, end, size))
    else:
        size[loose] = np.maximum(1, size[loose] * rng.uniform(0.5, 0.95, len(loose)))
    return GeneratedProblem(_problem(start, end, size * granule), HEIGHT)


def tight(seed: int, n: int, height: int, live: int, turnover: float) -> GeneratedProblem:
    """Keep the pool full at every time, with no packing behind it: the best peak is often above the bound.

    About `live` buffers are alive at a time; in a time step about `turnover` of them end, and others, of as many bytes
    together, start. There may be a few more than `n` of them.
    """
    if live > height:
        raise OptionError(f"tight.live: must be at most the height ({height}), got {live}")
    rng = np.random.default_rng(seed)
    alive = [(0, size) for size in _shares(height, live, rng)]
    done: list[tuple[int, int, int]] = []
    time = 0
    while len(done) + len(alive) < n:
        time += 1
        ending = min(len(alive), 1 + int(rng.poisson(max(0.0, turnover - 1))))
        chosen = set(rng.choice(len(alive), ending, replace=False).tolist())
        done += [(start, time, size) for k, (start, size) in enumerate(alive) if k in chosen]
        freed = sum(size for k, (_, size) in enumerate(alive) if k in chosen)
        alive = [row for k, row in enumerate(alive) if k not in chosen]
        starting = max(1, ending + int(rng.integers(-1, 2)) + (len(alive) + ending < live))
        alive += [(time, size) for size in _shares(freed, starting, rng)]
    rows = np.array(done + [(start, time + 1, size) for start, size in alive], dtype=np.int64)
    return GeneratedProblem(_problem(rows[:, 0], rows[:, 1], rows[:, 2]))


def random(seed: int, n: int, alpha: float, sigma: float) -> GeneratedProblem:
    """Start two buffers in a time step on average, with geometric lives (mean 1/alpha) and lognormal(10, sigma) sizes.

    These are the random problems on which other planners were measured: about 2/alpha buffers are alive at a time.
    """
    rng = np.random.default_rng(seed)
    start = np.cumsum((rng.random(n) < 0.5).astype(np.int64))
    end = start + rng.geometric(alpha, n)
    size = np.maximum(1, rng.lognormal(10, sigma, n).astype(np.int64))
    return GeneratedProblem(_problem(start, end, size))


def dense(seed: int, n: int, sigma: float) -> GeneratedProblem:
    """Make a random problem with up to n/10 buffers alive at a time, so that about n²/11 pairs conflict."""
    return random(seed, n, min(1.0, 20 / n), sigma)


def _shares(total: int, parts: int, rng: np.random.Generator) -> list[int]:
    """Split a total into so many positive parts (fewer where it is too small), every split as likely as another."""
    cuts = 1 + np.sort(rng.choice(max(1, total - 1), min(parts, total) - 1, replace=False))
    shares: list[int] = np.diff(np.concatenate(([0], cuts, [total]))).tolist()
    return shares


def _problem(start: I64, end: I64, size: I64) -> Problem:
    return Problem(buffers=BufferTable.from_columns(range(len(start)), size, start, end))


_N = FamilyParameter(100, 1, 1e8)
_PERFECT = {
    "n": _N,
    "kind": FamilyParameter("guillotine", one_of=tuple(_CUTS)),
    "granule": FamilyParameter(1024, 1, HEIGHT),
    "slack": FamilyParameter(0.0, 0, 100),
    "by": FamilyParameter("shrinking", one_of=("shrinking", "removal")),
}
_TIGHT = {
    "n": FamilyParameter(30, 1, 1e6),
    "height": FamilyParameter(100_000, 2, 2**40),
    "live": FamilyParameter(6, 2, 1e6),
    "turnover": FamilyParameter(2.0, 1, 1e3),
}
_RANDOM = {"n": _N, "alpha": FamilyParameter(0.01, 1e-9, 1), "sigma": FamilyParameter(0.7, 0, 10)}
_DENSE = {"n": _N, "sigma": FamilyParameter(2.0, 0, 10)}
FAMILIES = {
    "perfect": Family("perfect", perfect, _PERFECT),
    "tight": Family("tight", tight, _TIGHT),
    "random": Family("random", random, _RANDOM),
    "dense": Family("dense", dense, _DENSE),
}
