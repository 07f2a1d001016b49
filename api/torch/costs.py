"""The cost of a node of torch.fx: its floating-point operations where torch counts them, else what it writes."""

from __future__ import annotations

from typing import Any

from memplan.api.torch.graphs import is_view


def flops_of(node: Any) -> int:
    """Return what it costs to run a node again: multiplications and additions, or the elements that it makes.

    Views, and what reads no tensor (constants), cost nothing. Imports torch.
    """
    from torch.utils._pytree import tree_map_only
    from torch.utils.flop_counter import flop_registry

    if is_view(node) or not node.all_input_nodes:
        return 0
    values = node.meta["val"]
    packet = getattr(node.target, "_overloadpacket", None)
    if packet in flop_registry:
        from torch.fx import Node

        args, kwargs = tree_map_only(Node, lambda other: other.meta["val"], (node.args, dict(node.kwargs)))
        return int(flop_registry[packet](*args, **kwargs, out_val=values))
    every = values if isinstance(values, list | tuple) else (values,)
    return sum(int(value.numel()) for value in every if hasattr(value, "numel"))
