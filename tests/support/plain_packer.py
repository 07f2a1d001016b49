"""Pack one pool with every constraint kind, in plain Python."""

from bisect import insort
from collections.abc import Iterable, Iterator
from itertools import pairwise

from memplan.planner.instance.instance import I64_MAX, Instance
from memplan.planner.model.buffer_table import ABSENT, I64, column
from memplan.solvers.formulation.pair_rules import PairRules
from tests.support.plain_bodies import Body, PlainBodies


class ConflictMasks:
    """Bit masks of conflicts: buffers `i` and `j` conflict if shows[i] & asks[j] is not 0.

    Bit t of `shows[i]` means that buffer `i` is alive in live set t; if there are explicit conflicts, one further bit
    identifies the buffer. `asks[i]` has the same live sets, the bits of the buffers in explicit conflict with `i`, and
    a bit that only `reserved` ranges show.
    """

    def __init__(self, instance: Instance) -> None:
        alive = [0] * len(instance)
        for i, start, end in zip(
            instance.lifetime_buffer.tolist(), instance.start.tolist(), instance.end.tolist(), strict=True
        ):
            alive[i] |= (1 << end) - (1 << start)
        self.reserved = 1 << instance.n_live_sets
        self.shows, self.asks = alive, [mask | self.reserved for mask in alive]
        if len(instance.conflict):
            name = [self.reserved << (i + 1) for i in range(len(instance))]
            paired = neighbours(instance.conflict_first, instance.conflict)
            self.shows = [mask | name[i] for i, mask in enumerate(self.shows)]
            self.asks = [mask | sum(name[j] for j in paired[i]) for i, mask in enumerate(self.asks)]


def neighbours(first: I64, neighbour: I64) -> list[list[int]]:
    """Return symmetric adjacency arrays as lists."""
    bounds, flat = first.tolist(), neighbour.tolist()
    return [flat[low:high] for low, high in pairwise(bounds)]


class PlainPacker:
    """A packer with rigid groups, sharing pairs, pages and banks; its time grows with the square of the buffers.

    A body is placed when the first of its members is met, completely or, if it does not fit, not at all. First fit
    takes the lowest offset, which may be shared; the `glued` pairs share an offset if they can. The packer stops soon
    after `flag` becomes 1.
    """

    def __init__(self, instance: Instance, flag: I64 | None = None, glued: Iterable[tuple[int, int]] = ()) -> None:
        self.instance, self.glued = instance, tuple(glued)
        self.flag = column([0]) if flag is None else flag
        self.size = instance.size.tolist()
        self.masks = ConflictMasks(instance)
        self.share = neighbours(instance.share_first, instance.share)
        self._bodies: dict[int, PlainBodies] = {}
        self.rules: dict[int, PairRules] = {}

    def pack(self, q: int, order: I64, best_fit: bool = False) -> I64:
        """Return the offsets of the buffers of `order` in pool `q`, in O(buffers^2) time.

        A rigid group must be in `order` completely, or not at all.
        """
        if q not in self._bodies:
            self._bodies[q] = PlainBodies(self.instance, q, self.glued)
            self.rules[q] = PairRules.from_pool(self.instance, q)
        floor = _Floor(self, q)
        offset: dict[int, int | None] = dict.fromkeys(order.tolist())
        is_met: set[int] = set()
        for i in offset:
            if self.flag[0] != 0:
                break
            if i in is_met:
                continue
            body = self._bodies[q].body_of(i)
            is_met.update(body.members)
            at = floor.fit(body, best_fit)
            for j, distance in zip(body.members, body.distances, strict=True):
                if j in offset and at is not None:
                    floor.put(j, at + distance)
                    offset[j] = at + distance
        return column([ABSENT if at is None else at for at in offset.values()])


class _Floor:
    """The state of one pool while it is being filled."""

    def __init__(self, packer: PlainPacker, q: int) -> None:
        self.packer = packer
        self.rules = packer.rules[q]
        reserved = packer.masks.reserved
        self.rows = [(low, high, reserved, ABSENT) for low, high in packer.instance.pools[q].reserved.tolist()]
        self.at: dict[int, int] = {}

    def put(self, i: int, at: int) -> None:
        insort(self.rows, (at, at + self.packer.size[i], self.packer.masks.shows[i], i))
        self.at[i] = at

    def fit(self, body: Body, best_fit: bool) -> int | None:
        """Return the lowest free offset for a body or, with best fit, a shared offset or the smallest gap's start."""
        best, least = None, I64_MAX
        at, shared = body.next_offset(body.lowest), self._shared_offsets(body) if best_fit else ()
        for low, high in sorted(self._blocked_ranges(body)):
            if at is None:
                return best
            if low > at:
                if not best_fit or at in shared:
                    return at
                if best is None or low - at < least:
                    best, least = at, low - at
            if high > at:
                at = body.next_offset(high)
        return at if at is not None and (best is None or I64_MAX - at < least) else best

    def _shared_offsets(self, body: Body) -> set[int]:
        members = zip(body.members, body.distances, strict=True)
        return {self.at[j] - distance for i, distance in members for j in self.packer.share[i] if j in self.at}

    def _blocked_ranges(self, body: Body) -> list[tuple[int, int]]:
        found = list(body.barred)
        for i, distance in zip(body.members, body.distances, strict=True):
            asks, share, reach = self.packer.masks.asks[i], self.packer.share[i], self.packer.size[i] - 1
            for low, high, shows, j in self.rows:
                if asks & shows:
                    at = low - distance
                    blocked = (at - reach, high - distance)
                    found += [(blocked[0], at), (at + 1, blocked[1])] if j in share else [blocked]
            found += [(low - distance - reach, high - distance) for low, high in self._pair_ranges(i)]
        return found

    def _pair_ranges(self, i: int) -> Iterator[tuple[int, int]]:
        rules = self.rules
        for k in range(int(rules.first[i]), int(rules.first[i + 1])):
            j, clearance, grid = (int(values[k]) for values in (rules.other, rules.clearance, rules.grid))
            if j in self.at:
                low, high = self.at[j] - clearance, self.at[j] + self.packer.size[j] + clearance
                if grid > 1:
                    low = (low + rules.shift) // grid * grid - rules.shift
                    high = -(-(high + rules.shift) // grid) * grid - rules.shift
                yield low, high
