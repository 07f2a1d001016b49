"""Orders that need no other package: the given one, and a dynamic program over all states."""

from __future__ import annotations

import time
from collections.abc import Sequence

from memplan.planner.operations.graph import OperationGraph
from memplan.planner.operations.order_check import peak_of

_LOOK_EVERY = 1000


def given_order(graph: OperationGraph, _: float) -> Sequence[int]:
    """Return the given order."""
    return range(len(graph.ops))


def downsets(graph: OperationGraph, time_limit_s: float) -> Sequence[int] | None:
    """Return an order with the least peak, by the number of operations that have run; None where time runs out.

    States above the peak of the given order are left out. Source: Ahn et al., Ordering Chaos, MLSys 2020 (SERENITY).
    """
    deadline = time.monotonic() + time_limit_s
    n, size = len(graph.ops), graph.counted
    needs = [sum(1 << u for u in row) for row in graph.predecessors]
    readers = [sum(1 << v for v in row) for row in graph.readers]
    kept = set(graph.kept)
    budget = peak_of(graph, range(n))
    start = sum(size[t] for t, maker in enumerate(graph.maker) if maker is None and (readers[t] or t in kept))
    level: dict[int, tuple[int, int]] = {0: (start, start)}
    back: list[dict[int, int]] = []
    for _ in range(n):
        found: dict[int, tuple[int, int]] = {}
        came: dict[int, int] = {}
        for count, (done, (peak, live)) in enumerate(level.items()):
            if count % _LOOK_EVERY == 0 and time.monotonic() > deadline:
                return None
            for v in range(n):
                if done >> v & 1 or needs[v] & ~done:
                    continue
                made = live + sum(size[t] for t in graph.made[v])
                top = max(peak, made + graph.ops[v].work)
                after = done | 1 << v
                if top <= budget and (after not in found or top < found[after][0]):
                    found[after] = top, made - _freed(graph, readers, kept, v, after)
                    came[after] = v
        back.append(came)
        level = found
    order, state = [], (1 << n) - 1
    for came in reversed(back):
        order.append(came[state])
        state &= ~(1 << order[-1])
    return order[::-1]


def _freed(graph: OperationGraph, readers: Sequence[int], kept: set[int], v: int, done: int) -> int:
    """Return the bytes that nobody needs once an operation has run."""
    touched = {*graph.ops[v].inputs, *graph.ops[v].outputs}
    return sum(graph.counted[t] for t in touched if t not in kept and not readers[t] & ~done)
