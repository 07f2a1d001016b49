"""Cascades in C compared with numpy: random constants, results layer by layer, and compiled programs."""

import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from memplan.extensions.cascade.answer import CascadePoint
from memplan.extensions.cascade.c_program import write_cascade
from memplan.programs.operations.graph import GraphOperation, OperationGraph

Array: TypeAlias = npt.NDArray[Any]
STRICT = ("-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Wpedantic", "-Werror")
CHECKED = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
CORTEX = ("-mcpu=cortex-m4", "-mthumb", "-O2", "-ffreestanding")
MAIN = """
#include "net.h"
#include <stdio.h>
#include <string.h>
static unsigned char image[{size}];
{stream}
int main(void) {{
  memset(net_arena, 0xAA, sizeof net_arena);
  if (fread(image, 1, sizeof image, stdin) != sizeof image) return 1;
#ifdef NET_INPUT_0
  memcpy(NET_INPUT_0, image, sizeof image);
#endif
  net_run();
  return fwrite(NET_OUTPUT_0, 1, NET_OUTPUT_0_SIZE, stdout) == NET_OUTPUT_0_SIZE ? 0 : 1;
}}
"""
STREAM = """
void net_input_0(const memplan_view *view, memplan_part part) {
  for (int32_t r = part.first_row; r < part.end_row; ++r)
    for (int32_t c = part.first_column; c < part.end_column; ++c)
      memcpy(memplan_pixel(view, r, c), image + ((size_t)r * (size_t)view->columns + (size_t)c) * (size_t)view->pixel,
             (size_t)view->pixel);
}
"""


@dataclass
class Values:
    """The constants of each operation, drawn at random, so that int8 results spread over their range."""

    graph: OperationGraph
    element: str
    of: dict[int, dict[str, Array]] = field(default_factory=dict)

    @classmethod
    def from_seed(cls, graph: OperationGraph, seed: int = 0) -> "Values":
        random, found = np.random.default_rng(seed), cls(graph, str(graph.tensors[0].dtype))
        for v, row in enumerate(graph.ops):
            weights = [graph.tensors[t].shape for t in row.inputs if t in graph.resident]
            if weights and weights[0] is not None:
                shape = weights[0]
                channels = shape[-1] if row.kind == "depthwise_conv2d" else shape[0]
                found.of[v] = found._constants(random, shape, channels)
            elif row.kind == "add" and found.element == "int8":
                found.of[v] = {"zero": np.array([-3, 5, 2]), "multiplier": random.integers(2**30, 2**31 - 1, 3)}
        return found

    def _constants(self, random: np.random.Generator, shape: tuple[int, ...], channels: int) -> dict[str, Array]:
        taps = int(np.prod(shape)) // channels
        if self.element != "int8":
            scaled = random.standard_normal(shape) / np.sqrt(taps)
            return {"weights": scaled.astype(np.float32), "bias": random.standard_normal(channels).astype(np.float32)}
        mantissa, exponent = np.frexp(60 / (5400 * np.sqrt(taps)) * random.uniform(0.5, 2, channels))
        return {
            "weights": random.integers(-127, 128, shape),
            "bias": random.integers(-2000, 2000, channels),
            "multiplier": np.minimum(np.round(mantissa * 2**31), 2**31 - 1).astype(np.int64),
            "shift": exponent.astype(np.int64),
            "zero": np.array([random.integers(-9, 9), random.integers(-9, 9)]),
        }

    def source(self) -> str:
        return '#include "net_values.h"\n' + "".join(self._definition(v, row) for v, row in self.of.items())

    def _definition(self, v: int, row: Mapping[str, Array]) -> str:
        if "weights" not in row:
            a, b, out = row["zero"]
            one, other, last = row["multiplier"]
            numbers = f"{{{a}, {b}}}, {{{one}, {other}}}, {{-1, -2}}, {out}, {last}, -18, -128, 127"
            return f"const memplan_int8_sum net_values_{v} = {{{numbers}}};\n"
        names = ["weights", "bias", *(["multiplier", "shift"] if self.element == "int8" else [])]
        types = {"weights": "int8_t"} if self.element == "int8" else {"weights": "float", "bias": "float"}
        said = "".join(
            f"static const {types.get(name, 'int32_t')} {name}_{v}[] = {{{numbers}}};\n"
            for name in names
            for numbers in [",".join(map(_number, row[name].ravel()))]
        )
        ends = f"{row['zero'][0]}, {row['zero'][1]}, -128, 127" if self.element == "int8" else "-6.0f, 6.0f"
        kind = "int8" if self.element == "int8" else "float"
        fields = ", ".join(f"{name}_{v}" for name in names)
        return f"{said}const memplan_{kind}_values net_values_{v} = {{{fields}, {ends}}};\n"


def _number(value: Any) -> str:
    return f"{value!r}f".replace("np.float32(", "").replace(")", "") if isinstance(value, np.floating) else str(value)


def multiply(value: Array, multiplier: Array, shift: Array) -> Array:
    """TensorFlow Lite's MultiplyByQuantizedMultiplier: a rounding doubling high product, then a rounding shift."""
    left, right = np.maximum(shift, 0), np.maximum(-shift, 0)
    product = (value << left) * multiplier
    nudged = product + np.where(product >= 0, 1 << 30, 1 - (1 << 30))
    high = np.sign(nudged) * (np.abs(nudged) >> 31)
    half = (((1 << right) - 1) >> 1) + (high < 0)
    found: Array = (high >> right) + ((high & ((1 << right) - 1)) > half)
    return found


def run_in_numpy(values: Values, image: Array) -> Array:
    """Return the results of a network for an image, layer by layer, computed by numpy."""
    graph, made = values.graph, dict[int, Array]()
    for v, row in enumerate(graph.ops):
        reads = [t for t in row.inputs if t not in graph.resident]
        made[row.outputs[0]] = _layer_output(values, v, row, [made.get(t, image) for t in reads])
    return made[graph.kept[0]]


def _layer_output(values: Values, v: int, row: GraphOperation, ins: list[Array]) -> Any:
    is_int8, known = values.element == "int8", values.of.get(v, {})
    x = ins[0]
    if row.kind in ("conv2d", "depthwise_conv2d", "fully_connected"):
        zero = known["zero"][0] if is_int8 else 0
        total = _windows(row, x.astype(np.float64) - zero, known["weights"]) + known["bias"]
        if not is_int8:
            return np.clip(total, -6, 6).astype(np.float32)
        scaled = multiply(total.astype(np.int64), known["multiplier"], known["shift"])
        return np.clip(scaled + known["zero"][1], -128, 127).astype(np.int8)
    if row.kind == "add":
        if not is_int8:
            return (ins[0] + ins[1]).astype(np.float32)
        zero, factor = known["zero"], known["multiplier"]
        shifts = np.array([-1, -2])
        parts = [multiply((one.astype(np.int64) - zero[k]) << 20, factor[k], shifts[k]) for k, one in enumerate(ins)]
        total = multiply(parts[0] + parts[1], factor[2], np.array(-18)) + zero[2]
        return np.clip(total, -128, 127).astype(np.int8)
    if row.kind == "global_average_pool":
        if not is_int8:
            return x.mean(axis=(1, 2), keepdims=True, dtype=np.float32)
        sums, count = x.astype(np.int64).sum(axis=(1, 2), keepdims=True), x.shape[1] * x.shape[2]
        return (np.sign(sums) * ((np.abs(sums) + count // 2) // count)).astype(np.int8)
    if row.kind == "max_pool2d":
        least = -128 if is_int8 else -np.inf
        pads = integers(row, "pads")
        around = ((0, 0), (pads[0], pads[2]), (pads[1], pads[3]), (0, 0))
        return np.max(_taps(row, np.pad(x.astype(np.float64), around, constant_values=least)), axis=0).astype(x.dtype)
    if row.kind == "concat":
        return np.concatenate(ins, axis=3)
    assert row.kind == "resize"
    return x.repeat(2, axis=1).repeat(2, axis=2)


def integers(row: GraphOperation, name: str) -> tuple[int, ...]:
    value = row.attributes[name]
    assert isinstance(value, tuple)
    return tuple(int(one) for one in value)


def _taps(row: GraphOperation, padded: Array) -> list[Array]:
    kernel, strides, dilations = (integers(row, name) for name in ("kernel", "strides", "dilations"))
    sizes = [(padded.shape[k + 1] - (kernel[k] - 1) * dilations[k] - 1) // strides[k] + 1 for k in (0, 1)]
    found = []
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            rows = zip((i, j), dilations, sizes, strides, strict=True)
            spans = [slice(at * d, at * d + (size - 1) * s + 1, s) for at, d, size, s in rows]
            found.append(padded[:, spans[0], spans[1]])
    return found


def _windows(row: GraphOperation, x: Array, weights: Array) -> Any:
    if row.kind == "fully_connected":
        return x.reshape(1, -1) @ weights.T.astype(np.float64)
    pads = integers(row, "pads")
    taps = _taps(row, np.pad(x, ((0, 0), (pads[0], pads[2]), (pads[1], pads[3]), (0, 0))))
    if row.kind == "depthwise_conv2d":
        flat = weights.reshape(len(taps), -1)
        return np.sum([tap * flat[k] for k, tap in enumerate(taps)], axis=0)
    wide = weights.reshape(weights.shape[0], len(taps), -1).astype(np.float64)
    groups, into = int(str(row.attributes.get("groups", 1))), wide.shape[2]
    parts = [
        np.sum([tap[..., g * into : (g + 1) * into] @ some[:, k].T for k, tap in enumerate(taps)], axis=0)
        for g, some in enumerate(np.split(wide, groups))
    ]
    return np.concatenate(parts, axis=-1)


def write_program(folder: Path, point: CascadePoint, values: Values, *, streamed: bool = False) -> list[Path]:
    """Write a point of a cascade in C with the values of a network and a main function; return the sources."""
    files = dict(write_cascade(point, values.graph, "net"))
    files["values.c"] = values.source().encode()
    files["main.c"] = MAIN.format(size=values.graph.size[0], stream=STREAM if streamed else "").encode()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return [folder / name for name in files if name.endswith(".c")]


def run(sources: list[Path], image: Array, flags: tuple[str, ...] = CHECKED) -> bytes:
    """Compile sources with the host's compiler, warnings being errors, and run the program on an image."""
    program = sources[0].parent / "program"
    command = ["gcc", *STRICT, *flags, "-o", program, *sources]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    ran = subprocess.run([program], input=image.tobytes(), capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr.decode()
    return ran.stdout


def arena_of(sources: list[Path], compiler: str = "arm-none-eabi-gcc") -> int:
    """Compile the C code of a cascade for a Cortex-M, and return the bytes of its writable memory."""
    total = 0
    for source in sources:
        if source.name in ("main.c", "values.c"):
            continue
        target = source.with_suffix(".o")
        command = [compiler, *STRICT, *CORTEX, "-c", source, "-o", target]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        command = [compiler.replace("gcc", "size"), "-A", target]
        told = subprocess.run(command, capture_output=True, text=True, check=True)
        rows = [line.split() for line in told.stdout.splitlines()]
        total += sum(int(row[1]) for row in rows if row[:1] and row[0].startswith((".bss", ".data")))
    return total


def has_cortex() -> bool:
    """Return True if a compiler for Cortex-M and its C library are installed."""
    if shutil.which("arm-none-eabi-gcc") is None:
        return False
    command = ["arm-none-eabi-gcc", "-fsyntax-only", "-xc", "-"]
    return subprocess.run(command, input=b"#include <string.h>\n", capture_output=True, check=False).returncode == 0
