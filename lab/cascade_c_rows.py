"""Whole networks as cascades in C, beside numpy: `python -m lab.cascade_c_rows`.

The first rows are a trained model beside LiteRT's reference kernels, where that is installed.
Each other row: a network, int8; the placed peak layer by layer and that of the point of least peak and of fewest
multiplications; whether the program is equal to numpy under the sanitizers, and the writable bytes of its objects for a
Cortex-M4.
"""

from __future__ import annotations

import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from lab.support.litert_values import reference_interpreter, source_of
from memplan.capabilities.cascade.c_program import PlacedCascade, write_cascade
from memplan.capabilities.cascade.cascade import cascade
from memplan.capabilities.cascade.search.options import CascadeOptions
from memplan.planner.operations.graph import OperationGraph
from memplan.systems.model_graph import read_model_graph
from tests.support.cascade_c import Values, arena_of, by_numpy, has_cortex, run, written
from tests.support.networks import Network, mobilenet_v1, mobilenet_v2


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
            files = dict(write_cascade(PlacedCascade(point.cascade, point.offsets, point.peak), graph, "net"))
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
