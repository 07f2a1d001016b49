"""Rules for recomputation: which operations may run again, and which operations their second run must precede."""

from memplan.programs.operations.graph import OperationGraph

Behind = frozenset[int]
"""The operations of which none may have run before another operation runs again."""


def may_run_again(graph: OperationGraph) -> tuple[Behind | None, ...]:
    """Return, for each operation, the operations that its second run must precede; None if it must run only once.

    A second run must find its inputs unchanged. An operation may run only once if it writes no new tensor, has regions,
    is marked `once`, changes a tensor in place, or writes a tensor that is later changed in place.
    """
    behind: list[set[int]] = [set() for _ in graph.ops]
    never: set[int] = set()
    for v, row in enumerate(graph.ops):
        for earlier in row.after:
            behind[earlier].add(v)
        if row.once or row.regions or not graph.new_tensors[v]:
            never.add(v)
        # A rerun of an operation that changes a tensor in place would change the tensor twice, so forbid the rerun.
        for tensor in set(row.outputs).difference(graph.new_tensors[v]):
            maker = graph.maker[tensor]
            never.update((v,) if maker is None else (v, maker))
            for reader in graph.readers[tensor]:
                if reader < v:
                    behind[reader].add(v)
    return tuple(None if v in never else frozenset(others) for v, others in enumerate(behind))
