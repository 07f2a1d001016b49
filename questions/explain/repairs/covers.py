"""Covers: sets of exactly `count` changes that bring the live bytes at every time down to the capacity."""

from collections import defaultdict
from collections.abc import Callable, Iterator

import numpy as np

from memplan.planner.model.buffer_table import I64
from memplan.questions.explain.repairs.candidates import Candidates

Cover = tuple[int, ...]
Touched = frozenset[int]
MOST_COVERS = 20_000
_ROWS_COMPARED = 200


def covers(candidates: Candidates, count: int, is_over: Callable[[], bool]) -> Iterator[Cover]:
    """Yield every minimal set of exactly `count` candidates that covers all rows (all overfull times).

    A cover has at most one candidate per buffer. The search picks the row that the remaining candidates can cover with
    the least slack, and tries only candidates that save bytes in that row. It ends early once `is_over()` is true.
    """
    if len(candidates.excess) == 0 or len(candidates.found) == 0:
        return
    search, seen = _CoverSearch(candidates, count, is_over), set[Cover]()
    for cover in search.extend((), frozenset(), np.array(candidates.excess, dtype=np.int64), count):
        cover_ = tuple(sorted(cover))
        if cover_ not in seen:
            seen.add(cover_)
            yield cover_


class _CoverSearch:
    """The search for covers; `most[row, k]` is at least the bytes that k changes of distinct buffers save in a row."""

    def __init__(self, candidates: Candidates, count: int, is_over: Callable[[], bool]) -> None:
        """Compute, for each row, the bytes that 0 to `count` candidates of distinct buffers can save at most."""
        self.candidates, self.saved, self.is_over = candidates, candidates.saved, is_over
        self.touching: defaultdict[int, list[int]] = defaultdict(list)
        for c, each in enumerate(candidates.found):
            for buffer in each.touched:
                self.touching[buffer].append(c)
        # A cover changes each buffer at most once, so the bound of a row counts only each buffer's strongest change.
        strongest = np.stack([self.saved[:, mine].max(axis=1) for mine in self.touching.values()], axis=1)
        few = min(count, strongest.shape[1])
        best = np.sort(np.partition(strongest, -few, axis=1)[:, -few:], axis=1)[:, ::-1].astype(np.float64)
        self.helps = strongest > 0
        self.most = np.concatenate((np.zeros((len(best), 1)), np.cumsum(best, axis=1)), axis=1)

    def extend(self, chosen: Cover, used: Touched, lacks: I64, left: int) -> Iterator[Cover]:
        """Yield the covers that extend `chosen` by `left` candidates and save at least `lacks` bytes in each row."""
        if left == 0:
            if not (lacks > 0).any():
                yield chosen
            return
        for c in self._helpful_candidates(used, lacks, left):
            more = used | self.candidates.found[c].touched
            yield from self.extend((*chosen, c), more, lacks - self.saved[:, c], left - 1)

    def _helpful_candidates(self, used: Touched, lacks: I64, left: int) -> list[int]:
        """Return the candidates, best first, that can help to cover the tightest row with `left` candidates in all."""
        rows = np.flatnonzero(lacks > 0)
        if len(rows) == 0 or self.is_over():
            return []
        few = self.most.shape[1] - 1
        possible, others = self.most[rows, min(left, few)], self.most[rows, min(left - 1, few)]
        if (possible < lacks[rows]).any() or (left > 1 and self._needs_more(rows, left)):
            return []
        # Branch on the row that can be covered with the least slack, because it has the fewest useful candidates.
        at = int((possible / lacks[rows]).argmin())
        hardest = self.saved[rows[at]].copy()
        hardest[[c for buffer in used for c in self.touching[buffer]]] = 0
        helpers = np.flatnonzero(hardest >= max(1.0, float(lacks[rows[at]] - others[at])))
        rest = lacks[rows][:, None] - self.saved[np.ix_(rows, helpers)]
        helpers = helpers[(rest <= others[:, None]).all(axis=0)]
        helpers_: list[int] = helpers[np.argsort(-hardest[helpers], kind="stable")].tolist()
        return helpers_

    def _needs_more(self, rows: I64, left: int) -> bool:
        helps = self.helps[rows]
        # Rows with few candidates come first, because they are the least likely to share a candidate.
        used, count = np.zeros(helps.shape[1], dtype=np.bool_), 0
        for row in helps[np.argsort(helps.sum(axis=1), kind="stable")[:_ROWS_COMPARED]]:
            if not (used & row).any():
                used |= row
                count += 1
        return count > left
