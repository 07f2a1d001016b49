"""Whole networks as cascades in C, beside numpy: `python -m lab.cascade_c_rows`.

The first rows are a trained model beside LiteRT's reference kernels, where that is installed.
Each other row: a network, int8; the placed peak layer by layer and that of the point of least peak and of fewest
multiplications; whether the program is equal to numpy under the sanitizers, and the writable bytes of its objects for a
Cortex-M4.
"""

from __future__ import annotations

import math
import tempfile
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from memplan.extensions.cascade.c_program import write_cascade
from memplan.extensions.cascade.cascade import cascade
from memplan.extensions.cascade.search.options import CascadeOptions
from memplan.extensions.models.tests.programs_in_c import Values, arena_of, by_numpy, has_cortex, run, written
from memplan.planner.foreign.model_graph import read_model_graph
from memplan.planner.operations.graph import OperationGraph
from tests.support.networks import Network, mobilenet_v1, mobilenet_v2

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


def small_unet(size: int = 64, channels: int = 8, dtype: str = "int8") -> OperationGraph:
    net = Network("small_unet", dtype)
    x = net.conv(net.input(size, size, 3), channels)
    y = net.conv(net.conv(net.pool(x), 2 * channels), 2 * channels)
    z = net.conv(net.conv(net.pool(y), 4 * channels), 4 * channels)
    y = net.conv(net.concat(net.conv(net.resize(z), 2 * channels, 2), y), 2 * channels)
    x = net.conv(net.concat(net.conv(net.resize(y), channels, 2), x), channels)
    net.conv(x, 2, 1)
    return net.graph()


def beside_litert() -> None:
    """Print a row: a trained int8 model, with its weights, beside LiteRT's reference kernels, before its softmax."""
    path = Path(__file__).parents[1] / "tests" / "models" / "recorded" / "kws_dscnn_int8.tflite"
    graph, interpreter = read_model_graph(path.read_bytes(), path.name).graph, reference_interpreter(path)
    images = np.random.default_rng(0).integers(-128, 128, (20, 1, 490)).astype(np.int8)
    place, logits = interpreter.get_input_details()[0], interpreter._get_ops_details()[-1]["inputs"][0]
    wanted = []
    for image in images:
        interpreter.set_tensor(place["index"], image.reshape(place["shape"]))
        interpreter.invoke()
        wanted.append(interpreter.get_tensor(logits).ravel().tolist())
    for overlap in ("none", "sliding"):
        point = cascade(graph, CascadeOptions(overlap=overlap)).points[-1]
        with tempfile.TemporaryDirectory() as folder:
            files = dict(write_cascade(point, graph, "net"))
            files["values.c"] = source_of(interpreter, graph).encode()
            for name, content in files.items():
                (Path(folder) / name).write_bytes(content)
            got = np.frombuffer(run([Path(folder) / name for name in files if name.endswith(".c")], images), np.int8)
        is_equal = got.reshape(len(wanted), -1).tolist() == wanted
        print(f"{path.name} overlap {overlap}: peak {point.peak:,}, equal to LiteRT {is_equal}")


def main() -> None:
    """Print the rows."""
    if find_spec("ai_edge_litert") is not None:
        beside_litert()
    networks = [mobilenet_v1(0.25, 96), mobilenet_v2(0.35, 96), small_unet(), small_unet(32, 4, "float32")]
    for graph in networks:
        values = Values.drawn(graph)
        is_int8 = values.element == "int8"
        random = np.random.default_rng(1)
        shape = graph.tensors[0].shape
        assert shape is not None
        image = random.integers(-128, 128, shape).astype(np.int8)
        image = image if is_int8 else (image / 64).astype(np.float32)
        expected = by_numpy(values, image)
        for way in ("resident", "streamed"):
            options = CascadeOptions(input="streamed" if way == "streamed" else "resident")
            found = cascade(graph, options)
            for k in sorted({0, len(found.points) - 1}):
                point = found.points[k]
                with tempfile.TemporaryDirectory() as folder:
                    sources = written(Path(folder), point, values, streamed=way == "streamed")
                    got = np.frombuffer(run(sources, image), expected.dtype).reshape(expected.shape)
                    is_equal = np.array_equal(got, expected) if is_int8 else np.allclose(got, expected, atol=1e-4)
                    arena = f"{arena_of(sources):,}" if has_cortex() else "no compiler"
                print(
                    f"{graph.name} {values.element} {way} point {k}: layers {found.layers_peak:,}, peak {point.peak:,}"
                    f" at {100 * (point.macs_ratio - 1):+.2f} %, equal {is_equal}, Cortex-M4 {arena}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
