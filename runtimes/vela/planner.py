"""The hill climb of Vela, Arm's compiler for Ethos-U: first fit in an order that is improved around the highest buffer.

Source: ethos-u-vela 5.2.0, ethosu/vela/hillclimb_allocation.py (HillClimbAllocator), called by tensor_allocation.py
with at most 99,999 iterations and the size of the pool. It uses Python's random numbers from seed 1, so its plans are
deterministic, and this reimplementation gives the same placements.
"""

from dataclasses import dataclass, field
from random import Random

from memplan.planner.model.problem import Problem
from memplan.solvers.reference.tensors import PlannerAnswer, StopCheck, Tensor, align, tensor_alignment, tensors

MAX_ITERATIONS = 99_999
STUCK = 50
"""After this number of iterations without improvement, each iteration swaps a second pair of buffers."""
PATIENCE = 500
"""After this number of iterations without improvement, a plan that fits is final."""
NO_LIMIT = 2**32
"""The capacity in bytes that Vela assumes for a pool without a size."""
NOT_PLACED = -1


def hill_climb(problem: Problem, seed: int, stop_check: StopCheck) -> PlannerAnswer:
    """Place all buffers as Vela does. The search ends early once a plan fits the capacity and no longer improves."""
    rows = tensors(problem)
    ranges = _live_ranges(problem, [tensor for tensor in rows if tensor.start < tensor.end], stop_check)
    offset = {tensor.position: 0 for tensor in rows}
    if ranges:
        size = problem.pools[0].size
        addresses = _OrderSearch(ranges, NO_LIMIT if size is None else size, stop_check).best_addresses()
        offset.update((one.tensor.position, address) for one, address in zip(ranges, addresses, strict=True))
    return PlannerAnswer({position: (0, where) for position, where in offset.items()})


@dataclass(eq=False)
class _LiveRange:
    """A buffer, and where the latest attempt placed it."""

    tensor: Tensor
    index: int
    alignment: int
    urgency: int = 0
    neighbours: "list[_LiveRange]" = field(default_factory=list)
    address: int = NOT_PLACED
    end_address: int = 0
    predecessor: "_LiveRange | None" = None
    turn: int = 0

    @property
    def priority(self) -> tuple[int, int, int, int, int]:
        """The sort key of the initial order: high memory load, then long lifetime, early start, large size."""
        start, end = self.tensor.start, self.tensor.end
        return -self.urgency, start - end, start, -self.tensor.size, self.index

    def place(self) -> None:
        """Move to the lowest free address; the predecessor becomes the last range that pushed this range upward."""
        address, size = 0, self.tensor.size
        pushed, pusher = True, None
        while pushed:
            pushed = False
            for other in self.neighbours:
                if other.address == NOT_PLACED or other.end_address <= address:
                    continue
                if other.address < address + size:
                    pushed, pusher = True, other
                    address = align(other.end_address, self.alignment)
        self.address, self.end_address, self.predecessor = address, address + size, pusher


def _live_ranges(problem: Problem, alive: list[Tensor], stop_check: StopCheck) -> list[_LiveRange]:
    """Return the live ranges, each with its neighbours: the ranges alive at some time together with it.

    Neighbours are sorted by the first common time, then by position. The original visits every time step. This code
    visits only the steps at which a buffer starts, with the same result.
    """
    ranges = [_LiveRange(tensor, i, tensor_alignment(problem, tensor, 0)) for i, tensor in enumerate(alive)]
    for time in sorted({tensor.start for tensor in alive}):
        stop_check()
        together = [one for one in ranges if one.tensor.start <= time < one.tensor.end]
        load = sum(one.tensor.size for one in together)
        starting = {one.index for one in together if one.tensor.start == time}
        for one in together:
            one.urgency = max(one.urgency, load)
            is_new = one.index in starting
            one.neighbours.extend(
                other for other in together if other is not one and (is_new or other.index in starting)
            )
    return ranges


class _OrderSearch:
    """The search for an order of placement; `ranges` has the placements of the latest attempt, completed or not."""

    def __init__(self, ranges: list[_LiveRange], memory_limit: int, stop_check: StopCheck) -> None:
        """Start with the random numbers of seed 1, as Vela does, and without a plan."""
        self.ranges = ranges
        self.memory_limit = memory_limit
        self.stop_check = stop_check
        self.random = Random(1)
        self.best_size = 2**63

    def best_addresses(self) -> list[int]:
        """Run the search, and return the addresses of the best plan that it finds, in the order of the ranges."""
        order = [one.index for one in sorted(self.ranges, key=lambda one: one.priority)]
        self.best_size = self._place_in(order)
        addresses = [one.address for one in self.ranges]
        least = max(one.urgency for one in self.ranges)
        best_order, last_gain, i = order[:], 0, 0
        while self.best_size > least and (
            (self.best_size > self.memory_limit and i < MAX_ITERATIONS) or i - last_gain < PATIENCE
        ):
            self._swap_positions(order, i - last_gain)
            size = self._place_in(order)
            if size > self.best_size:
                order = best_order[:]
            else:
                last_gain = i if size < self.best_size else last_gain
                self.best_size, best_order = size, order[:]
                addresses = [one.address for one in self.ranges]
            i += 1
        return addresses

    def _place_in(self, order: list[int]) -> int:
        """Place the ranges in an order, and return the peak; stop as soon as the peak exceeds the best one."""
        for one in self.ranges:
            one.address = NOT_PLACED
        size = 0
        for turn, index in enumerate(order):
            self.stop_check()
            one = self.ranges[index]
            one.place()
            one.turn = turn
            size = max(size, one.end_address)
            if size > self.best_size:
                break
        return size

    def _swap_positions(self, order: list[int], stuck: int) -> None:
        """Swap two positions in the order, drawn at random around the range with the highest end.

        After `stuck` attempts without progress, more than STUCK, also swap a second pair, drawn from a wider set.
        """
        # Of several ranges with the highest end, `max` returns the first one, as Vela does.
        bottleneck = max(self.ranges, key=lambda one: one.end_address)
        # The order of the positions affects the random choice, so a dictionary serves as an ordered set.
        turns: dict[int, None] = {}
        for one in (bottleneck, *bottleneck.neighbours):
            self._add_chain(turns, one)
        involved = list(turns)
        apart = [turn for turn in involved if not bottleneck.tensor.meets(self.ranges[order[turn]].tensor)]
        # Gaps come from buffers that are never alive together with the highest buffer, so choose these more often.
        few = apart if self.random.randint(0, 100) < 30 and apart else involved
        a = few[self.random.randint(0, len(few) - 1)]
        b = involved[self.random.randint(0, max(0, len(involved) - 2))]
        self._exchange_positions(order, a, involved[-1] if a == b else b)
        if stuck > STUCK:
            for turn in apart:
                turns.update((other.turn, None) for other in self.ranges[order[turn]].neighbours)
            involved = list(turns)
            a, b = (involved[self.random.randint(0, len(involved) - 1)] for _ in range(2))
            self._exchange_positions(order, a, b)

    @staticmethod
    def _add_chain(turns: dict[int, None], one: _LiveRange | None) -> None:
        while one is not None:
            turns.setdefault(one.turn)
            one = one.predecessor

    @staticmethod
    def _exchange_positions(order: list[int], a: int, b: int) -> None:
        order[a], order[b] = order[b], order[a]
