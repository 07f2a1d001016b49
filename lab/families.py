"""Benchmark problems drawn by rule: `python -m lab.families FOLDER NAME...`, then `memplan bench FOLDER`.

NAME is a family with parameters, such as `tight:n=30,seed=3`; `seeds=8` draws the seeds 1 to 8. NAME may also be a
problem file. The prefix `shuffled@2:` reorders the buffers by seed 2, and `mirrored:` reverses time. The same name
gives the same problem on every machine. The folder's `index.json` lists the peaks of known plans.

A perfect packing is a rectangle of time and bytes that is cut into buffers. Every byte is in use at every time, so no
plan has a lower peak than the rectangle's height, and the cut itself is such a plan.
"""

import json
import re
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import NamedTuple

import numpy as np

from lab.support.ruled_families import (
    aligned_problem,
    banked_problem,
    conflicting_problem,
    costly_problem,
    loose_problem,
    memories_problem,
)
from memplan.planner import formats
from memplan.planner.model.buffer_table import I64, BufferTable
from memplan.planner.model.problem import Problem, replace_fields


class Rectangle(NamedTuple):
    """A buffer of a perfect packing: alive in the steps [start, end), at the addresses [low, high)."""

    start: int
    end: int
    low: int
    high: int


Cut = Callable[[Rectangle, Rectangle, np.random.Generator], list[Rectangle]]
"""A function (rectangle, whole, random generator) that returns the pieces, or only the rectangle if it is too small."""
HEIGHT = 2**20
"""The peak of perfect packings, in bytes."""


def guillotine(piece: Rectangle, whole: Rectangle, rng: np.random.Generator) -> list[Rectangle]:
    """Cut a rectangle into two pieces from edge to edge, more often across its longer side."""
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
    """Cut a rectangle into a central piece and four around it, which cuts from edge to edge cannot produce."""
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
    """Cut a rectangle into exactly `n` rectangles, in random order; `n` must be at most half of its area."""
    pieces = [whole]
    while len(pieces) < n:
        k = _choose_piece(pieces, rng)
        # A cut into five pieces adds four pieces, so if fewer than four are missing, cut a piece into two.
        pieces[k : k + 1] = (cut if n - len(pieces) >= 4 else guillotine)(pieces[k], whole, rng)
    return [pieces[k] for k in rng.permutation(n).tolist()]


def _choose_piece(pieces: list[Rectangle], rng: np.random.Generator) -> int:
    """Return the position of the next piece to cut: mostly drawn in proportion to the areas, sometimes uniformly."""
    if rng.random() < 0.3:
        return int(rng.integers(len(pieces)))
    area = np.array([float(r.end - r.start) * (r.high - r.low) for r in pieces])
    return int(rng.choice(len(pieces), p=area / area.sum()))


def perfect_problem(
    seed: int,
    n: int = 100,
    kind: str = "guillotine",
    granule: int = 1024,
    slack: float = 0.0,
    by: str = "shrinking",
    steps: int = 0,
) -> Problem:
    """Return a perfect packing: a pool of `HEIGHT` bytes, cut into `n` buffers of multiples of `granule` bytes.

    Time has `steps` steps, by default three for each buffer and at least 60. Then `slack` percent of the buffers are
    shrunk, or removed if `by` is "removal". The cut is still a plan, but not necessarily the best one.
    """
    rng = np.random.default_rng(seed)
    whole = Rectangle(0, steps or max(60, 3 * n), 0, HEIGHT // granule)
    pieces = np.array(dissect(n, whole, {"guillotine": guillotine, "pinwheel": pinwheel}[kind], rng), dtype=np.int64)
    start, end, size = pieces[:, 0], pieces[:, 1], pieces[:, 3] - pieces[:, 2]
    loose = rng.permutation(n)[: round(n * slack / 100)]
    if by == "removal":
        start, end, size = (np.delete(values, loose) for values in (start, end, size))
    else:
        size[loose] = np.maximum(1, size[loose] * rng.uniform(0.5, 0.95, len(loose)))
    return _problem_of_columns(start, end, size * granule)


def draw_tight_problem(seed: int, n: int = 30, height: int = 100_000, live: int = 6, turnover: float = 2.0) -> Problem:
    """Return a random problem whose live bytes are always `height`. Its optimum is often above this lower bound.

    About `live` buffers are alive at once. In each step, about `turnover` of them end, and new buffers with the same
    total size start, until there are `n` buffers or a few more.
    """
    rng = np.random.default_rng(seed)
    alive = [(0, size) for size in _random_split(height, live, rng)]
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
        alive += [(time, size) for size in _random_split(freed, starting, rng)]
    rows = np.array(done + [(start, time + 1, size) for start, size in alive], dtype=np.int64)
    return _problem_of_columns(rows[:, 0], rows[:, 1], rows[:, 2])


def draw_random_problem(seed: int, n: int = 100, alpha: float = 0.01, sigma: float = 0.7) -> Problem:
    """Return a random problem with geometric lifetimes (mean 1/alpha) and lognormal(10, sigma) sizes.

    On average, two buffers start in each step, so about 2/alpha buffers are alive at once. Such problems were used to
    measure other planners.
    """
    rng = np.random.default_rng(seed)
    start = np.cumsum((rng.random(n) < 0.5).astype(np.int64))
    end = start + rng.geometric(alpha, n)
    size = np.maximum(1, rng.lognormal(10, sigma, n).astype(np.int64))
    return _problem_of_columns(start, end, size)


def dense_problem(seed: int, n: int = 100, sigma: float = 2.0) -> Problem:
    """Return a random problem in which up to n/10 buffers are alive at once, so that about n²/11 pairs conflict."""
    return draw_random_problem(seed, n, min(1.0, 20 / n), sigma)


def _random_split(total: int, parts: int, rng: np.random.Generator) -> list[int]:
    """Split `total` into `parts` random positive integers, or into fewer if `total` is smaller than `parts`."""
    cuts = 1 + np.sort(rng.choice(max(1, total - 1), min(parts, total) - 1, replace=False))
    shares: list[int] = np.diff(np.concatenate(([0], cuts, [total]))).tolist()
    return shares


def _problem_of_columns(start: I64, end: I64, size: I64) -> Problem:
    return Problem(buffers=BufferTable.from_columns(range(len(start)), size, start, end))


FAMILIES: dict[str, Callable[..., Problem]] = {
    "perfect": perfect_problem,
    "tight": draw_tight_problem,
    "random": draw_random_problem,
    "dense": dense_problem,
    "loose": loose_problem,
    "aligned": aligned_problem,
    "conflicting": conflicting_problem,
    "costly": costly_problem,
    "memories": memories_problem,
    "banked": banked_problem,
}


def shuffle_buffers(problem: Problem, seed: int) -> Problem:
    order = np.random.default_rng(seed).permutation(len(problem.buffers)).tolist()
    return replace_fields(problem, buffers=[problem.buffers.fields(i) for i in order])


def mirror_time(problem: Problem) -> Problem:
    """Return the same problem with time reversed: each lifetime is mirrored at one point."""
    rows = [problem.buffers.fields(i) for i in range(len(problem.buffers))]
    for row in rows:
        if "start" in row:
            row["start"], row["end"] = _mirrored_span(row["start"], row["end"])
        if "lifetimes" in row:
            row["lifetimes"] = tuple(_mirrored_span(start, end) for start, end in reversed(row["lifetimes"]))
    return replace_fields(problem, buffers=rows)


def _mirrored_span(start: int, end: int) -> tuple[int, int]:
    # Mirroring at -1/2 keeps 64-bit times within 64 bits, unlike mirroring at 0.
    return -1 - end, -1 - start


def pose(name: str) -> Problem:
    """Return the problem with this name: drawn from a family such as `tight:n=30,seed=3`, or read from a file."""
    if change := re.fullmatch(r"(mirrored|shuffled@(\d+)):(.*)", name, re.DOTALL):
        inner = pose(change[3])
        return shuffle_buffers(inner, int(change[2])) if change[2] else mirror_time(inner)
    family, _, text = name.partition(":")
    if family not in FAMILIES:
        return formats.read_problem(Path(name).read_bytes(), name)
    make, given = FAMILIES[family], dict(part.split("=") for part in text.split(",") if part)
    kinds = {key: type(about.default) for key, about in signature(make).parameters.items()}
    return make(int(given.pop("seed", 1)), **{key: kinds[key](value) for key, value in given.items()})


def names(suite: str) -> list[str]:
    """Return the names of a suite's problems: one per seed from 1 to N if it ends in `seeds=N`, else only the suite."""
    head, _, count = suite.partition("seeds=")
    return [f"{head}seed={seed}" for seed in range(1, int(count) + 1)] if count else [suite]


def main() -> None:
    """Write the drawn problems that the arguments name, and an index of them, into a folder."""
    import argparse

    parser = argparse.ArgumentParser(description="Write problems that are drawn by rule.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="+")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    listing = []
    for name in (each for suite in given.names for each in names(suite)):
        file = re.sub(r"[^\w=.@-]+", "-", name) + ".json"
        (given.folder / file).write_bytes(formats.memplan_json.write_problem(pose(name)))
        listing += [{"file": file, "peer_peaks": {"cuts": HEIGHT}}] if "perfect:" in name else []
    (given.folder / "index.json").write_text(json.dumps(listing))


if __name__ == "__main__":
    main()
