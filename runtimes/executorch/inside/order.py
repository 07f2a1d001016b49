"""The reordering of ExecuTorch's edge programs, whose operations then run in the order with the least peak found.

```python
edge = reordered(to_edge(exported))
```
"""

from dataclasses import dataclass
from typing import Any

from memplan.runtimes.torch import passes
from memplan.runtimes.torch.graphs import SAME_STORAGE

TIME_LIMIT_S = 10.0
_LOOKING = SAME_STORAGE | {"aten::view_copy"}
"""The operations whose output ExecuTorch stores as a view of their first argument."""
_STORED_WITH_MODEL = ("PARAMETER", "BUFFER", "CONSTANT_TENSOR", "CUSTOM_OBJ")


@dataclass(frozen=True)
class ReorderPass:
    """A pass of ExecuTorch that puts a graph's operations in the order with the least peak found.

    Placeholders named in `resident` are not counted, nor is memory inside control flow and delegates. The pass uses the
    sizes that tensors have before ExecuTorch's own passes.
    """

    resident: frozenset[str]
    time_limit_s: float = TIME_LIMIT_S
    deterministic: bool = False

    def __call__(self, module: Any) -> Any:
        """Return a PassResult with the module's operations in the order with the least peak found."""
        from torch.fx.passes.infra.pass_base import PassResult

        order = passes.reordered(
            module,
            resident=self.resident,
            looking=_LOOKING,
            time_limit_s=self.time_limit_s,
            deterministic=self.deterministic,
        )
        return PassResult(order, order is not module)


def reordered(edge: Any, *, time_limit_s: float = TIME_LIMIT_S, deterministic: bool = False) -> Any:
    """Return an EdgeProgramManager whose methods compute the same results in the order with the least peak found.

    Parameters, constants and buffers are not counted. Raises FormatError for a graph with symbolic shapes.
    """
    orders = {}
    for method in edge.methods:
        specs = edge.exported_program(method).graph_signature.input_specs
        apart = frozenset(row.arg.name for row in specs if row.kind.name in _STORED_WITH_MODEL)
        orders[method] = [ReorderPass(apart, time_limit_s, deterministic)]
    return edge.transform(orders)
