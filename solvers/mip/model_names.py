"""Names for the columns and rows of an integer program, made of the ids of buffers and the names of pools."""

from __future__ import annotations

import re
from collections.abc import Mapping

from memplan.planner.model.problem import Problem
from memplan.solvers.mip.boxes import Boxes
from memplan.solvers.mip.draft import Key

_LONGEST_ID = 40
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.]+")
COLUMN_WORDS = {"offset": "o", "end": "e", "multiple": "steps"}
"""Words of columns that are shorter in a file than in keys."""
WORDS = {
    "peak": ("qb", "(1) the peak is at or above every end"),
    "end": ("b", "(2) an end is an offset plus a size"),
    "below": (
        "bb",
        "(4) of two buffers in conflict one lies below the other; where the binary is 0, the big-M lifts the row",
    ),
    "home": ("b", "every buffer lies in one pool"),
    "order": ("bb", "of two orders at most one holds, and none where they share an offset"),
    "together": ("qbb", "two in conflict, in the same pool, have an order, or share an offset"),
    "lowest": ("b", "a buffer lies at or above the lowest offset of the pool that it chooses"),
    "highest": ("b", "a buffer lies at or below the highest offset of the pool that it chooses"),
    "aligned": ("b", "an offset is the first aligned one plus a number of steps"),
    "counted": ("qb", "steps are counted in the pool that the buffer chooses"),
    "colocation": ("qb", "what must lie in one pool with a buffer goes where it goes"),
    "rigid": ("b", "a buffer keeps its distance from the one it is relative to, or from the lowest of those so joined"),
    "start": ("bb", "two that share an offset start together"),
    "beside": ("qbb", "two that share an offset lie in one pool"),
    "paged": ("qb", "pages are counted in the pool that the buffer chooses"),
    "page_start": ("b", "a buffer starts inside a page"),
    "page_end": ("b", "a buffer ends inside the page that it starts in"),
    "bank": ("qb", "the first bank that a buffer touches"),
    "past": ("qb", "the bank after the last one that a buffer touches"),
    "parted": ("qbb", "where two are parted, the banks of the lower one end before those of the upper one begin"),
    "banks": ("qbb", "two that should touch no common bank are parted, or are paid"),
    "held": ("tb", "what lies below a buffer, of what it conflicts with, holds it up"),
    "pushed": ("tqb", "what lies above a buffer, of what it conflicts with, pushes the peak up"),
    "share": ("tq", "what conflicts pairwise fits below the peak of its pool"),
    "free": ("tq", "what conflicts pairwise fits around what is reserved in its pool"),
    "twins": ("bb", "of two buffers that can be exchanged, the first lies in the earlier pool"),
    "apart": ("bb", "where two of a priced pair are apart, the lower one ends before the upper one begins"),
    "priced": ("qbb", "two of a priced pair, in the same pool, are apart, or are paid"),
    "cost": ("", "the cost is what the chosen pools and pairs ask"),
    "offset": ("b", ""),
    "in": ("qb", ""),
    "multiple": ("qb", ""),
    "shared": ("bb", ""),
    "page": ("qb", ""),
    "paid": ("nbb", ""),
}
"""Words of keys: what a key's numbers are, and what rows of this word say ("" for columns), in the order of files.

The numbers are pools (q), boxes (b) or sets of buffers in conflict (t); those that no name shows are n.
"""


class ModelNames:
    """Turns keys into names that LP and MPS files may hold, each used once: `below_conv1_conv2`."""

    def __init__(self, problem: Problem, boxes: Boxes, words: Mapping[str, str]) -> None:
        buffers = [str(problem.buffers.ids[int(i)]) for i in boxes.instance.source]
        reserved = [f"reserved{k}" for k in range(1, len(boxes.all) - boxes.n + 1)]
        self._boxes = _distinct([*buffers, *reserved])
        self._pools = _distinct([pool.name for pool in boxes.instance.pools])
        self._words = words
        self._used: dict[str, int] = {}

    def take(self, key: Key) -> str:
        """Return a name for a key; one that is taken gets a number."""
        word, *numbers = key
        parts = [self._words.get(str(word), str(word))]
        for kind, number in zip(WORDS[str(word)][0], numbers, strict=False):
            parts += self._part(kind, int(number))
        name = "_".join(parts)
        times = self._used[name] = self._used.get(name, 0) + 1
        return name if times == 1 else self._again(name, times)

    def _again(self, name: str, times: int) -> str:
        """Return the name with the first number from `times` on that makes it new."""
        while f"{name}_{times}" in self._used:
            times += 1
        self._used[f"{name}_{times}"] = 1
        return f"{name}_{times}"

    def _part(self, kind: str, number: int) -> list[str]:
        if kind == "b":
            return [self._boxes[number]]
        if kind == "t":
            return [f"set{number}"]
        if kind == "n":
            return []
        return [self._pools[number]] if len(self._pools) > 1 else []


def _distinct(texts: list[str]) -> list[str]:
    """Return the texts as parts of names: of letters, digits, dots and underscores, short, each one once."""
    short = [_NOT_IN_NAMES.sub("_", text)[:_LONGEST_ID] or "_" for text in texts]
    found: list[str] = []
    used = set(short)
    seen: set[str] = set()
    for text in short:
        name, number = text, 2
        # A numbered name may be somebody's own id.
        while name in seen or (name != text and name in used):
            name, number = f"{text}_{number}", number + 1
        seen.add(name)
        found.append(name)
    return found
