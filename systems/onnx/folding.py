"""Numbers that an ONNX graph computes of constants and of known shapes: pads and bounds of slices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from memplan.systems.imported import element_count
from memplan.systems.vocabulary import MOST_NUMBERS

if TYPE_CHECKING:
    import numpy as np
    from onnx import GraphProto, NodeProto, TensorProto

FOLDED = set("""
Abs Add And Cast CastLike Ceil Clip Concat ConstantOfShape CumSum Div Equal Expand Flatten Floor Gather GatherElements
GatherND Greater GreaterOrEqual Identity Less LessOrEqual Max Min Mod Mul Neg NonZero Not OneHot Or Pow Range Reciprocal
ReduceMax ReduceMin ReduceProd ReduceSum Reshape Round ScatterElements ScatterND Sign Slice Split Sqrt Squeeze Sub Sum
Tile Transpose Trilu Unsqueeze Where Xor
""".split())  # fmt: skip  # noqa: SIM905
"""The operators whose values are computed: arithmetic of small tensors, whose cost is that of what they make."""
_MOST_NODES = 64


def fold(node: NodeProto, given: Mapping[str, np.ndarray[Any, Any]], version: int) -> dict[str, np.ndarray[Any, Any]]:
    """Return what a node makes of known numbers in an opset; raises what ONNX's evaluator raises."""
    import onnx
    from onnx import helper
    from onnx.reference import ReferenceEvaluator

    names = [name for name in node.output if name]
    ends = [[onnx.ValueInfoProto(name=name) for name in ends] for ends in (given, names)]
    # A node alone would be run as the newest version says.
    opsets = [helper.make_opsetid("", version)]
    model = helper.make_model(helper.make_graph([node], "node", *ends), opset_imports=opsets)
    return dict(zip(names, ReferenceEvaluator(model).run(None, dict(given)), strict=False))


class FoldedNumbers:
    """The short constants of a graph by their names: given, or computed of those and of known shapes."""

    def __init__(self, graph: GraphProto, version: int) -> None:
        self._version, self._left = version, 0
        self._makers = {name: node for node in graph.node for name in node.output if name}
        self._constants = {tensor.name: tensor for tensor in graph.initializer}
        for node in graph.node:
            if node.op_type == "Constant" and node.output:
                self._constants.update((node.output[0], row.t) for row in node.attribute if row.HasField("t"))

    def of(self, name: str, shape: Callable[[str], tuple[int, ...] | None]) -> list[object] | None:
        """Return the numbers of a short list of integers; None for what is none, or is not known."""
        self._left = _MOST_NODES
        found = self._value(name, shape)
        is_short = found is not None and found.size <= MOST_NUMBERS and found.dtype.name in ("int32", "int64")
        return list(found.ravel().tolist()) if found is not None and is_short else None

    def _value(self, name: str, shape: Callable[[str], tuple[int, ...] | None]) -> np.ndarray[Any, Any] | None:
        import numpy as np

        self._left -= 1
        if name in self._constants:
            return _numbers(self._constants[name])
        node = self._makers.get(name)
        if node is None or self._left < 0:
            return None
        if node.op_type == "Shape" and len(node.input) == 1 and not node.attribute:
            sizes = shape(node.input[0])
            return None if sizes is None else np.array(sizes, np.int64)
        given = {one: self._value(one, shape) for one in node.input if one} if node.op_type in FOLDED else {}
        known = {one: value for one, value in given.items() if value is not None and value.size <= MOST_NUMBERS}
        if not known or len(known) < len(given):
            return None
        try:
            return fold(node, known, self._version).get(name)
        except Exception:  # noqa: BLE001  # what the evaluator does not know is not known here
            return None


def _numbers(tensor: TensorProto) -> np.ndarray[Any, Any] | None:
    if element_count(tensor.dims) > MOST_NUMBERS:
        return None
    from onnx import numpy_helper

    try:
        found: np.ndarray[Any, Any] = numpy_helper.to_array(tensor)
    except (ValueError, TypeError, OverflowError, OSError):  # what it says of itself does not fit its bytes
        return None
    return found
