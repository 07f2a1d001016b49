"""Sets of changes that leave no live set above the capacity: all of so many changes, the cheapest first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from memplan.planner.model.buffer_table import I64, Bool
from memplan.solvers.studies.repairs.candidates import Candidates

Cover = tuple[int, ...]
MOST_COVERS = 20_000
_ROWS_COMPARED = 200


def covers(candidates: Candidates, count: int, is_over: Callable[[], bool]) -> Iterator[Cover]:
    """Yield every set of exactly `count` candidates that covers all rows, where each helps a row that others leave.

    Of two that touch one buffer, only one is taken. A set is found by its members in turn: each helps the row that is
    hardest to cover after those before it, so at most all that help that row are tried. Ends early once it is over.
    """
    if len(candidates.excess) == 0:
        return
    few = min(count, candidates.saved.shape[1])
    best = (
        np.partition(candidates.saved, candidates.saved.shape[1] - few, axis=1)[:, -few:] if few else candidates.saved
    )
    most = np.cumsum(np.sort(best.astype(np.float64), axis=1)[:, ::-1], axis=1)
    most = np.concatenate((np.zeros((len(most), 1)), most), axis=1)
    helps = candidates.saved > 0
    search = _CoverSearch(candidates, most, helps, helps.sum(axis=1), is_over)
    seen: set[Cover] = set()
    for cover in search.extended((), np.array(candidates.excess, dtype=np.int64), count):
        known = tuple(sorted(cover))
        if known not in seen:
            seen.add(known)
            yield known


@dataclass(frozen=True, eq=False)
class _CoverSearch:
    """The search for covers; most[row, k] is no less than what k candidates can save in a row."""

    candidates: Candidates
    most: npt.NDArray[np.float64]
    helps: Bool
    counts: I64
    is_over: Callable[[], bool]

    def extended(self, chosen: Cover, lacks: I64, left: int) -> Iterator[Cover]:
        """Yield the covers with `left` candidates more than the chosen ones, which leave the rows `lacks`."""
        rows = np.flatnonzero(lacks > 0)
        if len(rows) == 0 or left == 0 or self.is_over():
            if len(rows) == 0 and left == 0:
                yield chosen
            return
        possible = self.most[rows, min(left, self.most.shape[1] - 1)]
        if (possible < lacks[rows]).any() or (left > 1 and self._needs_more(rows, left)):
            return
        saved = self.candidates.saved
        hardest = rows[int((possible / lacks[rows]).argmin())]
        others = self.most[:, min(left, self.most.shape[1]) - 1]
        needed = max(1.0, float(lacks[hardest]) - float(others[hardest]))
        helpers = np.flatnonzero(self._free(chosen) & (saved[hardest] >= needed))
        rest = lacks[rows][:, None] - saved[np.ix_(rows, helpers)]
        helpers = helpers[(rest <= others[rows][:, None]).all(axis=0)]
        for c in helpers[np.argsort(-saved[hardest, helpers], kind="stable")].tolist():
            yield from self.extended((*chosen, c), lacks - saved[:, c], left - 1)

    def _needs_more(self, rows: I64, left: int) -> bool:
        """Say whether more rows than `left` have no helper in common, so that each needs one of its own."""
        used = np.zeros(len(self.candidates.found), dtype=np.bool_)
        count = 0
        for row in rows[np.argsort(self.counts[rows], kind="stable")[:_ROWS_COMPARED]].tolist():
            if not (used & self.helps[row]).any():
                used |= self.helps[row]
                count += 1
                if count > left:
                    return True
        return False

    def _free(self, chosen: Cover) -> Bool:
        """Return True for the candidates that touch no buffer of the chosen ones."""
        found = self.candidates.found
        free = np.ones(len(found), dtype=np.bool_)
        touched = {i for c in chosen for i in found[c].touched}
        if touched:
            free[[c for c, each in enumerate(found) if each.touched & touched]] = False
        return free
