"""The backend `memplan` of torch.compile: the order with the least peak, and recomputation to stay within a capacity.

    torch.compile(model, backend="memplan", options={"capacity": "8GiB", "inner": "eager"})

Each graph that AOT autograd traces is reordered. Then inductor compiles it, and its fused kernels are reordered once
more; with `inner="eager"`, it runs operation by operation instead, with the same bits as eager mode. With a capacity,
operations of the forward pass run again in the backward pass if their outputs do not fit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any, Literal

from pydantic import Field

from memplan.extensions.torch.inside.needs import (
    bytes_besides_resident,
    bytes_of,
    bytes_of_both_passes,
    gradient_bytes,
    inputs_of,
    maker_of,
    refuse_above,
)
from memplan.extensions.torch.inside.tracing import interpret
from memplan.planner.errors import FormatError
from memplan.planner.model.sizes import Size
from memplan.programs.operations.graph import GraphOperation, OperationGraph
from memplan.programs.order.options import OrderOptions
from memplan.programs.order.order import order
from memplan.programs.order.search.solve import order_operations
from memplan.questions.question import QuestionOptions
from memplan.questions.reading import validate_options
from memplan.runtimes.torch.fx import values_of
from memplan.runtimes.torch.graphs import ModuleGraph, flops_of, graph_of
from memplan.runtimes.torch.passes import clone_operations, reorder_module, reordered

_TIME_LIMIT_S = 5.0
_LOWER = 0.98
"""The fraction of another peak below which a peak counts as lower, because estimates omit memory inside kernels."""
_UNKNOWN = 1 << 62
_BUDGET = 0.5
"""The fraction of the activations that torch's minimum cut may save in the third trial."""


class BackendOptions(QuestionOptions):
    """The options of the backend; a capacity is bytes, or a text such as 8GiB."""

    capacity: Size | None = Field(
        None, description="Memory for parameters, gradients, also those of the step before, and all that a step makes."
    )
    over: Literal["raise", "warn"] = Field("raise", description="What happens where a graph needs more.")
    inner: Literal["inductor", "eager"] = Field("inductor", description="What runs the graphs.")
    time_limit_s: float = Field(_TIME_LIMIT_S, gt=0, le=3600, description="Seconds for each graph.")


def memplan(module: Any, inputs: Sequence[Any], *, options: Mapping[str, Any] | None = None, **_: Any) -> Any:
    """Compile a graph of torch.fx for torch.compile; `options` are the fields of BackendOptions. Raises OptionError."""
    settings = validate_options(BackendOptions, options or {})
    partition = Partition(settings.capacity, settings.time_limit_s, over=settings.over)
    return (_compile_by_inductor if settings.inner == "inductor" else _compile_eagerly)(module, inputs, partition)


def _compile_eagerly(module: Any, inputs: Sequence[Any], partition: Partition) -> Any:
    """Return a compiled module that runs the reordered graphs operation by operation, without inductor."""
    from torch._dynamo.backends.common import aot_autograd

    def run(graph: Any, _: Any) -> Any:
        # A partition with a capacity has already ordered the forward and backward pass together, so keep that order.
        is_ordered = partition.capacity is not None
        return interpret(graph if is_ordered else _reorder(graph, partition.time_limit_s))

    def partition_graph(joint: Any, inputs: Any, *, num_fwd_outputs: int, **others: Any) -> Any:
        """Return the forward and backward pass of a joint graph. Raises OptionError if they exceed the capacity."""
        forward, backward = partition(joint, inputs, num_fwd_outputs=num_fwd_outputs, **others)
        if partition.capacity is not None:
            partition.refuse(bytes_of_both_passes(forward, backward, num_fwd_outputs))
        return forward, backward

    def infer(graph: Any, _: Any) -> Any:
        """Return a function that runs an inference graph in the best order; refuse a graph above the capacity."""
        order = _reorder(graph, partition.time_limit_s)
        needed = bytes_besides_resident(order, None)
        partition.refuse(None if needed is None else needed + bytes_of(inputs_of(order).values()))
        return interpret(order)

    return aot_autograd(fw_compiler=run, bw_compiler=run, inference_compiler=infer, partition_fn=partition_graph)(
        module, inputs
    )


def _compile_by_inductor(module: Any, inputs: Sequence[Any], partition: Partition) -> Any:
    """Return a module compiled by inductor, with passes chosen by capacity and reordered fused kernels."""
    from torch._inductor.compile_fx import compile_fx
    from torch._inductor.custom_graph_pass import CustomPartitionerFn

    class Partitioner(CustomPartitionerFn):  # type: ignore[misc]  # Torch's base class has no type annotations.
        def __call__(self, joint: Any, joint_inputs: Any, **others: Any) -> Any:
            return _choose_passes(partition, joint, joint_inputs, others)

        def uuid(self) -> None:
            """Disable the cache of compiled graphs, because the result of a search depends on time."""

    def check_nodes(nodes: list[Any]) -> list[Any]:
        """Return inductor's scheduler nodes in the best order; refuse an inference graph that exceeds the capacity."""
        from torch._inductor.virtualized import V

        peak, ordered = _schedule_nodes(nodes)
        if V.graph.is_inference:
            partition.refuse(peak + sum(getattr(each, "nbytes", 0) for each in inputs))
        return ordered

    patches: dict[str, Any] = {"_post_fusion_custom_pass": check_nodes}
    if partition.capacity is not None:
        patches["custom_partitioner_fn"] = Partitioner()
    return compile_fx(module, inputs, config_patches=patches)


def _choose_passes(partition: Partition, joint: Any, inputs: Any, others: Mapping[str, Any]) -> Any:
    """Return inductor's own partition into passes if it fits the capacity, else the partition with the fewest bytes.

    The bytes are inductor's estimate after it fused kernels. A trial compilation ends as soon as this estimate is
    known.
    """
    from torch._functorch import config
    from torch._functorch.partitioners import min_cut_rematerialization_partition

    def cut(budget: float) -> Any:
        with config.patch({"activation_memory_budget": budget}):
            return min_cut_rematerialization_partition(deepcopy(joint), inputs, **others)

    graph_inputs = [node for node in joint.graph.nodes if node.op == "placeholder" and not _is_tangent(node)]
    apart = sum(value.nbytes for node in graph_inputs for value in values_of(node))
    apart += gradient_bytes(joint, others["num_fwd_outputs"])
    within = (partition.capacity or 0) - apart
    best: tuple[int, Any] | None = None
    ways: tuple[Callable[[], Any], ...] = (
        lambda: cut(1),
        lambda: partition(deepcopy(joint), inputs, **others),
        lambda: cut(_BUDGET),
    )
    for parted in ways:
        forward, backward = passes = parted()
        made = forward.graph.output_node().args[0]
        results = {node for node in made[: others["num_fwd_outputs"]] if node is not None}
        held = sum(
            value.nbytes for node in results.difference(made[others["num_fwd_outputs"] :]) for value in values_of(node)
        )
        most = max(_scheduled_peak(forward, is_backward=False), held + _scheduled_peak(backward, is_backward=True))
        if best is None or most < _LOWER * best[0]:
            best = most, passes
        if most <= within:
            break
    assert best is not None
    partition.refuse(apart + best[0] if best[0] < _UNKNOWN else None)
    return best[1]


def _scheduled_peak(graph: Any, *, is_backward: bool) -> int:
    """Return the bytes that inductor's scheduler needs for a graph besides resident inputs; _UNKNOWN if it fails."""
    from torch._inductor import config
    from torch._inductor.compile_fx import compile_fx_inner

    peaks: list[int] = []

    def stop(nodes: list[Any]) -> Any:
        peaks.append(_schedule_nodes(nodes)[0])
        raise _PeakKnownError

    inputs = [node.meta["val"] for node in graph.graph.nodes if node.op == "placeholder"]
    try:
        with config.patch({"_post_fusion_custom_pass": stop}):
            compile_fx_inner(deepcopy(graph), inputs, is_backward=is_backward)
    except Exception:  # noqa: BLE001  # Inductor wraps inner exceptions, so the type of the exception is unknown.
        return peaks[0] if peaks else _UNKNOWN
    return 0


class _PeakKnownError(Exception):
    """Raised to end a trial compilation once the peak of its graph is known."""


class Partition:
    """A function that splits a joint graph into two passes, with recomputation to stay within a capacity."""

    def __init__(self, capacity: int | None, time_limit_s: float, *, over: str = "raise") -> None:
        self.capacity, self.time_limit_s, self.over = capacity, time_limit_s, over

    def refuse(self, needed: int | None) -> None:
        """Raise OptionError, or warn, if `needed` bytes exceed the capacity or are unknown (None)."""
        if self.capacity is not None:
            refuse_above(self.capacity, needed, is_warned=self.over == "warn")

    def __call__(self, joint: Any, inputs: Any, *, num_fwd_outputs: int, **others: Any) -> Any:
        """Return the forward and the backward pass; without a capacity or a readable graph, torch's own partition."""
        from torch._functorch.partitioners import _extract_fwd_bwd_modules, default_partition

        program = self._recomputed_graph(joint, num_fwd_outputs) if self.capacity is not None else None
        if program is None:
            fields = {name: others[name] for name in ("static_lifetime_input_indices",) if name in others}
            return default_partition(joint, inputs, num_fwd_outputs=num_fwd_outputs, **fields)
        nodes = list(program.graph.nodes)
        position = {node: k for k, node in enumerate(nodes)}
        results = program.graph.output_node().args[0]
        seam = max((position[maker_of(node)] for node in results[:num_fwd_outputs] if node in position), default=0)
        late = {node for node in nodes[seam + 1 :] if node.op == "call_function"}
        read = {source for node in late for source in node.all_input_nodes if source not in late}
        read |= {node for node in results[num_fwd_outputs:] if node in position and node not in late}
        saved = [node for node in nodes if node in read and not _is_tangent(node) and node.op != "get_attr"]
        return _extract_fwd_bwd_modules(program, _tensor_nodes(saved), [], num_fwd_outputs=num_fwd_outputs)

    def _recomputed_graph(self, joint: Any, n_results: int) -> Any:
        """Return the joint graph in the best order, with recomputation if needed; None if the graph cannot be read."""
        try:
            graph = _separate_passes(graph_of(joint, cost=flops_of), n_results)
        except FormatError:  # A graph with symbolic shapes cannot be planned.
            return None
        apart = sum(graph.graph.size[t] for t in set(graph.graph.resident)) + gradient_bytes(joint, n_results)
        within = (self.capacity or 0) - apart
        best = order_operations(graph.graph, time_limit_s=self.time_limit_s)
        if best.peak <= within:
            return reorder_module(graph, best.order)
        options = OrderOptions(recompute=True, within=max(within, 0), time_limit_s=self.time_limit_s)
        points = order(graph.graph, options).recomputed
        if points is None or not points.points:
            return reorder_module(graph, best.order)
        return clone_operations(graph, points.points[-1])


def _separate_passes(found: ModuleGraph, n_results: int) -> ModuleGraph:
    """Return a joint graph whose passes are separated.

    Every operation that depends on a tangent (an incoming gradient) runs after the forward pass's results.
    """
    results = [node for node in found.module.graph.output_node().args[0][:n_results] if node is not None]
    position = {node: v for v, node in enumerate(found.nodes)}
    ends = sorted({position[made] for node in results if (made := maker_of(node)) in position})
    needs: set[Any] = set()
    rows: list[GraphOperation] = []
    for node in found.module.graph.nodes:
        if _is_tangent(node) or any(source in needs for source in node.all_input_nodes):
            needs.add(node)
    for v, row in enumerate(found.graph.ops):
        after = tuple(dict.fromkeys((*row.after, *(end for end in ends if end < v)))) if found.nodes[v] in needs else ()
        rows.append(row.model_copy(update={"after": after or row.after}))
    return replace(found, graph=found.graph.model_copy(update={"ops": tuple(rows)}))


def _is_tangent(node: Any) -> bool:
    return node.op == "placeholder" and "tangents" in str(node.target)


def _tensor_nodes(nodes: Sequence[Any]) -> list[Any]:
    tensors: dict[Any, None] = {}
    for node in nodes:
        items = [user for user in node.users if user.op == "call_function"] if _is_list(node) else [node]
        tensors |= dict.fromkeys(items)
    return list(tensors)


def _is_list(node: Any) -> bool:
    return isinstance(node.meta.get("val"), (list, tuple))


def _reorder(graph: Any, time_limit_s: float) -> Any:
    try:
        return reordered(graph, resident=(), time_limit_s=time_limit_s)
    except FormatError:
        return graph


def _schedule_nodes(nodes: list[Any]) -> tuple[int, list[Any]]:
    """Return inductor's estimate of the least peak in bytes, and its scheduler nodes in the order with that peak.

    Inductor's own order is kept unless inductor estimates a clearly lower peak for the new order.
    """
    from torch._inductor.memory import estimate_peak_memory_allocfree, prepare_planning_info, reorder_for_peak_memory
    from torch._inductor.virtualized import V
    from torch.utils._ordered_set import OrderedSet

    if not nodes:
        return 0, nodes
    scheduler = nodes[0].scheduler
    inputs, outputs = OrderedSet(V.graph.graph_inputs), OrderedSet(V.graph.get_output_names())
    names_in_use = scheduler.name_to_buf, scheduler.name_to_fused_node, inputs, outputs
    own = reorder_for_peak_memory(nodes, *names_in_use)
    _, freeable = prepare_planning_info(nodes, *names_in_use)
    best = [
        nodes[v]
        for v in order_operations(_graph_of_scheduler(nodes, freeable, outputs), time_limit_s=_TIME_LIMIT_S).order
    ]
    peaks = [estimate_peak_memory_allocfree(row, freeable, outputs)[0] for row in (own, best)]
    return min(peaks), best if peaks[1] < _LOWER * peaks[0] else nodes


def _graph_of_scheduler(nodes: Sequence[Any], freeable: Mapping[str, Any], outputs: set[str]) -> OperationGraph:
    """Return inductor's scheduler nodes as a graph of operations; inputs that are never freed are omitted."""
    made = [(buffer.get_name(), buffer.mpi_buffer) for node in nodes for buffer in node.get_outputs()]
    every = [*((name, each.mpi_buffer) for name, each in freeable.items()), *made]
    at = {name: t for t, (name, _) in enumerate(every)}
    sizes = [max(each.size_alloc, each.size_free) for _, each in every]
    position = {node: v for v, node in enumerate(nodes)}
    rows = [
        GraphOperation(
            inputs=tuple(at[buffer.get_name()] for buffer in node.mpi_node.pred_buffers if buffer.get_name() in at),
            outputs=tuple(at[buffer.get_name()] for buffer in node.get_outputs()),
            after=tuple(sorted(position[other] for other in node.mpi_node.pred_nodes if other is not node)),
            name=node.get_name(),
        )
        for node in nodes
    ]
    output_tensors = tuple(t for t, (name, _) in enumerate(every) if name in outputs)
    return OperationGraph(size=tuple(sizes), kept=output_tensors, given=tuple(range(len(freeable))), ops=tuple(rows))
