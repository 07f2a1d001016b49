"""Training steps as graphs: AOT autograd's joint graph on fake tensors, and partitions merged into one graph.

If the model is created under a FakeTensorMode, nothing is computed and no weights are needed. Imports torch.
"""

from collections.abc import Callable, Sequence
from typing import Any


def joint_graph(function: Callable[..., Any], inputs: Sequence[Any]) -> tuple[Any, int]:
    """Return both passes of a function as one torch.fx.GraphModule, and the number of the forward pass's results.

    `inputs` are fake or real tensors; a tensor that requires a gradient gets one. The graph returns the function's
    results, one tensor or several, followed by the gradients.
    """
    from copy import deepcopy

    from torch._functorch._aot_autograd.utils import make_boxed_func
    from torch._functorch.aot_autograd import aot_function
    from torch._functorch.partitioners import default_partition

    graphs: list[tuple[Any, int]] = []

    def keep(joint: Any, joint_inputs: Any, *, num_fwd_outputs: int, **options: Any) -> Any:
        graphs.append((deepcopy(joint), num_fwd_outputs))
        return default_partition(joint, joint_inputs, num_fwd_outputs=num_fwd_outputs, **options)

    def return_module(module: Any, _: Any) -> Any:
        return make_boxed_func(module)

    traced = aot_function(function, fw_compiler=return_module, bw_compiler=return_module, partition_fn=keep)
    results = traced(*inputs)
    first = results[0] if isinstance(results, list | tuple) else results
    if not graphs:
        first.sum().backward()
    return graphs[0]


def interpret(graph: Any, _: Any = None) -> Any:
    """Return a function that runs a graph operation by operation and frees inputs after their last use."""
    from torch.fx import Interpreter

    interpreter = Interpreter(graph)

    def run_boxed(args: list[Any]) -> Any:
        try:
            return interpreter.boxed_run(args)
        finally:
            # The interpreter's environment would keep all results alive, so clear the environment.
            interpreter.env.clear()

    # With this mark, AOT autograd passes the arguments as one list, so the interpreter can free each argument early.
    run_boxed._boxed_call = True  # type: ignore[attr-defined]
    return run_boxed


def merge_passes(forward: Any, backward: Any, n_results: int) -> Any:
    """Merge the forward and the backward graph of a partition into one graph module and return it."""
    from torch.fx import Graph, GraphModule

    graph = Graph()
    copies: dict[Any, Any] = {}
    named: dict[str, Any] = {}
    for node in forward.graph.nodes:
        if node.op == "output":
            results = [copies.get(out, out) for out in node.args[0]]
            saved = {out.name: copies[out] for out in node.args[0] if out in copies}
        else:
            copies[node] = named[node.name] = graph.node_copy(node, copies.__getitem__)
    for node in backward.graph.nodes:
        if node.op == "output":
            gradients = [copies.get(out, out) for out in node.args[0]]
        elif node.op == "placeholder" and (node.name in saved or node.name in named):
            copies[node] = saved.get(node.name, named.get(node.name))
        else:
            copies[node] = graph.node_copy(node, copies.__getitem__)
    graph.output((*results[:n_results], *gradients))
    graph.lint()
    return GraphModule(forward, graph)
