"""The text of a certificate, `memplan-lemmas/1`: claims and sets; buffers by their rows in the problem.

The core writes lemmas, see lemma_text.hpp.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from memplan.solvers.certificates.conflict_sets import ConflictSet

FORMAT = "memplan-lemmas/1"


@dataclass(frozen=True)
class ClaimText:
    """One claim: that nothing ends at or below `ends` (bytes), with its lines, and how many lemmas they hold."""

    ends: tuple[int, ...]
    lines: tuple[str, ...]
    lemmas: int = 0
    buffers: tuple[int, ...] = ()

    def write(self) -> Iterable[str]:
        """Yield the lines of the claim."""
        yield " ".join(map(str, ("claim", *self.ends)))
        yield from self.lines


@dataclass(eq=False)
class SetNumbers:
    """The sets that lines refer to, numbered as they come, with the lines that say what they are."""

    source: Sequence[int]
    lines: list[str] = field(default_factory=list)
    number: dict[ConflictSet, int] = field(default_factory=dict)

    def ref(self, which: ConflictSet, granule: int, remainder: int, pools: int) -> str:
        """Return the reference to a set by a granule, a remainder (bytes) and some pools, as bits."""
        if which not in self.number:
            self.number[which] = len(self.lines)
            rows = (self.source[i] for i in which.buffers)
            words = ("set", "time", which.time) if which.time is not None else ("set", "of", *rows)
            self.lines.append(" ".join(map(str, words)))
        words = (self.number[which], granule, remainder, pools)
        return f"@{words[0]}" if words[1:] == (1, 0, 1) else "@" + ":".join(map(str, words))
