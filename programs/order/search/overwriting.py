"""Outputs that may overwrite inputs, depending on which operations have run before."""

from collections.abc import Collection
from dataclasses import dataclass

from memplan.planner.errors import OperationsError
from memplan.programs.operations.graph import OperationGraph
from memplan.programs.operations.in_place import match_rows, overwritable_inputs

MOST_INPUTS = 10
"""The maximum number of inputs with other readers for whose bytes the outputs of one operation compete."""


@dataclass(frozen=True)
class Overwriting:
    """Outputs of one operation that compete for inputs: each output's bytes and possible inputs, the largest first.

    No operation reads a `free` input later. Whether another operation reads an `open` input later depends on the order.
    """

    outputs: tuple[tuple[int, tuple[int, ...]], ...]
    open: tuple[int, ...]
    free: frozenset[int] = frozenset()

    def decide(self, tensor: int, is_free: bool) -> "Overwriting":
        """Return the group after deciding the open input `tensor`: `is_free` if no other operation reads it later."""
        rest = tuple(one for one in self.open if one != tensor)
        return Overwriting(self.outputs, rest, self.free | {tensor} if is_free else self.free)

    def saved_bytes(self, free: Collection[int]) -> int:
        """Return the maximum bytes that outputs save by overwriting distinct inputs that are free here or in `free`."""
        usable = [[one for one in tensors if one in free or one in self.free] for _, tensors in self.outputs]
        return sum(self.outputs[k][0] for k in match_rows(usable).values())

    def table(self) -> list[int]:
        """Return the saved bytes for each set of open inputs; bit k of an index means that open input k is free."""
        n = len(self.open)
        return [self.saved_bytes([one for b, one in enumerate(self.open) if bits >> b & 1]) for bits in range(1 << n)]


def overwritings(graph: OperationGraph, operation: int) -> list[Overwriting]:
    """Return an operation's outputs in groups; the outputs in a group compete for the same inputs."""
    size = graph.working_bytes
    inputs = {output: set(tensors) for output, tensors in overwritable_inputs(graph, operation).items()}
    pairs = []
    while inputs:
        output, shared = inputs.popitem()
        rows = {output: shared}
        grown = True
        while grown:
            joined = {other: tensors for other, tensors in inputs.items() if tensors & shared}
            grown = bool(joined)
            for other, tensors in joined.items():
                rows[other] = inputs.pop(other)
                shared = shared | tensors
        outputs = sorted((-size[one], one, tuple(sorted(tensors))) for one, tensors in rows.items())
        pairs.append(Overwriting(tuple((-bytes_, tensors) for bytes_, _, tensors in outputs), tuple(sorted(shared))))
    return pairs


def refuse_many(rows: Collection[Overwriting], operation: int) -> None:
    """Raise OperationsError if more inputs compete than the table of saved bytes can represent."""
    for row in rows:
        if len(row.open) > MOST_INPUTS:
            raise OperationsError(
                f"ops[{operation}].may_overwrite: must name at most {MOST_INPUTS} shared inputs that compete "
                f"for outputs, got {len(row.open)}"
            )
