"""ONNX models as cascades: Slice, Concat, and each operator on parts, with pads only at the borders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memplan.capabilities.cascade.access.window import Window
from memplan.capabilities.cascade.in_parts.onnx_source import WINDOWS, OnnxSource
from memplan.capabilities.cascade.regions.regions import Span
from memplan.capabilities.cascade.regions.unrolled import PartStep, Unrolled
from memplan.planner.errors import OperationsError
from memplan.systems.onnx.model import subgraphs

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto


class OnnxRewriting(OnnxSource):
    """A model that can be written as cascades of its graph."""

    def write(self, found: Unrolled) -> bytes:
        """Return the model as an unrolled cascade of its graph says, for opset and runtime unchanged."""
        return _Writing(self, found).run()


class _Writing:
    """Writes the nodes of an unrolled cascade."""

    def __init__(self, how: OnnxSource, found: Unrolled) -> None:
        import onnx

        self.how, self.found, self.graph = how, found, found.graph
        self.model: ModelProto = onnx.ModelProto()
        self.model.CopyFrom(how.model)
        self.nodes: list[NodeProto] = []
        self.numbers: dict[tuple[object, ...], str] = {}
        self.views: dict[tuple[str, str], str] = {}
        self.used = {name for node in how.nodes for name in node.output} | {row.name for row in how.model.graph.input}
        self.names = self._names()

    def run(self) -> bytes:
        whole = self.model.graph
        self._constant_nodes()
        for step in self.found.steps:
            if step.kind == "slice":
                self._slice(step)
            elif step.kind == "join":
                self._node(
                    "Concat",
                    [self.names[value] for value in step.inputs],
                    self.names[step.outputs[0]],
                    axis=2 + step.axis,
                )
            elif all(map(self.found.is_whole, (*step.inputs, *step.outputs))):
                self._run_whole(step)
            else:
                self._run_part(step)
        made = {name for node in self.nodes for name in node.output} | {row.name for row in whole.input}
        by_name = {self._name(value): self.names[value] for value in (*self.found.inputs, *self.found.kept)}
        for row in whole.output:
            if row.name not in made and row.name not in self.how.constants:
                self._view(row.name, by_name, as_is=True)
        del whole.node[:]
        whole.node.extend(self.nodes)
        del whole.value_info[:]
        data: bytes = self.model.SerializeToString()
        return data

    def _name(self, value: int) -> str:
        """Return the name of the model's tensor that a value is a part of."""
        return self.how.names[self.graph.tensor_origin(self.found.values[value].tensor)]

    def _names(self) -> list[str]:
        """Return a name for each value; outputs, and else the first one that is whole, have that of the tensor."""
        found: dict[int, str] = {}
        taken: set[str] = set()
        order = (*self.found.inputs, *self.found.kept, *range(len(self.found.values)))
        for value in order:
            if value in found:
                continue
            name = self._name(value)
            if not self.found.is_whole(value) or name in taken:
                (a, b), (c, d) = self.found.values[value].spans
                name = f"{name}/{value}/{a}:{b},{c}:{d}"
            taken.add(name)
            found[value] = name
        return [found[value] for value in range(len(self.found.values))]

    def _node(self, kind: str, inputs: Sequence[str], output: str, **attributes: Any) -> None:
        from onnx import helper

        self.nodes.append(helper.make_node(kind, inputs, [output], name=f"{output}/{kind}", **attributes))

    def _constant(self, values: Sequence[int] | Sequence[float]) -> str:
        """Return the name of a constant of whole numbers, or of others, that is made once."""
        import numpy as np
        from onnx import numpy_helper

        kind = "scales" if isinstance(values[0], float) else "numbers"
        name = f"memplan/{kind}/{','.join(map(str, values))}"
        if (kind, *values) not in self.numbers:
            self.numbers[(kind, *values)] = name
            array = np.array(values, np.float32 if kind == "scales" else np.int64)
            self.model.graph.initializer.append(numpy_helper.from_array(array, name))
        return name

    def _slice(self, step: PartStep) -> None:
        part, into = self.found.values[step.inputs[0]], self.found.values[step.outputs[0]]
        cut = [
            (axis + 2, b[0] - a[0], b[1] - a[0])
            for axis, (a, b) in enumerate(zip(part.spans, into.spans, strict=True))
            if a != b
        ]
        self._cut(self.names[step.inputs[0]], cut, self.names[step.outputs[0]])

    def _cut(self, source: str, cut: Sequence[tuple[int, int, int]], name: str) -> None:
        axes, starts, ends = ([row[k] for row in cut] for k in range(3))
        self._node("Slice", [source, *map(self._constant, (starts, ends, axes))], name)

    def _constant_nodes(self) -> None:
        """Write the nodes of nothing but constants and known shapes, in their order."""
        import numpy as np
        from onnx import helper, numpy_helper

        known = set(self.how.constants) | {""}
        for node in self.how.nodes:
            if node.op_type == "Shape" and node.output[0] not in self.how.tensors:
                # It is written as what it makes, as the tensor that it reads may be in parts.
                bounds = {row.name: row.i for row in node.attribute}
                sizes = (self.how.shapes.get(node.input[0]) or ())[bounds.get("start", 0) : bounds.get("end")]
                value = numpy_helper.from_array(np.array(sizes, np.int64))
                self.nodes.append(helper.make_node("Constant", [], list(node.output), value=value))
                known.update(node.output)
            elif node.op_type == "Constant" or (
                node.input
                and all(name in known for name in node.input)
                and not any(True for _ in subgraphs(node))
                and not any(name in self.how.tensors for name in node.output)
            ):
                self.nodes.append(node)
                known.update(node.output)
        self.known = known

    def _given(self, step: PartStep) -> dict[str, str]:
        return {self._name(value): self.names[value] for value in step.inputs}

    def _copy(self, v: int) -> NodeProto:
        import onnx

        found = onnx.NodeProto()
        found.CopyFrom(self.how.node_of(self.graph.origin(v)))
        return found

    def _run_whole(self, step: PartStep) -> None:
        node, given = self._copy(step.operation), self._given(step)
        inputs = [name if name in self.known else self._view(name, given) for name in node.input]
        outputs = {self._name(value): self.names[value] for value in step.outputs}
        self._replace(node, inputs, [outputs.get(name, name) for name in node.output])

    def _view(self, name: str, given: Mapping[str, str], *, as_is: bool = False) -> str:
        """Return the name of what a value is, or of a view of it, whose nodes are written."""
        if name in given:
            return given[name]
        if name in self.known:
            return name
        maker = next((node for node in self.how.nodes if name in node.output), None)
        if maker is None or len(maker.output) != 1 or not maker.input:
            raise OperationsError(f"{name}: must be a tensor, or a view of one, to be written")
        inputs = [self._view(one, given) for one in maker.input]
        key = name, inputs[0]
        if key not in self.views or as_is:
            self.views[key] = (
                name if as_is or all(old != name for old, _ in self.views) else f"{name}/{len(self.views)}"
            )
            import onnx

            node = onnx.NodeProto()
            node.CopyFrom(maker)
            self._replace(node, inputs, [self.views[key]])
        return self.views[key]

    def _replace(self, node: NodeProto, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        del node.input[:], node.output[:]
        node.input.extend(inputs)
        node.output.extend(outputs)
        node.name = f"{outputs[0]}/{node.op_type}"
        self.nodes.append(node)

    def _run_part(self, step: PartStep) -> None:
        node, given = self._copy(step.operation), self._given(step)
        inputs, output = [given.get(name, name) for name in node.input], self.names[step.outputs[0]]
        spans = self.found.values[step.outputs[0]].spans
        row = self.graph.operations[step.operation]
        sources = self.found.values[step.inputs[0]].spans
        windows = row.reads[0].windows
        if node.op_type in WINDOWS:
            reached = [window.reach(*span) for window, span in zip(windows, spans, strict=True)]
            pads = [(read[0] - first, end - read[1]) for (first, end), read in zip(reached, sources, strict=True)]
            _with_pads(node, pads)
        elif node.op_type == "ConvTranspose":
            _with_pads(node, [_cropping(*one) for one in zip(windows, spans, sources, strict=True)])
        elif node.op_type == "Resize":
            factors = self.how.factors(node) or (1, 1)
            inputs = [inputs[0], "", self._constant([1.0, 1.0, *map(float, factors)])]
            cut = [
                (axis + 2, span[0] - source[0] * f, span[1] - source[0] * f)
                for axis, (span, source, f) in enumerate(zip(spans, sources, factors, strict=True))
                if (span[0], span[1]) != (source[0] * f, source[1] * f)
            ]
            if cut:
                self._replace(node, inputs, [f"{output}/more"])
                self._cut(f"{output}/more", cut, output)
                return
        self._replace(node, inputs, [output])


def _cropping(window: Window, made: Span, read: Span) -> Span:
    """Return how many rows at either end of what a transposed convolution makes of its part are not of it."""
    stride, before = window.divisor, window.high
    reach = before + stride - 1 - window.low
    first, end = read[0] * stride - before, (read[1] - 1) * stride - before + reach + 1
    if first > made[0] or end < made[1]:
        raise OperationsError("conv_transpose: must make all rows of its part from what it reads")
    return made[0] - first, end - made[1]


def _with_pads(node: NodeProto, pads: Sequence[Span]) -> None:
    from onnx import helper

    kept = [row for row in node.attribute if row.name not in ("pads", "auto_pad", "output_padding", "ceil_mode")]
    del node.attribute[:]
    node.attribute.extend([*kept, helper.make_attribute("pads", [a for a, _ in pads] + [b for _, b in pads])])
