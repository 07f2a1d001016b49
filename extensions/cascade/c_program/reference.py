"""The C functions called by the loops of a cascade, defined by reference kernels for known kinds of operations."""

from collections.abc import Iterable
from math import prod
from typing import NamedTuple

from memplan.extensions.cascade.c_program.program import kernel_declaration
from memplan.planner import __version__
from memplan.planner.foreign.c_names import add_include_guard, comment_text
from memplan.programs.operations.graph import GraphOperation, OperationGraph

_TYPES = {"int8": "int8", "float32": "float"}
_WINDOWS = {
    "conv2d": "conv",
    "depthwise_conv2d": "depthwise",
    "max_pool2d": "max_pool",
    "average_pool2d": "average_pool",
}


class Shapes(NamedTuple):
    """The shapes of an operation's inputs (without constants) and of its output, and their common element type."""

    inputs: tuple[tuple[int, ...], ...]
    output: tuple[int, ...]
    element: str


def reference_source(source: OperationGraph, called: Iterable[tuple[int, str]], prefix: str) -> tuple[str, str]:
    """Return the C source that defines the called functions by kernels, and a C header that declares constants."""
    made, values = [], list[str]()
    for v, what in called:
        row = source.ops[v]
        shapes = _shapes_of_operation(source, row)
        function = None if shapes is None else _function_body(prefix, v, row, shapes, what)
        if function is None:
            made.append(
                f"/* {comment_text(row.kind or 'an unknown kind')}: define {kernel_declaration(prefix, v, what)} */\n\n"
            )
            continue
        text, value = function
        if value is not None:
            values.append(f"extern const {value} {prefix}_values_{v}; /* {comment_text(row.name or row.kind)} */\n")
        made.append(f"{kernel_declaration(prefix, v, what)} {{\n{text}}}\n\n")
    head_comment = f"/* Written by memplan {__version__}: reference kernels of a cascade. */\n"
    includes = f'#include "{prefix}.h"\n#include "{prefix}_values.h"\n\n#define UNUSED(value) ((void)(value))\n\n'
    declared = add_include_guard("".join(values), f"{prefix}_values").replace(
        "_H\n\n", '_H\n\n#include "memplan_kernels.h"\n\n', 1
    )
    return head_comment + includes + "".join(made), head_comment + declared


def _shapes_of_operation(source: OperationGraph, row: GraphOperation) -> Shapes | None:
    """Return an operation's shapes; None unless it has one output, and all types are int8, or all float32."""
    resident = set(source.resident)
    reads = [tensor for tensor in row.inputs if tensor not in resident]
    if not source.tensors or not reads or len(row.outputs) != 1:
        return None
    facts = [source.tensors[tensor] for tensor in (*reads, row.outputs[0])]
    shapes = [fact.shape for fact in facts if fact.shape is not None]
    types = {fact.dtype for fact in facts}
    if len(shapes) < len(facts) or len(types) > 1 or any(shape[:1] != (1,) for shape in shapes):
        return None
    element = _TYPES.get(str(types.pop()))
    return None if element is None else Shapes(tuple(shapes[:-1]), shapes[-1], element)


def _function_body(
    prefix: str, v: int, row: GraphOperation, shapes: Shapes, what: str
) -> tuple[str, str | None] | None:
    """Return the C body of an operation's function, and its constants' C type; None if no reference kernel exists."""
    kind, element = row.kind or "", shapes.element
    if kind == "global_average_pool":
        return _average_body(shapes, what), None
    if kind in _WINDOWS or (kind == "fully_connected" and _is_by_pixel(shapes)):
        return _window_body(prefix, v, row, shapes, what)
    if what != "make":
        return None
    if kind == "fully_connected" and prod(shapes.output) == shapes.output[-1]:
        window = _window_constant(row, prod(shapes.inputs[0]), shapes.output[-1])
        values = f"&{prefix}_values_{v}"
        body = f"{window}  UNUSED(part);\n  memplan_dense_{element}(out[0], in[0], &window, {values});\n"
        return body, f"memplan_{element}_values"
    if row.attributes.get("activation"):
        return None
    if kind == "add" and len(shapes.inputs) == 2 and shapes.inputs[0] == shapes.inputs[1] == shapes.output:
        if element == "int8":
            return f"  memplan_add_int8(out[0], in[0], in[1], part, &{prefix}_values_{v});\n", "memplan_int8_sum"
        return "  memplan_add_float(out[0], in[0], in[1], part);\n", None
    return _copying_body(row, shapes)


def _copying_body(row: GraphOperation, shapes: Shapes) -> tuple[str, str | None] | None:
    """Return the C body of a function that copies pixels (concat, nearest resize, identity); None for other kinds."""
    rank, attributes = len(shapes.output), row.attributes
    if row.kind == "concat" and attributes.get("axis") in (rank - 1, -1) and attributes.get("layout") != "NCHW":
        return f"  memplan_concat(out[0], in, {len(shapes.inputs)}, part);\n", None
    if row.kind == "resize" and (attributes.get("mode"), attributes.get("coordinates")) == ("nearest", "asymmetric"):
        return "  memplan_nearest(out[0], in[0], part);\n", None
    if row.kind in ("identity", "copy", "reshape") and shapes.inputs[0] == shapes.output:
        return "  memplan_copy(out[0], in[0], part);\n", None
    return None


def _average_body(shapes: Shapes, what: str) -> str:
    channels, element = shapes.output[-1], shapes.element
    return {
        "make": f"  memplan_average_whole_{element}(out[0], in[0], part, {channels});\n",
        "begin": f"  memplan_begin_sums(sums, {channels});\n",
        "add": f"  memplan_average_add_{element}(sums, in[0], part, {channels});\n",
        "end": f"  memplan_average_end_{element}(out[0], in[0], sums, {channels});\n",
    }[what]


def _is_by_pixel(shapes: Shapes) -> bool:
    into, made = shapes.inputs[0], shapes.output
    return into[:-1] == made[:-1] or prod(into[:-1]) == prod(made[:-1]) == 1


def _window_body(prefix: str, v: int, row: GraphOperation, shapes: Shapes, what: str) -> tuple[str, str | None] | None:
    """Return the C statements of an operation with a window, and its constants' C type; None if no kernel fits."""
    kind, is_pool = row.kind or "", (row.kind or "").endswith("pool2d")
    shape, values = shapes.inputs[0], f"&{prefix}_values_{v}"
    if kind in _WINDOWS and (len(shape) != 4 or len(shapes.output) != 4):
        return None
    if row.attributes.get("layout", "NHWC") != "NHWC" or (is_pool and row.attributes.get("activation")):
        return None
    window = _window_constant(row, shape[-1], shapes.output[-1])
    if is_pool:
        return f"{window}  memplan_{_WINDOWS[kind]}_{shapes.element}(out[0], in[0], part, &window);\n", None
    name = f"memplan_{_WINDOWS.get(kind, 'conv')}"
    body = {
        "make": f"  {name}_{shapes.element}(out[0], in[0], part, &window, {values});\n",
        "add": f"  {name}_add_{shapes.element}(sums, in[0], part, &window, {values});\n",
        "end": f"  UNUSED(in);\n  {name}_end_{shapes.element}(out[0], sums, &window, {values});\n",
        "begin": f"  memplan_begin_sums(sums, {prod(shapes.output)});\n",
    }[what]
    return body if what == "begin" else window + body, f"memplan_{shapes.element}_values"


def _window_constant(row: GraphOperation, into: int, made: int) -> str:
    pairs = []
    for name, default in (("kernel", 1), ("strides", 1), ("dilations", 1), ("pads", 0)):
        value = row.attributes.get(name, default)
        pair = value[:2] if isinstance(value, tuple) else (value, value)
        pairs.append(f"{{{pair[0]}, {pair[1]}}}")
    groups = row.attributes.get("groups", 1) if row.kind == "conv2d" else 1
    return f"  static const memplan_window window = {{{', '.join(pairs)}, {into}, {made}, {groups}}};\n"
