"""The constants of a TFLite model in the C of a cascade, as LiteRT reads them; and what LiteRT makes of images."""

from __future__ import annotations

import math
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from memplan.planner.operations.graph import OperationGraph

WITH_VALUES = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")
ENDLESS_MAIN = """
#include <stdio.h>
int main(void) {
  while (fread(NET_INPUT_0, 1, NET_INPUT_0_SIZE, stdin) == NET_INPUT_0_SIZE) {
    net_run();
    fwrite(NET_OUTPUT_0, 1, NET_OUTPUT_0_SIZE, stdout);
  }
  return 0;
}
"""


def reference_interpreter(path: Path) -> Any:
    """Return LiteRT's interpreter with the reference kernels, all tensors of which can be read."""
    module = import_module("ai_edge_litert.interpreter")
    resolver = module.OpResolverType.BUILTIN_REF
    found = module.Interpreter(
        str(path), experimental_op_resolver_type=resolver, experimental_preserve_all_tensors=True
    )
    found.allocate_tensors()
    return found


def source_of(interpreter: Any, graph: OperationGraph) -> str:
    """Return the values of a model of int8 operations, with a softmax that hands on what it reads; and a main."""
    tensors = {row["index"]: row for row in interpreter.get_tensor_details()}
    found = ['#include <string.h>\n#include "net.h"\n#include "net_values.h"\n']
    for v, row in enumerate(interpreter._get_ops_details()):
        if row["op_name"] == "SOFTMAX":
            found.append(
                f"void net_op_{v}(const memplan_view *const out[], const memplan_view *const in[],\n"
                " memplan_part part) {\n"
                "  (void)part;\n  memcpy(out[0]->data, in[0]->data, (size_t)out[0]->pixel);\n}\n"
            )
        if row["op_name"] in WITH_VALUES:
            found.append(_values(interpreter, tensors, v, row, graph.ops[v].attributes.get("activation") is not None))
    return "".join([*found, ENDLESS_MAIN])


def _values(interpreter: Any, tensors: Any, v: int, row: Any, is_relu: bool) -> str:
    x, w, b = row["inputs"][:3]
    facts = [tensors[k]["quantization_parameters"] for k in (x, w, row["outputs"][0])]
    count = int(tensors[row["outputs"][0]]["shape"][-1])
    bias = interpreter.get_tensor(b) if b >= 0 else np.zeros(count, np.int64)
    into, out = (float(fact["scales"][0]) for fact in (facts[0], facts[2]))
    scaled = [_quantized(into * float(scale) / out) for scale in np.broadcast_to(facts[1]["scales"], (count,))]
    zeros = [int(fact["zero_points"][0]) for fact in (facts[0], facts[2])]
    columns = {
        "weights": ("int8_t", interpreter.get_tensor(w)),
        "bias": ("int32_t", bias),
        "multiplier": ("int32_t", np.array([one for one, _ in scaled])),
        "shift": ("int32_t", np.array([shift for _, shift in scaled])),
    }
    said = "".join(
        f"static const {kind} {name}_{v}[] = {{{','.join(map(str, np.ravel(column).tolist()))}}};\n"
        for name, (kind, column) in columns.items()
    )
    low = zeros[1] if is_relu else -128
    fields = ", ".join(f"{name}_{v}" for name in columns)
    return f"{said}const memplan_int8_values net_values_{v} = {{{fields}, {zeros[0]}, {zeros[1]}, {low}, 127}};\n"


def _quantized(scale: float) -> tuple[int, int]:
    """Return a scale as a multiplier of 31 bits and a shift."""
    mantissa, exponent = math.frexp(scale)
    rounded = round(mantissa * 2**31)
    return (rounded // 2, exponent + 1) if rounded == 2**31 else (rounded, exponent)
