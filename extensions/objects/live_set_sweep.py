"""The exact search for shared objects, which tries lists of object sizes by ascending total until one suffices.

A pass over the live sets decides whether a list of sizes suffices. A state of the pass has the end and the object size
of each live buffer. Objects of equal size are interchangeable, and live sets are small, so there are few states. If the
sizes do not suffice, an interval of live sets proves that no smaller sizes do either. The next lists have one larger
object or one more object, of a size that occurs in this interval.
"""

from bisect import bisect_right, insort
from heapq import heappop, heappush
from itertools import groupby
from math import inf

from memplan.extensions.objects.demands import Demands, IsOver, Objects

_MOST_STATES = 200_000
"""The maximum number of states at one point of a pass, because more would take seconds and hundreds of megabytes."""
_MOST_WALLS = 400
"""The maximum number of stored proofs that sizes do not suffice; each new list of sizes is compared with all."""
State = tuple[tuple[int, int], ...]
"""A sorted tuple of (end of its lifetime, size class of its object) for each live buffer."""
Layer = dict[State, tuple[State, int | None]]
"""Maps each state to (a preceding state, size class of the buffer added since, or None if buffers ended instead)."""


class OutOfTimeError(Exception):
    """The sweep ended without a result, because it was stopped or had too many states."""


class Sweep:
    """A sweep (one pass) over the live sets: it decides if objects of given sizes suffice for all buffers."""

    def __init__(self, demands: Demands, is_over: IsOver) -> None:
        """Collect, for each live set, its nonempty buffers and those of them that begin in the set."""
        self.demands, self.is_over = demands, is_over
        # An empty buffer gets an empty object of its own, at no cost, so the sweep omits empty buffers.
        self.alive = [[i for i in alive if demands.amounts[i]] for alive in demands.live_sets]
        self.new = [[i for i in alive if demands.first[i] == t] for t, alive in enumerate(self.alive)]

    def refused_at(self, sizes: tuple[int, ...], begin: int = 0, stop: int | None = None) -> int | None:
        """Return the first live set in [begin, stop) for which objects of these sizes do not suffice; else None."""
        return self._pass_over_live_sets(sizes, begin, self.demands.n_sets if stop is None else stop, None)

    def objects(self, sizes: tuple[int, ...]) -> Objects:
        """Return the number of each buffer's object; the objects have the given sizes, which must suffice."""
        layers: list[tuple[int | None, Layer]] = []
        self._pass_over_live_sets(sizes, 0, self.demands.n_sets, layers)
        classes = sorted(set(sizes), reverse=True)
        state, chosen = next(iter(layers[-1][1])), dict[int, int]()
        for i, layer in reversed(layers):
            state, size = layer[state]
            if i is not None and size is not None:
                chosen[i] = size
        where, free = [len(sizes) + i for i in range(len(self.demands))], dict[int, int]()
        for i in sorted(chosen, key=lambda i: self.demands.first[i]):
            same = (o for o, size in enumerate(sizes) if size == classes[chosen[i]])
            where[i] = next(o for o in same if free.get(o, 0) <= self.demands.first[i])
            free[where[i]] = self.demands.last[i]
        return where

    def _pass_over_live_sets(
        self, sizes: tuple[int, ...], begin: int, stop: int, kept: list[tuple[int | None, Layer]] | None
    ) -> int | None:
        """Return the first live set in [begin, stop) in which objects of the given sizes do not suffice, or None.

        If `kept` is a list, the pass appends each layer of states to it.
        """
        classes = [(size, len(list(same))) for size, same in groupby(sizes)]
        states: Layer = {(): ((), None)}
        for t in range(begin, stop):
            ended: Layer = {}
            for state in states:
                ended.setdefault(state[bisect_right(state, (t, len(sizes))) :], (state, None))
            states = self._keep_layer(None, ended, kept)
            for i in self.alive[t] if t == begin else self.new[t]:
                states = self._keep_layer(i, self._place_buffer(i, states, classes), kept)
                if not states:
                    return t
                if len(states) > _MOST_STATES or self.is_over():
                    raise OutOfTimeError
        return None

    @staticmethod
    def _keep_layer(i: int | None, layer: Layer, kept: list[tuple[int | None, Layer]] | None) -> Layer:
        if kept is not None:
            kept.append((i, layer))
        return layer

    def _place_buffer(self, i: int, states: Layer, classes: list[tuple[int, int]]) -> Layer:
        """Return the states after placing buffer i in each state, in a free object of each sufficient size class."""
        amount, end = self.demands.amounts[i], self.demands.last[i]
        layer: Layer = {}
        for state in states:
            used = [0] * len(classes)
            for _, each in state:
                used[each] += 1
            for each, (size, count) in enumerate(classes):
                if size < amount:
                    break
                if used[each] < count:
                    longer = list(state)
                    insort(longer, (end, each))
                    layer.setdefault(tuple(longer), (state, each))
        return layer


def search_objects(demands: Demands, most: int, is_over: IsOver) -> tuple[int, Objects | None]:
    """Return a lower bound on the total size of objects, and objects of this total size if they are found in time.

    Only totals below `most` are tried: if no objects are returned, a bound of `most` proves that none is smaller. The
    ratio of sides is ignored.
    """
    sweep, first = Sweep(demands, is_over), tuple(filter(None, demands.size_bounds))
    waiting, seen = [(sum(first), first)], {first}
    walls: list[tuple[tuple[float, ...], list[int]]] = []
    bound = sum(first)
    while waiting and waiting[0][0] < most:
        bound, sizes = heappop(waiting)
        there = next((there for above, there in walls if _is_below(sizes, above)), None)
        if there is None:
            try:
                if (at := sweep.refused_at(sizes)) is None:
                    return bound, sweep.objects(sizes)
                there = _sizes_of(demands, _latest_begin(sweep, sizes, at), at)
            except OutOfTimeError:
                return bound, None
            above = tuple(next((each - 1 for each in there if each > size), inf) for size in sizes)
            walls = [*walls[1 - _MOST_WALLS :], (above, there)]
        for larger in _larger_sizes(sizes, there):
            if larger not in seen and sum(larger) < most:
                seen.add(larger)
                heappush(waiting, (sum(larger), larger))
    return most, None


def _is_below(sizes: tuple[int, ...], above: tuple[float, ...]) -> bool:
    return len(sizes) <= len(above) and all(size <= top for size, top in zip(sizes, above, strict=False))


def _latest_begin(sweep: Sweep, sizes: tuple[int, ...], at: int) -> int:
    low, high = 0, at
    while low < high:
        middle = (low + high + 1) // 2
        if sweep.refused_at(sizes, middle, at + 1) is None:
            high = middle - 1
        else:
            low = middle
    return low


def _sizes_of(demands: Demands, begin: int, at: int) -> list[int]:
    return sorted({demands.amounts[i] for alive in demands.live_sets[begin : at + 1] for i in alive} - {0})


def _larger_sizes(sizes: tuple[int, ...], there: list[int]) -> list[tuple[int, ...]]:
    """Return the next lists of sizes to try: each raises one object to the next size in `there`, or adds an object."""
    placed_sizes = [tuple(sorted((*sizes, there[0]), reverse=True))]
    for k, size in enumerate(sizes):
        if (k == 0 or sizes[k - 1] != size) and there[-1] > size:
            grown = there[bisect_right(there, size)]
            placed_sizes.append(tuple(sorted((*sizes[:k], grown, *sizes[k + 1 :]), reverse=True)))
    return placed_sizes
