"""Random operation graphs, and their minimum peak by enumerating all states; independent of the product."""

import random
from typing import Any

from memplan.programs.operations.graph import GraphOperation, OperationGraph

_INNER = [{"out": [0]}, {"out": [2]}, {"in": [0], "out": [1]}, {"in": [2], "out": [3]}, {"in": [1, 3], "out": [4]}]
_REGION = {"kind": "call", "graph": {"size": [100, 1, 100, 1, 1], "kept": [4], "ops": _INNER}}
_OUTER = {"in": [0], "out": [1], "work": 201, "regions": [_REGION]}
ORDERED_INSIDE: dict[str, Any] = {"size": [4, 1], "given": [0], "kept": [1], "ops": [_OUTER]}
"""One operation that needs 206 bytes as given, and 107 if its region never has both large tensors at once."""
_SUM_OPS = [*({"out": [k]} for k in range(4)), {"in": [0, 1], "out": [4]}, {"in": [2, 3], "out": [5]}]
SUMS: dict[str, Any] = {"name": "sums", "size": [8, 8, 8, 8, 1, 1], "kept": [4, 5], "ops": _SUM_OPS}
"""Two sums: in the given order, the inputs of both are alive at once; in pairs, those of one sum at a time."""
_SIZES = (64, 256, 512, 1024)


def random_graph(rng: random.Random, n: int) -> OperationGraph:
    """Return a graph of `n` operations: given and resident tensors, several outputs or none, zero sizes, work, edges.

    Some operations recompute a tensor that an earlier one made, or that was given.
    """
    size: list[int] = [rng.randint(0, 9) for _ in range(rng.randint(0, 3))]
    n_given = len(size)
    kept = [t for t in range(len(size)) if rng.random() < 0.1]
    ops = []
    for v in range(n):
        inputs = rng.sample(range(len(size)), min(len(size), rng.choice([0, 1, 1, 2, 2, 3])))
        outputs = list(range(len(size), len(size) + rng.choice([0, 1, 1, 1, 2])))
        size += [rng.choice([0, 1, 2, 5, 9, rng.randint(0, 20)]) for _ in outputs]
        kept += [t for t in outputs if rng.random() < 0.15]
        after = [rng.randrange(v)] if v and rng.random() < 0.1 else []
        work = rng.choice([0, 0, 0, rng.randint(0, 12)])
        if len(size) > len(outputs) and rng.random() < 0.15:
            outputs.append(rng.randrange(len(size) - len(outputs)))
        ops.append(_op(inputs, outputs, work, after))
    given = tuple(range(n_given))
    resident = tuple(t for t in given if rng.random() < 0.2)
    return OperationGraph(size=tuple(size), kept=tuple(kept), given=given, resident=resident, ops=tuple(ops))


def training_chain(rng: random.Random, length: int) -> OperationGraph:
    """Return a training step of `length` layers, one after another: a forward pass, then a backward pass."""
    half = [rng.choice(_SIZES) for _ in range(length)]
    ops: list[dict[str, Any]] = [
        {"in": [v - 1] if v else [], "out": [v], "cost": rng.randint(1, 300)} for v in range(length)
    ]
    for v in range(length):
        layer = length - 1 - v
        reads = {layer - 1, layer, length + v - 1 if v else layer} - {-1}
        ops.append({"in": sorted(reads), "out": [length + v], "cost": rng.randint(1, 60)})
    return OperationGraph.model_validate({"size": [*half, *reversed(half)], "ops": ops})


def plain_graph(rng: random.Random, n: int) -> OperationGraph:
    """Return a random graph without control edges and recomputed tensors, as `least_extra_cost` requires."""
    graph = random_graph(rng, n)
    ops = [
        row.model_copy(update={"outputs": graph.new_tensors[v], "after": (), "cost": rng.randint(0, 5)})
        for v, row in enumerate(graph.ops)
    ]
    return OperationGraph(size=graph.size, kept=graph.kept, ops=tuple(ops))


def add_pairs(rng: random.Random, graph: OperationGraph) -> OperationGraph:
    """Return a graph whose operations may write outputs over inputs: random pairs, valid and invalid."""
    ops = []
    for row in graph.ops:
        pairs = [(k, j) for k in range(len(row.outputs)) for j in range(len(row.inputs)) if rng.random() < 0.7]
        ops.append(row.model_copy(update={"may_overwrite": tuple(pairs)}))
    return OperationGraph(size=graph.size, kept=graph.kept, given=graph.given, resident=graph.resident, ops=tuple(ops))


def twin_graph(rng: random.Random) -> OperationGraph:
    """Return copies of a small random subgraph between a source and a join."""
    size = [rng.randint(1, 9), rng.randint(0, 9)]
    ops = [_op([], [0, 1])]
    n = rng.randint(1, 3)
    plan = [
        ([rng.randrange(2 + v) for _ in range(rng.randint(1, 2))], [rng.randint(0, 20)], rng.choice([0, 5]))
        for v in range(n)
    ]
    ends = []
    for _ in range(rng.randint(2, 3 if n < 3 else 2)):
        names = [0, 1]
        for inputs, sizes, work in plan:
            made = list(range(len(size), len(size) + len(sizes)))
            size += sizes
            ops.append(_op(sorted({names[k] for k in inputs}), made, work))
            names += made[:1]
        ends.append(names[-1])
    size.append(rng.randint(0, 5))
    return OperationGraph(size=tuple(size), ops=(*ops, _op(sorted(set(ends)), [len(size) - 1])))


def random_tree(rng: random.Random, n: int) -> OperationGraph:
    """Return an in-tree: each operation makes one tensor, which one later operation reads; the last one is the root."""
    reader = [rng.randint(v + 1, min(n - 1, v + 1 + rng.choice([1, 3, n]))) for v in range(n - 1)]
    size = tuple(rng.randint(1, 100) for _ in range(n))
    inputs: list[list[int]] = [[] for _ in range(n)]
    for v, w in enumerate(reader):
        inputs[w].append(v)
    return OperationGraph(size=size, ops=tuple(_op(row, [v], rng.choice([0, 0, 30])) for v, row in enumerate(inputs)))


def layered_graph(rng: random.Random, n: int, width: int) -> OperationGraph:
    """Return `n` operations in layers, each of which reads from the two layers before it."""
    size: list[int] = []
    ops: list[GraphOperation] = []
    layers: list[list[int]] = [[], []]
    while len(ops) < n:
        pool = layers[-2] + layers[-1]
        layers.append([])
        for _ in range(min(width, n - len(ops))):
            layers[-1].append(len(size))
            inputs = rng.sample(pool, min(len(pool), rng.choice([1, 1, 2, 3])))
            ops.append(_op(inputs, [len(size)], rng.choice([0, 0, rng.randint(0, 256)])))
            size.append(rng.choice([1, 2, 4, 8, 16]) * rng.randint(1, 64))
    return OperationGraph(size=tuple(size), ops=tuple(ops))


def min_peak(graph: OperationGraph) -> int:
    """Return the minimum peak over all orders, as the bottleneck path over all sets of completed operations."""
    n, kept = len(graph.ops), set(graph.kept)
    makes = [set(row.outputs) for row in graph.ops]
    reads = [set(row.inputs) for row in graph.ops]
    there_first = {*graph.given, *graph.resident}
    maker = {t: v for v in reversed(range(n)) for t in makes[v] - there_first}
    size = [0 if t in graph.resident else bytes_ for t, bytes_ in enumerate(graph.size)]
    touches = [makes[v] | reads[v] for v in range(n)]
    needs = [
        {u for u in range(v) if makes[u] & touches[v] or touches[u] & makes[v]} | set(graph.ops[v].after)
        for v in range(n)
    ]

    def live_bytes(done: int) -> int:
        there = [t for t in range(len(graph.size)) if t not in maker or done >> maker[t] & 1]
        is_read = {t for v in range(n) if not done >> v & 1 for t in touches[v]}
        return sum(size[t] for t in there if t in kept or t in is_read)

    best = {0: live_bytes(0)}
    for done in range(1 << n):
        if done not in best:
            continue
        before = live_bytes(done)
        for v in range(n):
            if done >> v & 1 or any(not done >> u & 1 for u in needs[v]):
                continue
            made = [t for t in makes[v] if maker.get(t) == v]
            free, op = reads[v] - makes[v] - kept - {*graph.resident}, graph.ops[v]
            free = {t for t in free if _is_last(touches, t, done | 1 << v, maker)}
            over = [free & {op.inputs[j] for k, j in op.may_overwrite if op.outputs[k] == out} for out in made]
            saved = _max_saved_bytes([size[t] for t in made], over, size, frozenset())
            peak = max(best[done], before + sum(size[t] for t in made) + graph.ops[v].work - saved)
            then = done | 1 << v
            best[then] = min(peak, best.get(then, peak))
    return best[(1 << n) - 1]


def _is_last(touches: list[set[int]], tensor: int, done: int, maker: dict[int, int]) -> bool:
    return all(done >> v & 1 for v, touched in enumerate(touches) if tensor in touched and maker.get(tensor) != v)


def _max_saved_bytes(outputs: list[int], over: list[set[int]], size: list[int], taken: frozenset[int]) -> int:
    """Return the maximum bytes of outputs that can overwrite distinct inputs, by trying all assignments."""
    if not outputs:
        return 0
    fits = [t for t in over[0] if t not in taken and outputs[0] <= size[t]]
    found = [outputs[0] + _max_saved_bytes(outputs[1:], over[1:], size, taken | {t}) for t in fits]
    return max([_max_saved_bytes(outputs[1:], over[1:], size, taken), *found])


def min_peak_of_tree(graph: OperationGraph) -> int:
    """Return the minimum peak of an in-tree, by merging the hills and valleys of subtrees (Liu 1987)."""
    maker = {row.outputs[0]: v for v, row in enumerate(graph.ops)}
    profile: dict[int, list[tuple[int, int]]] = {}
    for v, row in enumerate(graph.ops):
        rises = []
        for t in row.inputs:
            below = 0
            for hill, valley in profile.pop(maker[t]):
                rises.append((hill - below, valley - below))
                below = valley
        rises.sort(key=lambda rise: rise[1] - rise[0])
        live, found = 0, []
        for hill, valley in rises:
            found.append((live + hill, live + valley))
            live += valley
        made = graph.size[row.outputs[0]]
        profile[v] = _canonical([*found, (live + made + row.work, made)])
    return max(hill for rows in profile.values() for hill, _ in rows)


def _canonical(rows: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the highest hill and the lowest valley after it, then the highest hill after that, and so on."""
    found, first = [], 0
    while first < len(rows):
        hill = max(range(first, len(rows)), key=lambda k: (rows[k][0], k))
        valley = min(range(hill, len(rows)), key=lambda k: (rows[k][1], -k))
        found.append((rows[hill][0], rows[valley][1]))
        first = valley + 1
    return found


def _op(inputs: list[int], outputs: list[int], work: int = 0, after: list[int] | None = None) -> GraphOperation:
    return GraphOperation(inputs=tuple(inputs), outputs=tuple(outputs), work=work, after=tuple(after or ()))


def random_order(graph: OperationGraph, rng: random.Random) -> list[int]:
    order: list[int] = []
    while len(order) < len(graph.ops):
        ready = [v for v in range(len(graph.ops)) if v not in order and {*graph.predecessors[v]} <= {*order}]
        order.append(rng.choice(ready))
    return order
