"""Fillers: buffers of nobody that take up the slack of a part, so that the exact search is not free to waste memory.

Where a section has slack, a search may leave gaps, in many ways; where it has none, every move is forced or fails at
once. What can be placed together with fillers can be placed without them. So where the slack is made of little, it is
worth guessing of what: it rises where a filler begins, and falls where one ends. A guess that is wrong proves nothing.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from memplan.planner.model.buffer_table import I64, column
from memplan.solvers.exact.components import Part
from memplan.solvers.formulation.subinstance import with_dummies
from memplan.solvers.kernels.sections import Lives

GUESSES = 30
"""How many guesses one is chosen from: what the fewest fillers explain is likely to be so."""


class Filler(NamedTuple):
    """A filler of so many granules, alive in the sections [start, end) of a part."""

    start: int
    end: int
    size: int


def fillers(slack: I64, rng: np.random.Generator) -> list[Filler]:
    """Return fillers that add up to the slack of each section, in granules: a guess with few of them."""
    return min((_guess(slack, rng) for _ in range(GUESSES)), key=len)


def _guess(slack: I64, rng: np.random.Generator) -> list[Filler]:
    """Read the slack from one end of time, drawn by lot, to the other."""
    if rng.random() < 0.5:
        return _read(slack, rng)
    k = len(slack)
    return [Filler(k - row.end, k - row.start, row.size) for row in _read(slack[::-1], rng)]


def _read(slack: I64, rng: np.random.Generator) -> list[Filler]:
    """Begin a filler where the slack rises, and end some where it falls.

    If those that end are too large, the last of them goes on with the rest, or another one begins with that.
    """
    done: list[Filler] = []
    alive: list[tuple[int, int]] = []  # (start, size)
    for s, change in enumerate(np.diff(slack, prepend=0, append=0).tolist()):
        if change > 0:
            alive.append((s, change))
        if change >= 0:
            continue
        alive = [alive[x] for x in rng.permutation(len(alive)).tolist()]
        ended = _ended(alive, -change)
        alive = [row for row in alive if row not in ended]
        rest = sum(size for _, size in ended) + change
        if rest > 0:
            start, size = ended.pop()
            goes_on = rng.random() < 0.5
            alive.append((start if goes_on else s, rest))
            ended.append((start, size - rest if goes_on else size))
        done += [Filler(start, s, size) for start, size in ended]
    return done


def _ended(alive: list[tuple[int, int]], fall: int) -> list[tuple[int, int]]:
    """Return which fillers end: one or two that are as large as the fall, else one that is larger, else several."""
    for count in (1, 2):
        for chosen in combinations(alive, count):
            if sum(size for _, size in chosen) == fall:
                return list(chosen)
    ended = [row for row in alive if row[1] > fall][:1]
    for row in alive:
        if sum(size for _, size in ended) >= fall:
            break
        ended.append(row)
    return ended


def filled(part: Part, rows: list[Filler]) -> Part:
    """Return the part with fillers after its buffers."""
    whole, sections = part.instance, part.sections
    n, granule = len(whole), sections.granule
    start, end, size = column(np.array(rows).reshape(-1, 3).T)
    shift = int(part.lives.start[np.isin(part.lives.lifetime_buffer, part.buffers)].min())
    each, mine = np.ones(len(rows), dtype=np.int64), n + np.arange(len(rows))
    lives = Lives(
        np.append(part.lives.lifetime_buffer, mine),
        np.append(part.lives.start, shift + start),
        np.append(part.lives.end, shift + end),
        part.lives.n_sections,
    )
    instance = with_dummies(
        whole,
        len(rows),
        size=column(np.append(whole.size, granule * size)),
        first=column(np.append(whole.first, whole.first[-1] + 1 + np.arange(len(rows)))),
        start=column(np.append(whole.start, shift + start)),
        end=column(np.append(whole.end, shift + end)),
        alignment=np.append(whole.alignment, [granule * each], axis=1),
        residue=np.append(whole.residue, [sections.residue[0] % granule * each], axis=1),
    )
    return Part(instance, lives, np.append(part.buffers, mine))
