"""Oracles for recomputation by searches of all states, which share no code with the product."""

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush

from memplan.programs.operations.graph import OperationGraph


def min_extra_cost(graph: OperationGraph, costs: Sequence[int], budget: int) -> int | None:
    """Return the minimum cost of repeated runs within a budget in bytes, or None if no program is within it.

    A state is the set of operations that have run and the tensors in memory, any of which may be dropped at any time.
    An output may take the place of an input that it may overwrite, even of a kept one that is made again later. Only
    graphs in which no tensor is written twice, and without control edges, are supported.
    """
    n, size = len(graph.ops), graph.size
    unmade = (t for t, maker in enumerate(graph.maker) if maker is None)
    given = frozenset(t for t in unmade if graph.readers[t] or t in graph.kept)
    kept = frozenset(graph.kept)
    everything = frozenset(range(n))
    queue: list[tuple[int, int, frozenset[int], frozenset[int]]] = [(0, 0, frozenset(), given)]
    best: dict[tuple[frozenset[int], frozenset[int]], int] = {}
    count = 0
    if sum(size[t] for t in given) > budget:
        return None
    while queue:
        cost, _, done, memory = heappop(queue)
        if best.get((done, memory), cost + 1) <= cost:
            continue
        best[done, memory] = cost
        if done == everything and kept <= memory:
            return cost
        steps = [(cost, done, memory - {t}) for t in memory]
        for v, row in enumerate(graph.ops):
            if memory.issuperset(row.inputs):
                held = memory | set(row.outputs)
                for over in _overwritings(graph, v, row.may_overwrite):
                    if sum(size[t] for t in held) + row.work - sum(size[output] for output in over) <= budget:
                        steps.append((cost + (costs[v] if v in done else 0), done | {v}, held - {*over.values()}))
        for more, ran, held in steps:
            if best.get((ran, held), more + 1) > more:
                count += 1
                heappush(queue, (more, count, ran, held))
    return None


def _overwritings(graph: OperationGraph, v: int, pairs: Sequence[tuple[int, int]]) -> Iterator[dict[int, int]]:
    """Yield each choice of outputs of an operation that overwrite inputs, as a map from outputs to inputs."""
    if not pairs:
        yield {}
        return
    row, (k, j) = graph.ops[v], pairs[0]
    output, tensor = row.outputs[k], row.inputs[j]
    for over in _overwritings(graph, v, pairs[1:]):
        yield over
        is_free = output not in over and tensor not in over.values() and tensor not in (*row.outputs, *graph.resident)
        if is_free and output in graph.new_tensors[v] and 0 < graph.size[output] <= graph.size[tensor]:
            yield {**over, output: tensor}


def min_peak(graph: OperationGraph, clones: Sequence[int]) -> int:
    """Return the minimum peak of all sequences in which each operation runs once, and each clone once more.

    The graphs supported are those of `min_extra_cost`.
    """
    size = graph.working_bytes
    given = frozenset(t for t, v in enumerate(graph.maker) if v is None and (graph.readers[t] or t in graph.kept))
    kept = frozenset(graph.kept) - {t for t in graph.kept if graph.maker[t] is None and t not in given}
    runs = tuple(1 + list(clones).count(v) for v in range(len(graph.ops)))
    queue = [(sum(size[t] for t in given), runs, tuple(sorted(given)))]
    seen: set[tuple[tuple[int, ...], tuple[int, ...]]] = set()
    while queue:
        peak, left, held = heappop(queue)
        if (left, held) in seen:
            continue
        seen.add((left, held))
        memory = frozenset(held)
        if not any(left) and kept <= memory:
            return peak
        for t in memory:
            heappush(queue, (peak, left, tuple(sorted(memory - {t}))))
        for v, row in enumerate(graph.ops):
            if left[v] and memory.issuperset(row.inputs):
                now = memory.union(row.outputs)
                most = max(peak, sum(size[t] for t in now) + row.work)
                heappush(queue, (most, (*left[:v], left[v] - 1, *left[v + 1 :]), tuple(sorted(now))))
    raise AssertionError("the given order is one of them")


def bytes_of_runs(graph: OperationGraph, runs: Sequence[int]) -> int:
    """Return the live peak in bytes of a sequence of runs, some repeated; a reader reads the latest clone."""
    uses: list[list[tuple[str, int]]] = [[] for _ in graph.size]
    for step, v in enumerate(runs):
        for t in dict.fromkeys((*graph.ops[v].inputs, *graph.ops[v].outputs)):
            uses[t].append(("make" if t in graph.new_tensors[v] else "use", step))
    alive = [0] * max(1, len(runs))
    for t, rows in enumerate(uses):
        spans: list[tuple[int, int]] = []
        if graph.maker[t] is None and (rows or t in graph.kept):
            spans.append((0, 0))
        for what, step in rows:
            if what == "make":
                spans.append((step, step))
            else:
                spans[-1] = (spans[-1][0], step)
        if t in graph.kept and spans:
            spans[-1] = (spans[-1][0], len(alive) - 1)
        for first, last in spans:
            for step in range(first, last + 1):
                alive[step] += graph.working_bytes[t]
    for step, v in enumerate(runs):
        alive[step] += graph.ops[v].work
    return max(alive)
