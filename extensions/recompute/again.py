"""Rules for recomputation: which operations may run again, and up to which point of an order."""

from __future__ import annotations

from memplan.extensions.networks.operations.graph import OperationGraph

Behind = frozenset[int]
"""The operations whose first run ends the time in which an operation may run again."""


def may_run_again(graph: OperationGraph) -> tuple[Behind | None, ...]:
    """Return, for each operation, the operations after which it must not run again; None if it must run only once.

    An operation that runs again must find its inputs unchanged, and run before all that wait for it (`after`). It runs
    only once if it makes no tensor, has regions, is marked `once`, changes a tensor in place, or makes one changed so.
    """
    behind: list[set[int]] = [set() for _ in graph.ops]
    never: set[int] = set()
    for v, row in enumerate(graph.ops):
        for earlier in row.after:
            behind[earlier].add(v)
        if row.once or row.regions or not graph.new_tensors[v]:
            never.add(v)
        # A second run would change the tensor a second time.
        for tensor in set(row.outputs).difference(graph.new_tensors[v]):
            maker = graph.maker[tensor]
            never.update((v,) if maker is None else (v, maker))
            for reader in graph.readers[tensor]:
                if reader < v:
                    behind[reader].add(v)
    return tuple(None if v in never else frozenset(others) for v, others in enumerate(behind))
