"""Orders inside of ExecuTorch: the operations of edge programs in the order that needs the fewest bytes.

```python
edge = reordered(to_edge(exported))
```
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from memplan.extensions.torch.inside import passes
from memplan.extensions.torch.inside.graphs import SAME_STORAGE

TIME_LIMIT_S = 10.0
_LOOKING = SAME_STORAGE | {"aten::view_copy"}
"""Operations whose output ExecuTorch makes a view of their first argument."""
_LIES_WITH_THE_MODEL = ("PARAMETER", "BUFFER", "CONSTANT_TENSOR", "CUSTOM_OBJ")


@dataclass(frozen=True)
class ReorderPass:
    """A pass of ExecuTorch or torch.export, which takes a graph module: `resident` names placeholders, see `reordered`.

    Bytes are those of tensors before ExecuTorch's own passes; what control flow and delegates need inside is not seen.
    """

    resident: frozenset[str]
    time_limit_s: float = TIME_LIMIT_S
    deterministic: bool = False

    def __call__(self, module: Any) -> Any:
        """Return a PassResult with the module in the order with the least peak."""
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
    """Return an EdgeProgramManager whose methods run in the order with the least peak, and compute the same.

    Parameters, constants and buffers are not counted. Raises FormatError for a graph with symbolic shapes.
    """
    orders = {}
    for method in edge.methods:
        specs = edge.exported_program(method).graph_signature.input_specs
        apart = frozenset(row.arg.name for row in specs if row.kind.name in _LIES_WITH_THE_MODEL)
        orders[method] = [ReorderPass(apart, time_limit_s, deterministic)]
    return edge.transform(orders)
