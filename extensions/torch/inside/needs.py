"""The bytes that torch.fx graphs need in their given order: for one pass, or for both passes of a training step."""

import warnings
from collections.abc import Collection
from typing import Any

from torch.fx.node import map_arg

from memplan.planner.errors import FormatError, OptionError
from memplan.planner.model.sizes import size_text
from memplan.programs.operations.order_check import live_bytes_by_operation
from memplan.runtimes.torch.fx import values_of
from memplan.runtimes.torch.graphs import graph_of, is_view


def refuse_above(capacity: int, needed: int | None, *, is_warned: bool) -> None:
    """Raise OptionError, or warn, if a graph needs more bytes than a capacity or an unknown number of bytes (None)."""
    if needed is not None and needed <= capacity:
        return
    got = "a graph with unknown sizes" if needed is None else f"a graph that needs {size_text(needed)}"
    message = f"capacity: must hold each graph with its gradients ({size_text(capacity)}), got {got}"
    if not is_warned:
        raise OptionError(f"{message}: raise the capacity, or set over=warn")
    warnings.warn(message, stacklevel=3)


def bytes_besides_resident(graph: Any, resident: Collection[str] | None) -> int | None:
    """Return the bytes that a graph needs in its given order besides resident inputs; None if sizes are symbolic.

    The scratch memory of convolutions is included.
    """
    try:
        graph_and_nodes = graph_of(graph, resident=resident)
    except FormatError:
        return None
    measured: dict[str, int] = {}
    along = live_bytes_by_operation(graph_and_nodes.graph, range(len(graph_and_nodes.nodes)))
    return max(
        [0, *(alive + _scratch_bytes(node, measured) for alive, node in zip(along, graph_and_nodes.nodes, strict=True))]
    )


def _scratch_bytes(node: Any, measured: dict[str, int]) -> int:
    """Return a convolution's scratch bytes, measured once for each shape; 0 for other kernels, which need little.

    A kernel that cannot be run is assumed to copy all its inputs and outputs into another layout.
    """
    if "convolution" not in str(node.target):
        return 0
    from memplan.extensions.torch.inside.kernels import scratch_bytes

    args, kwargs = map_arg((node.args, node.kwargs), lambda source: source.meta["val"])
    key = str((node.target, args, kwargs))
    if key not in measured:
        scratch = scratch_bytes(node.target, args, kwargs)
        measured[key] = bytes_of([node, *node.all_input_nodes]) if scratch is None else scratch
    return measured[key]


def bytes_of_both_passes(forward: Any, backward: Any, n_results: int) -> int | None:
    """Return the bytes that both passes and the caller's tensors need; None if sizes are symbolic.

    The caller keeps the inputs, the results, and the gradients of the previous step.
    """
    inputs = inputs_of(forward)
    out = [node for node in forward.graph.output_node().args[0] if node is not None]
    made = {node.name: maker_of(node) for node in out}
    results = {node for node in map(maker_of, out[:n_results]) if node.op != "placeholder"}
    stay = {*inputs.values(), *results}
    resident = [name for name in inputs_of(backward) if made.get(name, inputs.get(name)) in stay]
    needs = bytes_besides_resident(forward, None), bytes_besides_resident(backward, resident)
    if None in needs:
        return None
    held = bytes_of(inputs.values()) + gradient_bytes(backward, 0)
    return held + max(needs[0] or 0, bytes_of(results) + (needs[1] or 0))


def inputs_of(module: Any) -> dict[str, Any]:
    """Return the placeholder nodes of a graph, keyed by name."""
    return {node.name: node for node in module.graph.nodes if node.op == "placeholder"}


def bytes_of(nodes: Collection[Any]) -> int:
    """Return the total bytes of the nodes' values."""
    return sum(getattr(value, "nbytes", 0) for node in nodes for value in values_of(node))


def gradient_bytes(joint: Any, n_results: int) -> int:
    """Return the bytes of the gradients that a joint graph returns, which equal those kept from the previous step."""
    made = [node for node in joint.graph.output_node().args[0][n_results:] if node is not None]
    return bytes_of(dict.fromkeys(made))


def maker_of(node: Any) -> Any:
    """Return the node whose operation writes a value's storage; views are followed to their source."""
    while is_view(node):
        node = node.args[0]
    return node
