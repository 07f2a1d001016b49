"""The single changes that may help a problem to fit, and the bytes that each change saves at overfull times."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from memplan.planner.instance.legal_offsets import families, last_end
from memplan.planner.model.buffer_table import I64
from memplan.planner.model.entries import entries_of, entry_ids, forbids
from memplan.planner.model.intervals import merge_spans
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import Id
from memplan.questions.explain.questions.parts import body_of_each_buffer
from memplan.questions.explain.values import KINDS, ChangeKind, RepairChange

STEPS = (1, 2, 4)
"""The numbers of time steps by which a repair may shorten a lifetime."""
KEPT_ALIGNMENT = 16
"""The alignment in bytes that a repair keeps when it lowers a larger one: the widest loads of processors need it."""
_MOST_ROWS, _MOST_CELLS = 4_000, 20_000_000
"""The maximum number of rows, and of rows times candidates; with fewer rows, more sets must be planned."""
_AT_ONCE = 256
"""The number of buffers processed between two checks of the clock."""
Span = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Candidate:
    """A candidate: a change, the bodies (rigid sets of buffers) affected, and the times when it saves `saved` bytes."""

    change: RepairChange
    touched: frozenset[int]
    gone: tuple[Span, ...] = ()
    saved: int = 0


class Candidates:
    """The candidate changes, the overfull times, and the bytes that each change saves at each time.

    `saved` has a row for each overfull time and a column for each candidate. A set of changes is a repair only if no
    row stays above the capacity: the live bytes must fit all pools together at every time, even where a change lets a
    buffer reappear. `is_whole` is False if the time ended before all changes were listed.
    """

    def __init__(
        self, problem: Problem, kinds: Collection[ChangeKind] = KINDS, is_over: Callable[[], bool] = lambda: False
    ) -> None:
        """List the candidate changes, the overfull times, and the bytes saved, until all are known or time is over."""
        self.problem = problem
        self.is_whole = True
        self._is_over = is_over
        self.kinds = frozenset(kinds)
        self.body = body_of_each_buffer(problem)
        self.root = families(problem)
        self.capacity = sum(map(last_end, problem.pools))
        self.found = list(self._list_candidates())
        self.times, self.excess = self._overfull_times()
        self.saved = self._saved_bytes()

    @cached_property
    def spans(self) -> Mapping[int, list[Span]]:
        """The merged lifetimes of each root buffer and its aliases, by the position of the root."""
        table = self.problem.buffers
        spans_: defaultdict[int, list[Span]] = defaultdict(list)
        roots = self.root.tolist()
        first = table.first.tolist()
        starts, ends = table.start.tolist(), table.end.tolist()
        for i, root in enumerate(roots):
            spans_[root] += [(starts[k], ends[k]) for k in range(first[i], first[i + 1])]
        return {root: merge_spans(spans) for root, spans in spans_.items()}

    def _list_candidates(self) -> Iterator[Candidate]:
        plain = self._plain_buffers()
        for i in self._buffers_in_time(plain):
            yield from self._place_candidates(i)
            yield from self._lifetime_candidates(i)
        if "in-place" in self.kinds:
            yield from self._sharing_candidates(plain)

    @cached_property
    def _tied_ids(self) -> frozenset[Id]:
        binding = (entry for entries in entries_of(self.problem).values() for entry in entries if forbids(entry))
        return frozenset(name for entry in binding for name in entry_ids(entry))

    def _buffers_in_time(self, buffers: list[int]) -> Iterator[int]:
        for k, i in enumerate(buffers):
            if k % _AT_ONCE == 0 and self._is_over():
                self.is_whole = False
                return
            yield i

    def _plain_buffers(self) -> list[int]:
        body, counts = self.body.tolist(), np.bincount(self.body, minlength=len(self.body)).tolist()
        sizes = self.problem.buffers.size.tolist()
        return [i for i in range(len(body)) if counts[body[i]] == 1 and sizes[i] > 0]

    def _place_candidates(self, i: int) -> Iterator[Candidate]:
        """Yield the changes of buffer `i` that remove its pin, lower its alignment, or move it to another memory."""
        table, me = self.problem.buffers, frozenset((i,))
        name, size, spans = table.ids[i], int(table.size[i]), tuple(self.spans[i])
        if "unpin" in self.kinds and table.offset[i] >= 0:
            yield Candidate(RepairChange.model_construct(kind="unpin", buffers=(name,)), me)
        if "alignment" in self.kinds and table.alignment[i] > KEPT_ALIGNMENT:
            least = int(np.gcd(int(table.alignment[i]), KEPT_ALIGNMENT))
            yield Candidate(RepairChange.model_construct(kind="alignment", buffers=(name,), value=least), me)
        if "pool" in self.kinds:
            traffic = int(table.traffic[i]) if table.traffic[i] >= 0 else size
            allowed = set(self.problem.allowed_pools(i))
            for q, pool in enumerate(self.problem.pools):
                if q not in allowed:
                    change = RepairChange.model_construct(
                        kind="pool", buffers=(name,), pool=pool.name, cost_bytes=traffic
                    )
                    yield Candidate(change, me)
            change = RepairChange.model_construct(kind="pool", buffers=(name,), cost_bytes=traffic)
            yield Candidate(change, me, spans, size)

    def _lifetime_candidates(self, i: int) -> Iterator[Candidate]:
        """Yield the changes that shorten a buffer's lifetime, or spill it: store it elsewhere between its end steps."""
        table, me = self.problem.buffers, frozenset((i,))
        if len(self.spans[i]) != 1:
            return
        (start, end), name, size = self.spans[i][0], table.ids[i], int(table.size[i])
        for k in STEPS:
            if end - start > k and "earlier-end" in self.kinds:
                change = RepairChange.model_construct(kind="earlier-end", buffers=(name,), steps=k)
                yield Candidate(change, me, ((end - k, end),), size)
            if end - start > k and "later-start" in self.kinds:
                change = RepairChange.model_construct(kind="later-start", buffers=(name,), steps=k)
                yield Candidate(change, me, ((start, start + k),), size)
        # A spilled buffer is away between its first and last step, so its lifetime must have at least three steps.
        if end - start > 2 and "spill" in self.kinds and name not in self._tied_ids:
            change = RepairChange.model_construct(kind="spill", buffers=(name,), cost_bytes=2 * size)
            yield Candidate(change, me, ((start + 1, end - 1),), size)

    def _sharing_candidates(self, plain: list[int]) -> Iterator[Candidate]:
        """Yield changes that write a buffer j over one that ends in j's first step and is at least as large."""
        table = self.problem.buffers
        ends: defaultdict[int, list[int]] = defaultdict(list)
        for i in plain:
            if len(self.spans[i]) == 1:
                ends[self.spans[i][0][1]].append(i)
        pairs_named = {frozenset(pair) for pair in (*self.problem.may_share, *self.problem.conflicts)}
        for j in self._buffers_in_time(plain):
            if len(self.spans[j]) != 1:
                continue
            start = self.spans[j][0][0]
            for i in ends.get(start + 1, ()):
                pair = (table.ids[i], table.ids[j])
                if i == j or table.size[i] < table.size[j] or frozenset(pair) in pairs_named:
                    continue
                if self.problem.allowed_pools(i) == self.problem.allowed_pools(j):
                    change = RepairChange.model_construct(kind="in-place", buffers=pair)
                    yield Candidate(change, frozenset((i, j)), ((start, start + 1),), int(table.size[j]))

    def _overfull_times(self) -> tuple[I64, list[int]]:
        """Return the times at which the live bytes exceed the capacity, and the excess in bytes at each of them.

        The times include those at which a change makes a buffer reappear or start later.
        """
        events: defaultdict[int, int] = defaultdict(int)
        sizes = self.problem.buffers.size.tolist()
        for root, spans in self.spans.items():
            for start, end in spans:
                events[start] += sizes[root]
                events[end] -= sizes[root]
        # If bytes are shared, sums of sizes prove no excess, so there are no overfull times.
        if self.problem.may_share or self.problem.rigid_leads:
            return np.zeros(0, dtype=np.int64), []
        # The buffer is alive again from the end of a removed span, so a new row starts there.
        extra = {end for candidate in self.found for _, end in candidate.gone}
        times, excess, load = [], [], 0
        for time in sorted(events.keys() | extra):
            load += events.get(time, 0)
            if load > self.capacity:
                times.append(time)
                excess.append(load - self.capacity)
        # Leaving out rows is safe, because more sets of changes are then tried and planning rejects wrong ones.
        count = max(1, min(_MOST_ROWS, _MOST_CELLS // max(1, len(self.found))))
        chosen = sorted(np.argsort([-float(more) for more in excess], kind="stable")[:count].tolist())
        return np.array([times[k] for k in chosen], dtype=np.int64), [excess[k] for k in chosen]

    def _saved_bytes(self) -> I64:
        """Remove redundant overfull times; return the bytes that each candidate saves at each remaining time."""
        saved = np.zeros((len(self.times), len(self.found)), dtype=np.int64)
        for c, candidate in enumerate(self.found):
            for start, end in candidate.gone:
                low, high = np.searchsorted(self.times, (start, end))
                saved[low:high, c] = candidate.saved
        if len(self.times) == 0:
            return saved
        keep = self._hardest_rows(saved)
        self.times, self.excess = self.times[keep], [self.excess[k] for k in keep]
        return np.asarray(saved[keep])

    def _hardest_rows(self, saved: I64) -> list[int]:
        best: dict[bytes, int] = {}
        for k in range(len(saved)):
            key = saved[k].tobytes()
            if key not in best or self.excess[k] > self.excess[best[key]]:
                best[key] = k
        return sorted(best.values())
