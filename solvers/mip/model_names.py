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
_ARGUMENTS = {
    "offset": "b",
    "end": "b",
    "home": "b",
    "lowest": "b",
    "highest": "b",
    "aligned": "b",
    "below": "bb",
    "order": "bb",
    "twins": "bb",
    "peak": "qb",
    "in": "qb",
    "multiple": "qb",
    "counted": "qb",
    "together": "qbb",
    "held": "tb",
    "pushed": "tqb",
    "share": "tq",
    "free": "tq",
    "colocation": "qb",
    "rigid": "b",
    "shared": "bb",
    "start": "bb",
    "beside": "qbb",
    "page": "qb",
    "paged": "qb",
    "page_start": "b",
    "page_end": "b",
    "bank": "qb",
    "past": "qb",
    "parted": "qbb",
    "banks": "qbb",
    "clash": "k",
    "cost": "",
}
"""The kinds of a key's numbers: pools (q), boxes (b), sets of buffers in conflict (t) or soft pairs (k)."""


class ModelNames:
    """Turns keys into names that LP and MPS files may hold, each used once: `below_conv1_conv2`."""

    def __init__(self, problem: Problem, boxes: Boxes, words: Mapping[str, str]) -> None:
        buffers = [str(problem.buffers.ids[int(i)]) for i in boxes.instance.source]
        reserved = [f"reserved{k}" for k in range(1, len(boxes.all) - boxes.n + 1)]
        self._boxes = _distinct([*buffers, *reserved])
        self._pools = _distinct([pool.name for pool in boxes.instance.pools])
        self._soft_pairs: list[list[int]] = boxes.instance.soft_pairs.tolist()
        self._words = words
        self._used: dict[str, int] = {}

    def take(self, key: Key) -> str:
        """Return a name for a key; one that is taken gets a number."""
        word, *numbers = key
        parts = [self._words.get(str(word), str(word))]
        for kind, number in zip(_ARGUMENTS[str(word)], numbers, strict=False):
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
        if kind == "k":
            return [self._boxes[b] for b in self._soft_pairs[number]]
        return [self._pools[number]] if len(self._pools) > 1 else []


def _distinct(texts: list[str]) -> list[str]:
    """Return the texts as parts of names: of letters, digits, dots and underscores, short, each one once."""
    short = [_NOT_IN_NAMES.sub("_", text)[:_LONGEST_ID] or "_" for text in texts]
    found: list[str] = []
    used = set(short)
    seen: set[str] = set()
    for text in short:
        name, number = text, 2
        while name in seen or (name != text and name in used):
            name, number = f"{text}_{number}", number + 1
        seen.add(name)
        found.append(name)
    return found
