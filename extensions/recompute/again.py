"""Rules for recomputation: which operations may run again, and until when."""

from __future__ import annotations

from memplan.extensions.networks.operations.graph import OperationGraph

Behind = frozenset[int]
"""For each operation, those whose first run ends the time in which it may run again."""


def may_run_again(graph: OperationGraph) -> tuple[Behind | None, ...]:
    """Return, for each operation, the operations after which it must not run again; None if it never may run again.

    An operation that runs again must find its inputs unchanged, and come before all that wait for it (`after`). What
    makes nothing, has regions or may run `once`, changes a tensor in place, or makes one that is changed so, runs once.
    """
    behind: list[set[int]] = [set() for _ in graph.ops]
    never: set[int] = set()
    for v, row in enumerate(graph.ops):
        for earlier in row.after:
            behind[earlier].add(v)
        if row.once or row.regions or not graph.new_tensors[v]:
            never.add(v)
        # An operation that changes a tensor in place would change it twice.
        for tensor in set(row.outputs).difference(graph.new_tensors[v]):
            maker = graph.maker[tensor]
            never.update((v,) if maker is None else (v, maker))
            for reader in graph.readers[tensor]:
                if reader < v:
                    behind[reader].add(v)
    return tuple(None if v in never else frozenset(others) for v, others in enumerate(behind))
