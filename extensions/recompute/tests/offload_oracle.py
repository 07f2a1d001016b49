"""An oracle for the minimum time of programs with a link: a search of all states, without code of the product."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from heapq import heappop, heappush
from math import ceil

from memplan.programs.operations.graph import OperationGraph

State = tuple[int, int, int, tuple[tuple[int, int], ...]]
"""The operations that have run, the tensors in memory, the tensors at the other end (all bit sets), and the running
operation, the sent tensor and the fetched tensor, each as (number, remaining time); the number is -1 for none."""
_RUN, _SEND, _FETCH = range(3)


def min_time(graph: OperationGraph, costs: Sequence[int], link: float, budget: int) -> int | None:
    """Return the minimum time of programs within a budget in bytes, or None if no program is within it.

    Steps begin when others end, as an earlier start never hurts. Only graphs in which no tensor is written twice, and
    without control edges, are supported.
    """
    size, kept = graph.size, sum(1 << t for t in set(graph.kept))
    given = sum(1 << t for t, v in enumerate(graph.maker) if v is None and (graph.readers[t] or t in graph.kept))
    reads = [sum(1 << t for t in set(row.inputs)) for row in graph.ops]
    makes = [sum(1 << t for t in set(row.outputs)) for row in graph.ops]
    transfer = [ceil(bytes_ / Fraction(repr(link))) if link and bytes_ else None for bytes_ in size]
    every = (1 << len(graph.ops)) - 1

    def bytes_of(tensors: int) -> int:
        return sum(bytes_ for t, bytes_ in enumerate(size) if tensors >> t & 1)

    def next_states(state: State) -> Iterator[tuple[int, State]]:
        done, memory, apart, busy = state
        (run, run_left), (send, send_left), (fetch, fetch_left) = busy
        used = (reads[run] if run >= 0 else 0) | (1 << send if send >= 0 else 0)
        coming = (makes[run] if run >= 0 else 0) | (1 << fetch if fetch >= 0 else 0)
        is_tight = False
        now = bytes_of(memory | coming) + (graph.ops[run].work if run >= 0 else 0)
        if run < 0:
            for v, row in enumerate(graph.ops):
                if reads[v] & ~memory or makes[v] & coming:
                    continue
                if makes[v] & memory or now + bytes_of(makes[v]) + row.work > budget:
                    is_tight = True
                else:
                    yield 0, (done, memory, apart, ((v, costs[v]), *busy[1:]))
        for t, duration in enumerate(transfer):
            bit = 1 << t
            if duration is None:
                continue
            if send < 0 and memory & bit and not apart & bit:
                yield 0, (done, memory, apart, (busy[0], (t, duration), busy[2]))
            if fetch < 0 and apart & bit and not (memory | coming) & bit:
                if now + size[t] > budget:
                    is_tight = True
                else:
                    yield 0, (done, memory, apart, (*busy[:2], (t, duration)))
        # Drop tensors only if some other tensor does not fit in addition.
        for t in range(len(size) if is_tight else 0):
            if memory & ~used & ~coming & 1 << t:
                yield 0, (done, memory & ~(1 << t), apart, busy)
        if any(what >= 0 for what, _ in busy):
            step = min(left for what, left in busy if what >= 0)
            rest = tuple((what, left - step) if what >= 0 and left > step else (-1, 0) for what, left in busy)
            if run >= 0 and run_left == step:
                done, memory = done | 1 << run, memory | makes[run]
            if send >= 0 and send_left == step:
                apart |= 1 << send
            if fetch >= 0 and fetch_left == step:
                memory |= 1 << fetch
            yield step, (done, memory, apart, rest)

    idle = ((-1, 0),) * 3
    queue: list[tuple[int, int, State]] = [(0, 0, (0, given, 0, idle))]
    best: dict[State, int] = {queue[0][2]: 0}
    if bytes_of(given) > budget:
        return None
    count = 0
    while queue:
        time, _, state = heappop(queue)
        if best[state] < time:
            continue
        if state[0] == every and not kept & ~state[1] and all(what < 0 for what, _ in state[3][::2]):
            return time
        for more, after in next_states(state):
            if best.get(after, time + more + 1) > time + more:
                best[after] = time + more
                count += 1
                heappush(queue, (time + more, count, after))
    return None
