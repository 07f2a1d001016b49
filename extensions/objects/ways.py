"""Other systems' heuristics for shared objects, by their original rules: as references and starting points.

Sources: TFLite's GPU delegate (tensorflow/lite/delegates/gpu/common/memory_management), and Pisarchyk and Lee,
"Efficient Memory Management for Deep Neural Net Inference" (2020). These heuristics assign by size; by size, nearest in
time; by breadth; in time order with the closest size; and by equal sizes only. ExecuTorch's Vulkan delegate also
assigns by size. Relay's rules are in `memplan.runtimes.tvm.relay_tokens`.
"""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Mapping

from memplan.extensions.objects.demands import MOST_AMOUNT, Demands, IsOver, Objects
from memplan.runtimes.tvm.relay_tokens import FreeTextures, FreeTokens, Token


class _ObjectsDraft:
    """A partial assignment of buffers: each object's lifetimes, sorted, and the extreme sides of its buffers."""

    def __init__(self, demands: Demands) -> None:
        """Start without objects."""
        self.demands, self.where = demands, [-1] * len(demands)
        self.spans, self.sides = list[list[tuple[int, int]]](), list[tuple[int, int, int, int]]()

    def usable_objects(self, i: int) -> list[int]:
        """Return the objects that are free in buffer i's lifetime and can contain it, perhaps after growing."""
        return [
            o for o in range(len(self.spans)) if self.idle_time(o, i) >= 0 and self._enlarged_sides(o, i) is not None
        ]

    def idle_time(self, o: int, i: int) -> int:
        """Return the idle time of object o between buffer i and the nearest buffer in o; negative if they overlap."""
        first, last, spans = self.demands.first[i], self.demands.last[i], self.spans[o]
        k = bisect_left(spans, (first, last))
        before = [first - spans[k - 1][1]] if k else []
        after = [spans[k][0] - last] if k < len(spans) else []
        return min(before + after)

    def size(self, o: int) -> int:
        """Return the current size of object o, in bytes or texels."""
        return self.sides[o][0] * self.sides[o][1]

    def growth(self, o: int, i: int) -> int:
        """Return by how much adding buffer i enlarges object o, in bytes or texels."""
        grown = self._enlarged_sides(o, i)
        assert grown is not None  # Callers pass only usable objects, so adding the buffer is allowed.
        return grown[0] * grown[1] - self.size(o)

    def put(self, i: int, o: int | None) -> None:
        """Add buffer i to object o, or to a new object if `o` is None."""
        if o is None:
            o = len(self.spans)
            self.spans.append([])
            self.sides.append((0, 0, MOST_AMOUNT, MOST_AMOUNT))
        self.sides[o] = self._enlarged_sides(o, i) or self.sides[o]
        insort(self.spans[o], (self.demands.first[i], self.demands.last[i]))
        self.where[i] = o

    def _enlarged_sides(self, o: int, i: int) -> tuple[int, int, int, int] | None:
        """Return object o's max width, max height, min width and min height with buffer i; None if not allowed."""
        w, h, ratio = self.demands.width[i], self.demands.height[i], self.demands.ratio
        wide, high, narrow, low = self.sides[o]
        wide, high, narrow, low = max(wide, w), max(high, h), min(narrow, w), min(low, h)
        is_refused = ratio is not None and (wide > ratio * narrow or high > ratio * low)
        return None if is_refused else (wide, high, narrow, low)


def _size_order(demands: Demands) -> Iterable[int]:
    return sorted(range(len(demands)), key=lambda i: -demands.amounts[i])


def _time_order(demands: Demands) -> list[int]:
    return sorted(range(len(demands)), key=lambda i: (demands.first[i], -demands.amounts[i]))


def assign_by_size(demands: Demands) -> Objects:
    """Assign buffers in descending order of size, each to the first usable object, or else to a new one."""
    filled = _ObjectsDraft(demands)
    for i in _size_order(demands):
        filled.put(i, next(iter(filled.usable_objects(i)), None))
    return filled.where


def assign_by_size_nearest(demands: Demands) -> Objects:
    """Assign buffers by descending size, each to the usable object whose nearest lifetime is closest to its own."""
    filled = _ObjectsDraft(demands)
    for i in _size_order(demands):
        filled.put(i, min(filled.usable_objects(i), key=lambda o: filled.idle_time(o, i), default=None))
    return filled.where


def assign_by_breadth(demands: Demands) -> Objects:
    """Assign buffers by live sets, largest total first, each to the smallest usable object that is large enough.

    If no usable object is large enough, the largest usable object grows.
    """
    filled, amounts = _ObjectsDraft(demands), demands.amounts
    for alive in sorted(demands.live_sets, key=lambda alive: -sum(amounts[i] for i in alive)):
        for i in alive:
            if filled.where[i] < 0:
                free = filled.usable_objects(i)
                enough = [o for o in free if filled.growth(o, i) == 0]
                filled.put(i, min(enough, key=filled.size) if enough else max(free, key=filled.size, default=None))
    return filled.where


def assign_in_order(demands: Demands) -> Objects:
    """Assign buffers in order of their start, each to the usable object of the closest size."""
    filled = _ObjectsDraft(demands)
    for i in _time_order(demands):
        filled.put(
            i, min(filled.usable_objects(i), key=lambda o: abs(filled.size(o) - demands.amounts[i]), default=None)
        )
    return filled.where


def equal_sizes(demands: Demands) -> Objects:
    """Assign buffers by start, each to a usable object of exactly its width and height, or else to a new one."""
    filled = _ObjectsDraft(demands)
    for i in _time_order(demands):
        sides = demands.width[i], demands.height[i]
        same = (o for o in filled.usable_objects(i) if filled.sides[o][:2] == sides)
        filled.put(i, next(same, None))
    return filled.where


def assign_by_growth(demands: Demands) -> Objects:
    """Assign buffers by start, each to the usable object that grows least, or to a new one if that is smaller."""
    return _assign_growing(demands, _time_order(demands))


def assign_by_growth_and_size(demands: Demands) -> Objects:
    """Assign buffers by descending size, each to the object that grows least, or to a new one if that is smaller."""
    return _assign_growing(demands, _size_order(demands))


def _assign_growing(demands: Demands, order: Iterable[int]) -> Objects:
    filled = _ObjectsDraft(demands)
    for i in order:
        best = min(((filled.growth(o, i), filled.size(o), o) for o in filled.usable_objects(i)), default=None)
        filled.put(i, None if best is None or best[0] >= max(1, demands.amounts[i]) else best[2])
    return filled.where


def relay(demands: Demands) -> Objects:
    """Assign buffers as TVM's Relay does: buffers of bytes by storage tokens, and textures by another rule."""
    free: FreeTokens | FreeTextures = FreeTextures() if max(demands.height, default=1) > 1 else FreeTokens()
    where, held, made = [-1] * len(demands), dict[int, Token](), 0
    events = [(t, True, i) for i, t in enumerate(demands.first)] + [(t, False, i) for i, t in enumerate(demands.last)]
    for _, is_start, i in sorted(events):
        if not is_start:
            free.put(held.pop(i))
            continue
        width, height = demands.width[i], demands.height[i]
        token = free.take(width, height)
        if token is None:
            token, made = Token(made, width, height), made + 1
        held[i], where[i] = token, token.storage
    return where


WAYS: Mapping[str, Callable[[Demands], Objects]] = {
    "by-size": assign_by_size,
    "by-size-nearest": assign_by_size_nearest,
    "by-breadth": assign_by_breadth,
    "in-order": assign_in_order,
    "equal-sizes": equal_sizes,
    "relay": relay,
    "least-growth": assign_by_growth,
    "least-growth-by-size": assign_by_growth_and_size,
}
"""Maps the names of the heuristics, which answers use, to their functions."""


def run_heuristics(demands: Demands, is_over: IsOver) -> dict[str, tuple[int, Objects]]:
    """Return (cost, objects) by the name of each heuristic. The first always runs, the others while time is left."""
    results: dict[str, tuple[int, Objects]] = {}
    for name, way in WAYS.items():
        if results and is_over():
            break
        where = way(demands)
        if (cost := demands.cost(where)) is not None:
            results[name] = cost, where
    return results
