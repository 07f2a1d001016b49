"""USMP's hill climb: first fit in an order that is changed by swaps among the conflicts of the highest buffer.

Source: apache/tvm v0.16.0, src/tir/usmp/algo/hill_climb.cc (HillClimbAllocator). Random numbers equal those of the GNU
C library's rand_r from seed 0, as on Linux, so plans are deterministic. The result is the last accepted order, which
need not be the best.
"""

from dataclasses import dataclass

from memplan.runtimes.tvm.usmp.workspace import Placements, UsmpWorkspace, order_by_size
from memplan.solvers.reference.tensors import StopCheck

ATTEMPTS = 500


class RandR:
    """The function rand_r of the GNU C library (glibc 2.39, stdlib/rand_r.c), which returns 31 random bits."""

    def __init__(self, seed: int) -> None:
        """Start the sequence of random numbers at `seed`."""
        self.state = seed

    def __call__(self) -> int:
        """Return the next random number."""
        number = 0
        for modulus in (2048, 1024, 1024):
            self.state = (self.state * 1103515245 + 12345) % 2**32
            number = (number << 10) ^ (self.state // 65536 % modulus)
        return number


@dataclass(frozen=True)
class OrderPacking:
    """An order of buffers and the placements that result from it; the buffers in `stuck` fit into no pool."""

    order: tuple[int, ...]
    placements: Placements
    stuck: frozenset[int]

    def used_ends(self, task: UsmpWorkspace) -> dict[int, int]:
        """Map each pool that is used to its highest end offset, in bytes."""
        ends: dict[int, int] = {}
        for i, (pool, offset) in self.placements.items():
            ends[pool] = max(ends.get(pool, 0), offset + task.buffers[i].size)
        return ends


def hill_climb(task: UsmpWorkspace, stop_check: StopCheck) -> tuple[Placements, tuple[int, ...]]:
    """Return the placements of the last accepted order, and the buffers that fit into no pool in this order."""
    if not task.buffers:
        return {}, ()
    search = _OrderSearch(task, stop_check)
    packing = search.run()
    return packing.placements, tuple(sorted(packing.stuck))


class _OrderSearch:
    """The search over orders: `order` is the next order to try, and `swapped` holds the last two swapped positions."""

    def __init__(self, task: UsmpWorkspace, stop_check: StopCheck) -> None:
        """Start with the order by size and the random numbers of seed 0, as USMP does."""
        self.task = task
        self.stop_check = stop_check
        self.random = RandR(0)
        self.order = order_by_size(task)
        self.position = {i: at for at, i in enumerate(self.order)}
        self.swapped = (0, 0)
        self.tried = OrderPacking((), {}, frozenset())

    def run(self) -> OrderPacking:
        """Try at most ATTEMPTS orders, stop if one needs only the live peak, and return the last accepted packing."""
        accepted = current = self.tried
        total = 0  # `total` has the bytes of the last accepted packing, or 0 before the first.
        for attempt in range(ATTEMPTS):
            before, current = current, self._pack_order()
            new_total = sum(current.used_ends(self.task).values())
            if not current.placements:
                return current
            if not total or (not current.stuck and self._accepts(new_total, total, attempt)):
                accepted = current
                if not current.stuck:
                    total = new_total
                    if total <= self.task.memory_pressure:
                        break
            else:
                # As in the original, undo the last swap even if it was accepted in an earlier attempt.
                self._swap_positions(*self.swapped)
                current = before
            self._swap_below_the_top(current)
        return accepted

    def _accepts(self, new_total: int, total: int, attempt: int) -> bool:
        return new_total < total or self.random() % 100 < 50 * (new_total - total) // new_total // attempt

    def _pack_order(self) -> OrderPacking:
        """Pack the buffers in the current order, starting at its first difference from the previous order."""
        same = 0
        while same < len(self.tried.order) and self.tried.order[same] == self.order[same]:
            same += 1
        prefix = self.order[:same]
        placements = {i: self.tried.placements[i] for i in prefix if i not in self.tried.stuck}
        stuck = self.tried.stuck.intersection(prefix)
        for i in self.order[same:]:
            self.stop_check()
            offset = _first_fit(self.task, placements, i)
            if offset is None:
                stuck |= {i}
            else:
                placements[i] = offset
        self.tried = OrderPacking(tuple(self.order), placements, stuck)
        return self.tried

    def _swap_below_the_top(self, packing: OrderPacking) -> None:
        """Swap two buffers in the order, drawn at random around a buffer with the highest end.

        The first swapped buffer conflicts with the highest buffer and precedes it in the order. The second is another
        such buffer, or conflicts with such a buffer and precedes that buffer.
        """
        used = packing.used_ends(self.task)
        top = [i for i, (pool, at) in packing.placements.items() if at + self.task.buffers[i].size == used[pool]]
        top.sort(key=self.position.__getitem__)
        near, far = self._earlier_conflicts(top[self.random() % len(top)])
        if not near:
            return
        one = other = near[self.random() % len(near)]
        while other == one:
            those = far if far and self.random() % 100 > 25 else near
            other = those[self.random() % len(those)]
            # If all candidates are one buffer, TVM's code would draw forever, so stop the search.
            if (len(near) < 2 and len(far) < 2) or {one}.issuperset(near + far):
                break
        if one != other:
            self.swapped = self.position[one], self.position[other]
            self._swap_positions(*self.swapped)

    def _earlier_conflicts(self, i: int) -> tuple[list[int], list[int]]:
        """Return two lists of buffers that precede buffer `i` in the order of packing.

        Those in the first list conflict with `i`; those in the second list conflict with a buffer in the first list and
        precede it. Both lists are in the order of packing. A buffer found several times is listed several times.
        """
        infos, position = self.task.buffers, self.position
        near = [c for c in infos[i].conflicts if position[c] < position[i]]
        far = [d for c in infos[i].conflicts for d in infos[c].conflicts if position[d] < position[c]]
        return sorted(near, key=position.__getitem__), sorted(far, key=position.__getitem__)

    def _swap_positions(self, a: int, b: int) -> None:
        self.order[a], self.order[b] = self.order[b], self.order[a]
        self.position[self.order[a]], self.position[self.order[b]] = a, b


def _first_fit(task: UsmpWorkspace, placements: Placements, i: int) -> tuple[int, int] | None:
    """Return (the first pool with a free offset, the lowest such offset), or None if the buffer fits into no pool.

    Only offset 0 and the offsets directly above conflicts are tried. Unlike in the greedy planners, a pool is excluded
    if the buffer does not fit above one of its conflicts there, even if this conflict is above the gap found.
    """
    offsets = {pool: 0 for pool in task.buffers[i].pools if task.fits(i, pool, 0)}
    size = task.buffers[i].size
    placed = [(placements[c][1], c) for c in task.buffers[i].conflicts if c in placements]
    for offset, other in sorted(placed):
        pool = placements[other][0]
        if pool not in offsets:
            continue
        above = task.lowest_offset_above(i, other, pool, offset)
        if not task.fits(i, pool, above):
            del offsets[pool]
        elif above > offsets[pool] and offsets[pool] + size > offset:
            offsets[pool] = above
    return next(((pool, offsets[pool]) for pool in task.buffers[i].pools if pool in offsets), None)
