"""Shape inference for an ONNX model node by node, for models on which ONNX's own inference fails.

The types of a node's outputs follow from the types of its inputs and, if known, from their values: constants, shapes of
tensors, and results computed from these. ONNX's inference for single nodes computes the types, and ONNX's reference
evaluator computes the values.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from memplan.planner.errors import excerpt
from memplan.planner.foreign.imported import element_count
from memplan.runtimes.onnx.classical import DOMAINS, classical_output_types
from memplan.runtimes.onnx.facts import FOLDED, evaluate_node
from memplan.runtimes.onnx.model import (
    BITS,
    is_known,
    mark_branch_taken,
    node_name,
    shape_of,
    stacked_type,
    subgraphs,
    type_of,
)

if TYPE_CHECKING:
    import numpy as np
    from onnx import GraphProto, ModelProto, NodeProto, TensorProto, TypeProto

_MOST_ELEMENTS = 1 << 16
"""The maximum number of elements of a constant whose values are tracked; shapes, pads and indices have fewer."""
_OF_VALUES = {"NonZero", "NonMaxSuppression", "Unique", "Compress", "StringSplit"}
"""Operators whose output size depends on the values of their inputs."""
_COMPUTED = "has outputs whose sizes depend on computed values: export them as constants"
_SAVE = "save the model with the shapes of all values in it"
Types = ChainMap[str, "TypeProto"]
Known = ChainMap[str, "np.ndarray[Any, Any]"]


class NodeShapes:
    """The inference of all types in a model: creating an instance writes the types into the model.

    `causes` maps a value of unknown shape to the reason; `clashes` lists messages about nodes with contradicting
    shapes.
    """

    def __init__(self, model: ModelProto) -> None:
        """Infer the types of all values in the model's graphs and write them into the model."""
        self.versions = {"": 1} | {_canonical_domain(row.domain): row.version for row in model.opset_import}
        self.opsets, self.ir_version = list(model.opset_import), model.ir_version
        self.causes: dict[str, str] = {}
        self.clashes: list[str] = []
        self.graph(model.graph, ChainMap(), ChainMap())

    def graph(self, graph: GraphProto, types: Types, known: Known) -> None:
        """Infer and write the types in a graph; `types` and `known` (values) of the enclosing graphs are extended."""
        for tensor in graph.initializer:
            types[tensor.name] = type_of(tensor.data_type, tensor.dims)
            _record_constant(known, tensor.name, tensor)
        types.update({row.values.name: type_of(row.values.data_type, row.dims) for row in graph.sparse_initializer})
        stated = {row.name: row.type for row in (*graph.value_info, *graph.output, *graph.input)}
        for row in graph.input:
            types.setdefault(row.name, row.type)
        for k, node in enumerate(graph.node):
            types_of_node = self._output_types(node, k, types, known)
            for name in filter(None, node.output):
                mine, stated_type = types_of_node.get(name), stated.get(name)
                kind = stated_type if mine is None or (is_known(stated_type) and not is_known(mine)) else mine
                types.update({} if kind is None else {name: kind})
                if is_known(kind):
                    self.causes.pop(name, None)
        _write_types(graph, types)

    def _output_types(self, node: NodeProto, k: int, types: Types, known: Known) -> Mapping[str, TypeProto]:
        """Return the types of a node's outputs by name; record in `known` the values of computable outputs."""
        if node.op_type == "Constant":
            return _constant_type(node, known)
        inner = {label: (body, types.new_child(), known.new_child()) for label, body in subgraphs(node)}
        if inner:
            return self._body_types(node, inner, types, known)
        types_of_node = self._inferred_types(node, k, types, known)
        if node.op_type in ("Shape", "Size"):
            self._record_shape(node, types, known)
        elif node.op_type in FOLDED and all(name in known for name in filter(None, node.input)):
            sizes = [types_of_node.get(name) for name in filter(None, node.output)]
            if node.op_type == "NonZero" or all(kind is not None and _is_small(kind) for kind in sizes):
                types_of_node = {**types_of_node, **self._fold_types(node, known)}
        if not any(one in self.causes for one in node.input if one and not is_known(types.get(one))):
            of_values = node.op_type in _OF_VALUES or any(one and one not in known for one in node.input[1:])
            why = _COMPUTED if of_values else f"has no known shapes: {_SAVE}"
            open_ones = [name for name in node.output if not is_known(types_of_node.get(name))]
            self._mark_unknown(open_ones, f"{node_name(node, k)} {why}")
        return types_of_node

    def _mark_unknown(self, names: Iterable[str], cause: str) -> None:
        for name in filter(None, names):
            self.causes.setdefault(name, cause)

    def _inferred_types(self, node: NodeProto, k: int, types: Types, known: Known) -> dict[str, TypeProto]:
        """Return the types of a node's outputs that ONNX infers; empty, with a recorded reason, if it fails."""
        from onnx import checker, defs, numpy_helper, shape_inference

        domain = _canonical_domain(node.domain)
        if domain in DOMAINS and (inferred := classical_output_types(node, types)):
            return inferred
        version = self.versions.get(domain, 1)
        if not defs.has(node.op_type, version, domain):
            what = f"{excerpt(domain)}, whose shapes" if domain else f"opset {version}, where ONNX lacks it; its shapes"
            self._mark_unknown(
                node.output, f"{node_name(node, k)} is an operator of {what} are not known here: {_SAVE}"
            )
            return {}
        types_given = {name: types[name] for name in node.input if name in types}
        if len(types_given) < len({*node.input} - {""}):
            return {}
        numbers = {
            name: numpy_helper.from_array(known[name], name)
            for name in node.input
            if name in known and known[name].dtype != object
        }
        schema = defs.get_schema(node.op_type, version, domain)
        try:
            return dict(
                shape_inference.infer_node_outputs(
                    schema, node, types_given, numbers, None, self.opsets, self.ir_version
                )
            )
        except (
            checker.ValidationError,
            shape_inference.InferenceError,
            RuntimeError,
            ValueError,
            TypeError,
            LookupError,
        ) as error:
            said = excerpt(str(error).strip())
            empty = any(0 in (self.sizes(types[name]) or ()) for name in node.input if name in types)
            way = "; a dimension of its inputs is 0, so give at least 1 with --dim" if empty else ""
            self.clashes.append(f"{node_name(node, k)} must have consistent shapes: {said}{way}")
            self._mark_unknown(node.output, self.clashes[-1])
            return {}

    def _record_shape(self, node: NodeProto, types: Types, known: Known) -> None:
        """Record in `known` the output of a Shape or Size node if the sizes of its input are known."""
        kind = types.get(node.input[0]) if node.input else None
        sizes = None if kind is None else self.sizes(kind)
        if sizes is None or not node.output:
            return
        bounds = {row.name: row.i for row in node.attribute}
        if node.op_type == "Size":
            known[node.output[0]] = self.array(min(element_count(sizes), 2**63 - 1))
        else:
            known[node.output[0]] = self.array(sizes[bounds.get("start", 0) : bounds.get("end")])

    def sizes(self, kind: TypeProto) -> list[int] | None:
        """Return the sizes of a tensor type; None if one of them is unknown."""
        shape = shape_of(kind) if is_known(kind) else None
        return None if shape is None else [size for size in shape if isinstance(size, int)]

    def dimension(self, size: int) -> int | str:
        """Return a size in the form in which a type stores it: here always as an integer."""
        return int(size)

    def array(self, values: object) -> np.ndarray[Any, Any]:
        """Return integers as an int64 array, because ONNX's tensors of shapes have this type."""
        import numpy as np

        return np.array(values, np.int64)

    def _fold_types(self, node: NodeProto, known: Known) -> Mapping[str, TypeProto]:
        from onnx import helper

        try:
            made = evaluate_node(node, {name: known[name] for name in node.input if name}, self.versions[""])
            known.update(made)
            return {name: type_of(helper.np_dtype_to_tensor_dtype(row.dtype), row.shape) for name, row in made.items()}
        except Exception:  # noqa: BLE001  # An operator that the evaluator cannot run has unknown values.
            return {}

    def _body_types(
        self, node: NodeProto, inner: Mapping[str, tuple[GraphProto, Types, Known]], types: Types, known: Known
    ) -> Mapping[str, TypeProto]:
        if node.op_type == "If" and {"then_branch", "else_branch"} <= inner.keys():
            return self._branch_types(node, inner, known)
        return self._loop_types(node, *inner["body"], types, known) if {*inner} == {"body"} else {}

    def _branch_types(
        self, node: NodeProto, inner: Mapping[str, tuple[GraphProto, Types, Known]], known: Known
    ) -> Mapping[str, TypeProto]:
        """Return the output types of an If: the types of the only branch that can run, or those equal in both.

        A branch whose shapes contradict each other cannot run for these inputs, so the other branch always runs.
        """
        condition = known.get(node.input[0]) if node.input else None
        labels = ["then_branch", "else_branch"]
        if condition is not None and condition.size == 1:
            labels = labels[:1] if condition.item() else labels[1:]
        fits = []
        for label in labels:
            causes, before = dict(self.causes), len(self.clashes)
            self.graph(*inner[label])
            if len(self.clashes) == before:
                fits.append(label)
            elif len(labels) > 1:
                self.causes = causes
        labels = fits if len(fits) == 1 else labels
        rows = [[inner[label][1].get(value.name) for value in inner[label][0].output] for label in labels]
        if len(labels) == 1:
            mark_branch_taken(node, labels[0])
            body, _, values = inner[labels[0]]
            pairs = zip(node.output, body.output, strict=False)
            known.update({name: values[value.name] for name, value in pairs if value.name in values})
        shapes = {}
        for k, name in enumerate(node.output):
            kinds = [row[k] for row in rows if k < len(row)]
            if name and kinds and kinds[0] is not None and all(kind == kinds[0] for kind in kinds):
                shapes[name] = kinds[0]
            elif name and kinds and all(kind is not None and is_known(kind) for kind in kinds):
                self.causes.setdefault(name, f"{node.op_type} {excerpt(node.name)} has branches of different shapes")
        return shapes

    def _loop_types(
        self, node: NodeProto, body: GraphProto, types: Types, known: Known, outer: Types, values: Known
    ) -> Mapping[str, TypeProto]:
        """Return the output types of a Loop or Scan: of its final state, and of its stacked results."""
        first = 2 if node.op_type == "Loop" else 0
        scanned = next((row.i for row in node.attribute if row.name == "num_scan_inputs"), 0)
        inputs = list(node.input)[first:]
        n_state = len(inputs) - (scanned if node.op_type == "Scan" else 0)
        trips: int | str | None = None
        for value, name in zip(list(body.input)[first:], inputs, strict=False):
            if name in outer:
                types[value.name] = outer[name]
        for value, name in list(zip(body.input, node.input, strict=False))[n_state:] if node.op_type == "Scan" else ():
            shape = shape_of(outer[name]) if name in outer else None
            if shape:
                trips = shape[0]
                types[value.name] = stacked_type(outer[name], None, is_apart=True)
        if node.op_type == "Loop" and node.input[0] in values and values[node.input[0]].size == 1:
            trips = self.dimension(values[node.input[0]].item())
        self.graph(body, types, known)
        results = [types.get(value.name) for value in body.output][1 if node.op_type == "Loop" else 0 :]
        types_of_body: dict[str, TypeProto] = {}
        for k, (name, kind) in enumerate(zip(node.output, results, strict=False)):
            if name and kind is not None:
                types_of_body[name] = kind if k < n_state else stacked_type(kind, trips)
        return types_of_body


def _canonical_domain(domain: str) -> str:
    return "" if domain == "ai.onnx" else domain


def _is_small(kind: TypeProto) -> bool:
    shape = shape_of(kind) if is_known(kind) else None
    return shape is not None and element_count(size for size in shape if isinstance(size, int)) <= _MOST_ELEMENTS


def _record_constant(known: Known, name: str, tensor: TensorProto) -> None:
    from onnx import numpy_helper

    if element_count(tensor.dims) <= _MOST_ELEMENTS and not tensor.external_data and tensor.data_type in BITS:
        try:
            known[name] = numpy_helper.to_array(tensor)
        except (ValueError, TypeError, OverflowError, OSError):
            return


def _constant_type(node: NodeProto, known: Known) -> Mapping[str, TypeProto]:
    """Return the type of a Constant node's output by name, and record the output's value in `known`."""
    import numpy as np
    from onnx import helper

    if len(node.output) != 1:
        return {}
    name = node.output[0]
    for row in node.attribute:
        if row.HasField("t"):
            _record_constant(known, name, row.t)
            return {name: type_of(row.t.data_type, row.t.dims)}
        if row.name in ("value_int", "value_ints", "value_float", "value_floats"):
            dtype = np.int64 if "int" in row.name else np.float32
            known[name] = np.array(helper.get_attribute_value(row), dtype)
            return {name: type_of(helper.np_dtype_to_tensor_dtype(known[name].dtype), known[name].shape)}
    return {}


def _write_types(graph: GraphProto, types: Mapping[str, TypeProto]) -> None:
    stated = set()
    for row in (*graph.input, *graph.output, *graph.value_info):
        stated.add(row.name)
        if row.name in types and not is_known(row.type):
            row.type.CopyFrom(types[row.name])
    for name in dict.fromkeys(name for node in graph.node for name in node.output):
        if name and name in types and name not in stated:
            graph.value_info.add(name=name).type.CopyFrom(types[name])
