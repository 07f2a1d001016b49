"""Sets of changes that leave no live set above the capacity: all of so many changes, the cheapest first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from memplan.capabilities.explain.repairs.candidates import Candidates
from memplan.planner.model.buffer_table import I64, Bool

Cover = tuple[int, ...]
Touched = frozenset[int]
MOST_COVERS = 20_000
_ROWS_COMPARED = 200


def covers(candidates: Candidates, count: int, is_over: Callable[[], bool]) -> Iterator[Cover]:
    """Yield every set of exactly `count` candidates that covers all rows, where each helps a row that others leave.

    Of two that touch one buffer, only one is taken. A set is found by its members in turn: each helps the row that is
    hardest to cover after those before it, so at most all that help that row are tried; those for which the strongest
    changes of other buffers would not do the rest are left out. Ends early once it is over.
    """
    if len(candidates.excess) == 0 or len(candidates.found) == 0:
        return
    search = _CoverSearch.of(candidates, count, is_over)
    seen: set[Cover] = set()
    for cover in search.extended((), frozenset(), np.array(candidates.excess, dtype=np.int64), count):
        known = tuple(sorted(cover))
        if known not in seen:
            seen.add(known)
            yield known


def strongest(candidates: Candidates) -> I64:
    """Return for each candidate one that touches no other buffers and saves no less in any row: itself, if none does.

    None of those is itself weaker than another one of its buffer.
    """
    saved, found = candidates.saved, candidates.found
    total = saved.sum(axis=0, dtype=np.float64).tolist()
    best: dict[int, int] = {}
    for c, each in enumerate(found):
        if len(each.touched) == 1:
            (buffer,) = each.touched
            if buffer not in best or total[c] > total[best[buffer]]:
                best[buffer] = c
    stronger = np.arange(len(found))
    for c, each in enumerate(found):
        for buffer in each.touched & best.keys():
            if (saved[:, best[buffer]] >= saved[:, c]).all():
                stronger[c] = best[buffer]
    return stronger


@dataclass(frozen=True, eq=False)
class _Columns:
    """Some of the candidates: their positions, what they save, and those that touch each buffer."""

    positions: I64
    saved: I64
    touching: Mapping[int, list[int]]

    @classmethod
    def of(cls, candidates: Candidates, positions: I64) -> Self:
        """Return the columns at some positions."""
        touching: defaultdict[int, list[int]] = defaultdict(list)
        for k, c in enumerate(positions.tolist()):
            for buffer in candidates.found[c].touched:
                touching[buffer].append(k)
        return cls(positions, np.ascontiguousarray(candidates.saved[:, positions]), touching)

    def free(self, used: Touched) -> Bool:
        """Return True for the columns that touch none of some buffers."""
        found = np.ones(len(self.positions), dtype=np.bool_)
        for buffer in used:
            found[self.touching.get(buffer, [])] = False
        return found


@dataclass(frozen=True, eq=False)
class _CoverSearch:
    """The search for covers, bounded by the strongest change of each buffer alone.

    most[row, k] is no less than what k candidates can save in a row; helps[row] marks the strongest that save anything.
    """

    candidates: Candidates
    all: _Columns
    strong: _Columns
    stronger: I64
    most: npt.NDArray[np.float64]
    helps: Bool
    is_over: Callable[[], bool]

    @classmethod
    def of(cls, candidates: Candidates, count: int, is_over: Callable[[], bool]) -> Self:
        """Return the search for covers of at most so many candidates."""
        stronger = strongest(candidates)
        everything = np.arange(len(stronger))
        strong = _Columns.of(candidates, np.unique(stronger))
        few = min(count, strong.saved.shape[1])
        best = np.partition(strong.saved, strong.saved.shape[1] - few, axis=1)[:, -few:].astype(np.float64)
        most = np.cumsum(np.sort(best, axis=1)[:, ::-1], axis=1)
        most = np.concatenate((np.zeros((len(most), 1)), most), axis=1)
        return cls(candidates, _Columns.of(candidates, everything), strong, stronger, most, strong.saved > 0, is_over)

    def extended(self, chosen: Cover, used: Touched, lacks: I64, left: int) -> Iterator[Cover]:
        """Yield the covers with `left` candidates more than the chosen ones, which leave the rows `lacks`."""
        if left == 0:
            if not (lacks > 0).any():
                yield chosen
            return
        can: dict[int, bool] = {}
        for c in self._helpers(self.all, used, lacks, left):
            best = int(self.stronger[c])
            # The strongest change of the same buffers decides whether any of them can be part of a cover.
            if best not in can:
                rest = lacks - self.candidates.saved[:, best]
                can[best] = left == 1 or self._is_enough(used | self.candidates.found[best].touched, rest, left - 1)
            if can[best]:
                more = used | self.candidates.found[c].touched
                yield from self.extended((*chosen, c), more, lacks - self.candidates.saved[:, c], left - 1)

    def _is_enough(self, used: Touched, lacks: I64, left: int) -> bool:
        """Say whether some of the strongest candidates, at most `left`, cover the rows; True where time is over."""
        if self.is_over() or not (lacks > 0).any():
            return True
        for c in self._helpers(self.strong, used, lacks, left):
            more = used | self.candidates.found[c].touched
            if left == 1 or self._is_enough(more, lacks - self.candidates.saved[:, c], left - 1):
                return True
        return False

    def _helpers(self, columns: _Columns, used: Touched, lacks: I64, left: int) -> list[int]:
        """Return the candidates that help the hardest row and leave what `left - 1` others may do, the best first."""
        rows = np.flatnonzero(lacks > 0)
        if len(rows) == 0 or self.is_over():
            return []
        few = self.most.shape[1] - 1
        possible, others = self.most[rows, min(left, few)], self.most[rows, min(left - 1, few)]
        if (possible < lacks[rows]).any() or (left > 1 and self._needs_more(rows, left)):
            return []
        # The row that the fewest candidates can help: a short list to branch on.
        at = int((possible / lacks[rows]).argmin())
        hardest = columns.saved[rows[at]]
        helpers = np.flatnonzero(columns.free(used) & (hardest >= max(1.0, float(lacks[rows[at]] - others[at]))))
        rest = lacks[rows][:, None] - columns.saved[np.ix_(rows, helpers)]
        helpers = helpers[(rest <= others[:, None]).all(axis=0)]
        found: list[int] = columns.positions[helpers[np.argsort(-hardest[helpers], kind="stable")]].tolist()
        return found

    def _needs_more(self, rows: I64, left: int) -> bool:
        """Say whether more rows than `left` have no helper in common, so that each needs one of its own."""
        helps = self.helps[rows]
        # Rows with few helpers first, as these are the likeliest to have none in common.
        order = np.argsort(helps.sum(axis=1), kind="stable")[:_ROWS_COMPARED]
        used = np.zeros(helps.shape[1], dtype=np.bool_)
        count = 0
        for row in helps[order]:
            if not (used & row).any():
                used |= row
                count += 1
                if count > left:
                    return True
        return False
