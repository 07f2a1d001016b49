"""CUDA graphs in shared pools: which graphs share a pool, the order of captures, and one buffer for all outputs.

Graphs that never run at once can share a private pool. A capture takes bytes that earlier captures freed, so the order
of captures changes the reserved bytes: each order is simulated. A graph's outputs are the storages that stay after its
capture. torch is not imported.
"""

import time
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import accumulate, chain, pairwise, permutations

from memplan.extensions.torch.inside.device import FitsOptions
from memplan.planner.errors import OptionError
from memplan.planner.model.application import Application
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import Buffer
from memplan.questions.question import Answer
from memplan.runtimes.torch.allocator_settings import AllocatorSettings
from memplan.runtimes.torch.caching_allocator import OWN_ROUNDING, Block, CachingAllocator
from memplan.runtimes.torch.snapshot import graph_of
from memplan.runtimes.torch.storages import StepMemory, Storage
from memplan.solvers.portfolio.solve import solve

_MOST_PERMUTED = 5
"""The largest number of graphs in a pool of which all orders are tried."""


class CapturePool(Answer):
    """CUDA graphs that share a pool: their best order of captures, and a lower bound on the bytes of every order."""

    graphs: tuple[str, ...]
    reserved: int
    lower_bound: int


class Captures(Answer):
    """CUDA graphs in shared pools, where no two graphs in a pool may run at once; sizes are bytes of the pools.

    `recorded` is the size in the recorded order of captures, `reserved` the size in the best of `tried` orders, and
    `is_least` is True if no order needs fewer bytes. `outputs` is the total size of all graphs' outputs. `outputs_peak`
    is the size of one buffer for all outputs, which is enough if a graph's outputs are read before any other graph
    runs, except graphs that may run at the same time.
    """

    pools: tuple[CapturePool, ...]
    recorded: int
    reserved: int
    tried: int
    is_least: bool
    outputs: int
    outputs_peak: int | None


@dataclass(frozen=True)
class GraphCapture:
    """The capture of a CUDA graph: its events up to those of the next graph, and its lasting storages."""

    name: str
    first: int
    last: int
    events: tuple[int, ...]
    outputs: tuple[int, ...]


def refuse_unknown_graphs(step: StepMemory, together: Sequence[Sequence[str]]) -> None:
    """Raise OptionError if `together` names a graph that a snapshot does not have."""
    names = dict.fromkeys(graph_of(row) for row in step.tensors if row.private)
    if unknown := [name for group in together for name in group if name not in names]:
        rule = f"must name CUDA graphs of the snapshot ({', '.join(names)})" if names else "must be omitted"
        got = unknown[0] if names else "a snapshot without CUDA graphs"
        raise OptionError(f"together: {rule}, got {got}")


def captures_of(step: StepMemory) -> list[GraphCapture] | str:
    """Return the captures of a snapshot's graphs as recorded, or a sentence why they cannot be reordered."""
    events: dict[str, list[int]] = {}
    for k, event in enumerate(step.events):
        tensor = step.tensors[event if event >= 0 else ~event]
        if tensor.private:
            events.setdefault(graph_of(tensor), []).append(k)
    if any(row.private and row.phase == "given" for row in step.tensors):
        return "the order of captures is open: some graphs were captured before the history begins"
    found = []
    for name, mine in events.items():
        last = max(k for k in mine if step.events[k] >= 0)
        last = next((k for k in range(last + 1, len(step.events)) if step.events[k] >= 0), len(step.events)) - 1
        own = tuple(step.events[k] for k in mine if k <= last)
        freed = {~event for event in own if event < 0}
        outputs = tuple(event for event in own if event >= 0 and event not in freed)
        found.append(GraphCapture(name, mine[0], last, own, outputs))
    found.sort(key=lambda each: each.first)
    for one, other in pairwise(found):
        if other.first < one.last:
            return (
                f"the order of captures is open: {one.name} and {other.name} allocate in turns; name each capture by "
                "torch.cuda.memory._set_memory_metadata(NAME)"
            )
    return found


def best_captures(
    step: StepMemory, captures: Sequence[GraphCapture], device: FitsOptions, settings: AllocatorSettings
) -> Captures:
    """Return the pools and the capture order that reserve the fewest bytes, within the time limit of `device`."""
    search = _OrderSearch(step.tensors, settings, time.monotonic() + device.time_limit_s)
    # Large graphs come first, and each graph joins the first pool whose graphs never run at the same time as the graph.
    pools: list[list[GraphCapture]] = []
    for each in sorted(captures, key=search.largest_first_key):
        beside = {name for group in device.together if each.name in group for name in group}
        pool = next((pool for pool in pools if not beside & {other.name for other in pool}), None)
        if pool is None:
            pools.append(pool := [])
        pool.append(each)
    recorded = sum(search.pool_bytes(sorted(pool, key=lambda each: each.first)) for pool in pools)
    orders = [search.best_order(pool) for pool in pools]
    found = tuple(
        CapturePool(
            graphs=tuple(each.name for each in order),
            reserved=search.pool_bytes(order),
            lower_bound=search.lower_bound(order),
        )
        for order in orders
    )
    return Captures(
        pools=found,
        recorded=recorded,
        reserved=sum(pool.reserved for pool in found),
        tried=search.tried,
        is_least=search.is_least,
        outputs=sum(settings.round_size(step.tensors[k].size) for each in captures for k in each.outputs),
        outputs_peak=_outputs_peak(step, captures, device, settings),
    )


class _OrderSearch:
    """The search over orders of captures in one pool, until a deadline; `tried` counts the simulated orders."""

    def __init__(self, tensors: Sequence[Storage], settings: AllocatorSettings, until: float) -> None:
        """Start without simulated orders; the search ends at `until`, a time of the monotonic clock."""
        self.tensors, self.settings, self.until = tensors, settings, until
        self.tried, self.is_least = 0, True

    def pool_bytes(self, order: Sequence[GraphCapture], below: int | None = None) -> int:
        """Return the bytes of a pool after captures in this order; the count ends once it reaches `below` bytes."""
        allocator, blocks = CachingAllocator(settings=self.settings), dict[int, Block]()
        for event in (event for capture in order for event in capture.events):
            row = self.tensors[event if event >= 0 else ~event]
            if row.size and event < 0:
                allocator.free_block(blocks.pop(~event))
            elif row.size:
                blocks[event] = allocator.malloc(row.size, row.stream, True)
            if below is not None and allocator.reserved >= below:
                break
        return allocator.reserved

    def largest_first_key(self, capture: GraphCapture) -> tuple[int, int]:
        """Return a sort key that puts graphs with larger pools first, and graphs of equal size in recorded order."""
        return -self.pool_bytes([capture]), capture.first

    def best_order(self, falling: list[GraphCapture]) -> list[GraphCapture]:
        """Return the best order found: the best of all for few graphs, else the result of moving single graphs."""
        least, is_few = self.lower_bound(falling), len(falling) <= _MOST_PERMUTED
        order, found = falling, self.pool_bytes(falling)
        queue: Iterator[list[GraphCapture]] = map(list, permutations(falling))
        if not is_few:
            queue = chain([falling[::-1]], _moved_orders(falling))
        while found > least and (tried := next(queue, None)) is not None:
            if time.monotonic() > self.until:
                break
            self.tried += 1
            reserved = self.pool_bytes(tried, found)
            if reserved < found:
                order, found = tried, reserved
                queue = queue if is_few else _moved_orders(order)
        self.is_least = self.is_least and (found <= least or (is_few and next(queue, None) is None))
        return order

    def lower_bound(self, captures: Sequence[GraphCapture]) -> int:
        """Return a lower bound on the bytes of a pool in any order of captures.

        When the last capture reaches its live peak, the outputs of all others are alive as well.
        """
        kept, peaks = list[int](), list[int]()
        for capture in captures:
            rows = [(event, self.tensors[event if event >= 0 else ~event].size) for event in capture.events]
            live = [*accumulate(self.settings.round_size(size) * (1 if event >= 0 else -1) for event, size in rows)]
            kept.append(live[-1])
            peaks.append(max(live))
        last = sum(kept) + min(peak - own for peak, own in zip(peaks, kept, strict=True))
        return -(-max(last, *peaks) // OWN_ROUNDING) * OWN_ROUNDING


def _moved_orders(order: list[GraphCapture]) -> Iterator[list[GraphCapture]]:
    for k in range(len(order)):
        rest = [*order[:k], *order[k + 1 :]]
        yield from ([*rest[:place], order[k], *rest[place:]] for place in range(len(order)) if place != k)


def _outputs_peak(
    step: StepMemory, captures: Sequence[GraphCapture], device: FitsOptions, settings: AllocatorSettings
) -> int | None:
    """Return the bytes of one buffer for all graphs' outputs; None if no plan was found.

    A graph's outputs are alive while this graph or a graph that may run at the same time runs.
    """
    sizes = {each.name: [settings.round_size(step.tensors[k].size) for k in each.outputs] for each in captures}
    models = {
        name: Problem(buffers=[Buffer(id=k, size=size, start=0, end=1) for k, size in enumerate(mine)])
        for name, mine in sizes.items()
        if mine
    }
    groups = tuple(tuple(name for name in group if name in models) for group in device.together)
    if not models:
        return 0
    return solve(Application(models=models, together=groups).problem, time_limit_s=device.time_limit_s).peak


def step_in_order(
    step: StepMemory, captures: Sequence[GraphCapture], found: Captures, *, outputs_freed: bool = False
) -> StepMemory:
    """Return a step whose graphs are captured in other pools and another order, as `found` states.

    With `outputs_freed`, the outputs of a graph are freed directly after its capture. Otherwise, an output that was
    freed after all captures is freed at the same event if its capture is over by then, and stays to the end if not.
    """
    by_name = {each.name: each for each in captures}
    order = [by_name[name] for pool in found.pools for name in pool.graphs]
    pool_of = {name: (0, 1 + k) for k, pool in enumerate(found.pools) for name in pool.graphs}
    at = {each.first: order[k] for k, each in enumerate(captures)}
    made = copy(step)
    made.tensors = [replace(row, private=pool_of[graph_of(row)]) if row.private else row for row in step.tensors]
    made.events, made.released = [], set()
    inside = {k for each in captures for k in range(each.first, each.last + 1)}
    over = set[str]()
    for k, event in enumerate(step.events):
        if k in step.released:
            made.released.add(len(made.events))
        if (capture := at.get(k)) is not None:
            made.events += capture.events
            made.events += [~output for output in capture.outputs] if outputs_freed else []
            over.add(capture.name)
        tensor = step.tensors[event if event >= 0 else ~event]
        is_later_free = event < 0 and k not in inside and not outputs_freed
        if not tensor.private or (is_later_free and graph_of(tensor) in over):
            made.events.append(event)
    if len(step.events) in step.released:
        made.released.add(len(made.events))
    return made
