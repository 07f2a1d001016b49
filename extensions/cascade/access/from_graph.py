"""The access maps of a graph of operations, derived from the kind, the attributes and the shapes of each operation."""

from dataclasses import replace
from itertools import accumulate
from math import prod

from memplan.extensions.cascade.access.access_graph import (
    AccessGraph,
    AccessOperation,
    Channels,
    PixelTensor,
    Read,
    Role,
    pixel_bytes,
    whole_axis_window,
)
from memplan.extensions.cascade.access.kinds import ACCUMULATED, MOST_ALONG, POINTWISE, KindAccess, access_of
from memplan.extensions.cascade.access.layouts import (
    Facts,
    Pixels,
    UnknownAccess,
    family_of,
    layouts_of,
    named_layout,
    permutation_of,
    pixels_of,
    reshaped_layout,
)
from memplan.programs.operations.graph import GraphOperation, OperationGraph
from memplan.programs.operations.graph_facts import Shape, bits_of

SUM_BYTES = 4
"""The bytes of the accumulator of one channel, unless an element of the output is larger."""


def access_graph(graph: OperationGraph, *, brick: int = 1) -> AccessGraph:
    """Convert a graph of operations, in its given order, to a graph with access maps.

    An operation whose access maps are unknown becomes a barrier, which runs as a whole. The channels of each pixel are
    padded to a multiple of `brick`.
    """
    return _GraphConversion(graph, brick).run()


class _GraphConversion:
    """The conversion of one graph of operations to a graph with access maps, operation by operation."""

    def __init__(self, graph: OperationGraph, brick: int) -> None:
        """Find the layouts of a graph's tensors; channels of a pixel are padded to a multiple of `brick`."""
        self.graph, self.brick = graph, brick
        self.layouts = layouts_of(graph)
        self.resident = frozenset(graph.resident)
        writers: dict[int, int] = {}
        for row in graph.ops:
            for tensor in row.outputs:
                writers[tensor] = writers.get(tensor, 0) + 1
        self.rewritten = {tensor for tensor, count in writers.items() if count > 1} | set(graph.given)

    def run(self) -> AccessGraph:
        """Return the graph of all operations with their access maps."""
        tensors = tuple(map(self._pixel_tensor, range(len(self.graph.size))))
        operations = tuple(
            replace(self._convert(row, tensors), label=str(row.attributes.get("label", ""))) for row in self.graph.ops
        )
        results = tuple(tensor for tensor in self.graph.kept if tensor not in self.resident)
        access = AccessGraph(tensors, operations, results, self.graph.name or "", layout=self._common_layout(tensors))
        if not any(row.alternatives for row in self.graph.ops):
            return access
        rows = zip(range(len(operations)), self.graph.ops, strict=True)
        return replace(access, operations=tuple(self._add_alternatives(access, v, row) for v, row in rows))

    def _add_alternatives(self, graph: AccessGraph, v: int, row: GraphOperation) -> AccessOperation:
        if not row.alternatives:
            return graph.operations[v]
        whole, own = graph.macs_of(v), graph.operations[v]
        if row.cost is not None:
            own = replace(own, macs=graph.macs_of_pixel(v, row.cost))
            whole = row.cost
        ways = tuple((whole if way.cost is None else way.cost, way.work) for way in row.alternatives)
        return replace(own, alternatives=ways)

    def _common_layout(self, tensors: tuple[PixelTensor, ...]) -> str:
        images = [t for t, row in enumerate(tensors) if row.rows * row.columns > 1 and len(self._shape_of(t) or ()) > 2]
        if any((self._shape_of(t) or (1,))[0] > 1 for t in images):
            return "batches"
        # A tensor without channels is stored in the same way in every layout, so ignore its layout.
        families = {family_of(self.layouts[t] or "") for t in images if "C" in (self.layouts[t] or "C")}
        return families.pop() if len(families) == 1 else "several layouts" if families else "NHWC"

    def _element_bits(self, tensor: int) -> int:
        facts = self.graph.tensors[tensor] if self.graph.tensors else None
        return (bits_of(facts.dtype) if facts is not None and facts.dtype is not None else None) or 8

    def _shape_of(self, tensor: int) -> tuple[int, ...] | None:
        """Return the shape of a tensor, or None if the graph does not state it."""
        return self.graph.tensors[tensor].shape if self.graph.tensors else None

    def _pixel_tensor(self, tensor: int) -> PixelTensor:
        """Return a tensor as pixels, or as a single pixel if rows and columns are unknown or do not match its size."""
        size = 0 if tensor in self.resident else self.graph.size[tensor]
        name = (self.graph.tensors[tensor].name if self.graph.tensors else None) or f"tensor {tensor}"
        shape = self._shape_of(tensor)
        seen = None if shape is None or prod(shape) == 0 else pixels_of(shape, self.layouts[tensor])
        if seen is None:
            return PixelTensor(1, 1, size, name)
        pixel = pixel_bytes(seen.channels, self.brick, self._element_bits(tensor) * seen.batch)
        needed = seen.rows * seen.columns * pixel
        # Importers round tensor sizes up to an alignment, so accept a size above the bytes of all pixels.
        exact = tensor not in self.resident and (needed <= size or self.brick > 1)
        if not exact:
            return PixelTensor(1, 1, size, name)
        channels = pixel_bytes(seen.channels, self.brick, 8)
        is_even = seen.batch == 1 and pixel % max(1, channels) == 0
        return PixelTensor(seen.rows, seen.columns, pixel, name, channels=channels if is_even else 0)

    def _convert(self, row: GraphOperation, tensors: tuple[PixelTensor, ...]) -> AccessOperation:
        """Return an operation with its access maps; if they are unknown, return it as a barrier with the reason."""
        read = [k for k, tensor in enumerate(row.inputs) if tensor not in self.resident]
        weights = sum(self.graph.size[tensor] for tensor in row.inputs if tensor in self.resident)
        name, kind = row.name or "", row.kind or ""
        try:
            facts = self._facts_of_operation(row, read, tensors)
            maps = access_of(facts)
            if len(maps.windows) < len(read):
                raise UnknownAccess(
                    f"reads {len(read)} tensors besides weights, but access maps are known for {len(maps.windows)} only"
                )
        except UnknownAccess as unknown:
            windows = [
                (whole_axis_window(tensors[row.inputs[k]].rows), whole_axis_window(tensors[row.inputs[k]].columns))
                for k in read
            ]
            reads = tuple(Read(row.inputs[k], *windows[i]) for i, k in enumerate(read))
            macs = self._macs_of_barrier(row, read)
            outputs = tuple(tensor for tensor in row.outputs if tensor not in self.resident)
            return AccessOperation(kind, reads, outputs, "barrier", macs, weights, 0, row.work, name, str(unknown))
        out = tensors[row.outputs[0]]
        reads = tuple(
            Read(row.inputs[k], *maps.windows[i], _channel_dependence(maps, tensors[row.inputs[k]], out))
            for i, k in enumerate(read)
        )
        each = max(SUM_BYTES, self._element_bits(row.outputs[0]) // 8)
        sums = facts.output.channels * facts.output.batch * each if maps.is_sum else 0
        role: Role = "sum" if maps.is_sum else "striped"
        is_accumulated = kind in ACCUMULATED and maps.mixes and len(read) == 1 and facts.integer("groups", 1) == 1
        partial = out.rows * out.columns * out.channels * each if is_accumulated else 0
        return AccessOperation(
            kind, reads, row.outputs, role, maps.macs, weights, sums, row.work, name, partial=partial
        )

    def _macs_of_barrier(self, row: GraphOperation, read: list[int]) -> int:
        if row.kind != "fully_connected" or not read or len(row.outputs) != 1:
            return 0
        around = row.inputs[read[0]], row.outputs[0]
        return prod(self.graph.size[tensor] * 8 // self._element_bits(tensor) for tensor in around)

    def _facts_of_operation(self, row: GraphOperation, read: list[int], tensors: tuple[PixelTensor, ...]) -> Facts:
        """Return the facts that determine an operation's access maps; raises UnknownAccess if it cannot be split."""
        if row.regions or row.after:
            raise UnknownAccess("contains other graphs, or must run after listed operations")
        if len(row.outputs) != 1 or not read:
            raise UnknownAccess(f"has {len(row.outputs)} outputs and {len(read)} inputs")
        around = (*(row.inputs[k] for k in read), row.outputs[0])
        if self.rewritten.intersection(around) or row.outputs[0] in self.resident:
            raise UnknownAccess("changes a tensor in place")
        shapes = [row.in_shapes[k] if row.in_shapes else None for k in read]
        shapes.append(row.out_shapes[0] if row.out_shapes else None)
        seen, full, layouts = list[Pixels](), list[tuple[int, ...]](), list[str]()
        for tensor, shape in zip(around, shapes, strict=True):
            own, layout = self._shape_of(tensor), self.layouts[tensor]
            used = own if shape is None else shape
            if own is not None and used is not None and own != used and layout is not None:
                layout = reshaped_layout(layout, own, used)
                if layout is None:
                    raise UnknownAccess("uses a tensor in a shape that differs from the tensor's own")
            pixels = None if used is None else pixels_of(used, layout)
            if used is None or pixels is None or layout is None or prod(used) == 0:
                raise UnknownAccess("has tensors that may not be images or sequences")
            if max(pixels[:2]) > MOST_ALONG:
                raise UnknownAccess(f"has more than {MOST_ALONG} rows or columns")
            if pixels[:2] != tensors[tensor].sizes:
                raise UnknownAccess("uses a tensor in a shape that differs from the tensor's own")
            seen.append(pixels)
            full.append(used)
            layouts.append(layout)
        *into, layout = layouts
        if named_layout(str(row.attributes.get("layout")), len(layout)) not in (layout, None):
            raise UnknownAccess("reads a tensor whose layout differs from that of the output")
        attributes = row.attributes
        if row.kind == "transpose":
            attributes = {**attributes, "axes": permutation_of(row)}
        elif row.kind != "reshape":
            # A matmul reads its whole second operand in any layout, so compare only the first operand with the output.
            alike = list(zip(into[:1] if row.kind == "matmul" else into, full, strict=False))
            if row.kind not in POINTWISE:  # Only pointwise kinds broadcast tensors of fewer axes, so skip such tensors.
                alike = [(other, shape) for other, shape in alike if len(other) == len(layout)]
            if any(_has_other_axes(other, layout, shape) for other, shape in alike):
                raise UnknownAccess("has tensors of two layouts")
        return Facts(
            row.kind or "", attributes, tuple(seen[:-1]), tuple(full[:-1]), seen[-1], full[-1], layout, into[0]
        )


def _has_other_axes(layout: str, other: str, shape: tuple[int, ...]) -> bool:
    along = zip(reversed(layout), reversed(other), reversed(shape), strict=False)
    return any(a != b and size > 1 for a, b, size in along)


def _channel_dependence(found: KindAccess, seen: PixelTensor, out: PixelTensor) -> Channels:
    is_same = out.channels > 0 and (seen.pixel, seen.channels) == (out.pixel, out.channels)
    return "same" if is_same and not found.mixes else "all"


def split_apart(graph: OperationGraph) -> OperationGraph:
    """Return the graph in which each split is replaced by one slice per output; tensors keep their numbers.

    A graph without splits, or with operations that are ordered by `after`, is returned unchanged.
    """
    if not graph.tensors or any(row.after for row in graph.ops):
        return graph
    parts = [_slices_of_split(graph, row) for row in graph.ops]
    if not any(parts):
        return graph
    ops = tuple(one for row, slices in zip(graph.ops, parts, strict=True) for one in slices or (row,))
    return graph.model_copy(update={"ops": ops})


def _slices_of_split(graph: OperationGraph, row: GraphOperation) -> tuple[GraphOperation, ...]:
    """Return the slices that together replace a split along one axis; empty for any other operation."""
    apart = set(graph.resident)
    reads = [k for k, tensor in enumerate(row.inputs) if tensor not in apart]
    if row.kind != "split" or len(reads) != 1 or len(row.outputs) < 2 or row.work or row.regions:
        return ()
    if any(not graph.readers[tensor] and tensor not in graph.kept for tensor in row.outputs):
        return ()  # Slices would not count the bytes of an unread output, so keep a split with one.
    whole = _tensor_shape(graph, row.inputs[reads[0]], row.in_shapes, reads[0])
    shapes = [_tensor_shape(graph, tensor, row.out_shapes, k) for k, tensor in enumerate(row.outputs)]
    sizes = [shape for shape in shapes if whole is not None and shape is not None and len(shape) == len(whole)]
    if whole is None or len(sizes) < len(shapes):
        return ()
    cut = [axis for axis in range(len(whole)) if any(shape[axis] != whole[axis] for shape in sizes)]
    if len(cut) != 1 or sum(shape[cut[0]] for shape in sizes) != whole[cut[0]]:
        return ()
    starts = [0, *accumulate(shape[cut[0]] for shape in sizes)]
    layout = {"layout": row.attributes["layout"]} if "layout" in row.attributes else {}
    return tuple(
        row.model_copy(
            update={
                "kind": "slice",
                "inputs": (row.inputs[reads[0]],),
                "outputs": (tensor,),
                "may_overwrite": (),
                "in_shapes": (whole,),
                "out_shapes": (shape,),
                "attributes": {"starts": (start,), "axes": (cut[0],), **layout},
            }
        )
        for tensor, shape, start in zip(row.outputs, sizes, starts, strict=False)
    )


def _tensor_shape(graph: OperationGraph, tensor: int, shapes: tuple[Shape | None, ...], k: int) -> Shape | None:
    return (shapes[k] if shapes else None) or graph.tensors[tensor].shape
