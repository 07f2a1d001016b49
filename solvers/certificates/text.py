"""The text format of certificates, `memplan-lemmas/1`: claims and sets of conflicting buffers.

The text refers to a buffer by its row in the problem. The C++ core writes the lemmas; see lemma_text.hpp.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import I64
from memplan.planner.model.intervals import merge_spans
from memplan.solvers.formulation.sharing import conflict_matrix


@dataclass(frozen=True)
class ConflictSet:
    """A set of conflicting buffers, as positions in the instance. If `time` is not None, all are alive then."""

    buffers: tuple[int, ...]
    time: int | None


def obstructed_ranges(instance: Instance, q: int, pinned: I64) -> list[tuple[int, int]]:
    """Return the ranges of pool `q` that are reserved or taken by `pinned` buffers, in units, merged and ascending."""
    here = pinned[instance.allowed[q, pinned]]
    extents = zip(instance.pin[here].tolist(), (instance.pin[here] + instance.size[here]).tolist(), strict=True)
    return merge_spans([*((low, high) for low, high in instance.pools[q].reserved.tolist()), *extents])


def rows_and_obstacles(instance: Instance, rows: Sequence[int]) -> tuple[int, ...]:
    """Return the given rows of buffers, and the rows of all pinned buffers that conflict with them."""
    position = np.full(int(instance.source.max(initial=0)) + 1, -1)
    position[instance.source] = np.arange(len(instance))
    named = position[list(rows)]
    pinned = np.setdiff1d(np.flatnonzero(instance.pin >= 0), named)
    near = conflict_matrix(instance, np.concatenate((named, pinned)))[: len(named), len(named) :].any(axis=0)
    return tuple(sorted({*rows, *instance.source[pinned[near]].tolist()}))


FORMAT = "memplan-lemmas/1"


@dataclass(frozen=True)
class ClaimText:
    """A claim that no plan ends at or below `ends` (bytes), its proof as lines, and the number of lemmas."""

    ends: tuple[int, ...]
    lines: tuple[str, ...]
    lemmas: int = 0
    buffers: tuple[int, ...] = ()

    def write(self) -> Iterable[str]:
        """Yield the lines of the claim: its `ends`, then its proof."""
        yield " ".join(map(str, ("claim", *self.ends)))
        yield from self.lines


@dataclass(eq=False)
class SetNumbers:
    """The conflict sets of a claim, numbered in the order of first use, and the lines that define them."""

    source: Sequence[int]
    lines: list[str] = field(default_factory=list)
    number: dict[ConflictSet, int] = field(default_factory=dict)

    def ref(self, which: ConflictSet, granule: int, remainder: int, pools: int) -> str:
        """Return the certificate's word for a conflict set on an offset grid; a new set gets the next number.

        The grid has the offsets `granule` * k + `remainder`, in bytes. `pools` is a bit mask of the pools.
        """
        if which not in self.number:
            self.number[which] = len(self.lines)
            rows = (self.source[i] for i in which.buffers)
            words = ("set", "time", which.time) if which.time is not None else ("set", "of", *rows)
            self.lines.append(" ".join(map(str, words)))
        words = (self.number[which], granule, remainder, pools)
        return f"@{words[0]}" if words[1:] == (1, 0, 1) else "@" + ":".join(map(str, words))
