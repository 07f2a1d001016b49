"""Make the dumps of compilers in tests/dumps: `python -m lab.compiler_dumps xla|stablehlo|iree|relax FOLDER`.

Run by hand, where that compiler is installed (jax 0.10.2; iree-base-compiler 3.13.0 and onnx; apache-tvm 0.27.0);
nothing of memplan needs them. What no importer reads is left out, so that dumps stay small: XLA's program, and of most
of IREE's functions all but constants, packs and allocations.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from memplan.systems.protobuf import ProtobufMessage

BATCH, WIDTHS = 256, (784, 1024, 1024, 512, 10)
RAW, SHORT = ("zfnet512",), ("bvlc_alexnet", "densenet121", "inception_v2", "resnet50", "shufflenet")


def write_xla(folder: Path) -> None:
    """Compile a step of training a perceptron, and keep what XLA tells of its buffers, as protobuf and as text."""
    with tempfile.TemporaryDirectory() as there:
        flags = "--xla_dump_hlo_as_proto --xla_dump_hlo_as_text --xla_dump_hlo_module_re=.*train_step.*"
        os.environ |= {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": f"--xla_dump_to={there} {flags}"}
        _compile_train_step()
        (dump,) = Path(there).glob("*.cpu_after_optimizations.hlo.pb")
        texts = [Path(str(dump).replace(".hlo.pb", f"-{kind}.txt")) for kind in ("buffer-assignment", "live-range")]
        (folder / "mlp_sgd.hlo.pb").write_bytes(_without_program(dump.read_bytes()))
        (folder / "mlp_sgd.xla.txt").write_bytes(b"".join(text.read_bytes() for text in texts))


def _compile_train_step() -> None:
    import jax
    import jax.numpy as jnp

    def loss(params: list[dict[str, jax.Array]], x: jax.Array, labels: jax.Array) -> jax.Array:
        for layer in params[:-1]:
            x = jax.nn.gelu(x @ layer["w"] + layer["b"])
        scores = jax.nn.log_softmax(x @ params[-1]["w"] + params[-1]["b"])
        return -jnp.mean(scores[jnp.arange(BATCH), labels])

    def train_step(params: list[dict[str, jax.Array]], x: jax.Array, labels: jax.Array) -> object:
        value, slope = jax.value_and_grad(loss)(params, x, labels)
        return value, jax.tree.map(lambda weight, step: weight - 1e-3 * step, params, slope)

    def floats(*shape: int) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, jnp.float32)

    layers = [{"w": floats(n, m), "b": floats(m)} for n, m in pairwise(WIDTHS)]
    labels = jax.ShapeDtypeStruct((BATCH,), jnp.int32)
    jax.jit(train_step, donate_argnums=(0,)).lower(layers, floats(BATCH, WIDTHS[0]), labels).compile()


def _without_program(data: bytes) -> bytes:
    """Return an HloProto with its module's name, and the buffer assignment."""
    root = ProtobufMessage.root(data, "hlo_proto")
    module, assignment = root.message(1, "hlo_module"), root.message(3, "buffer_assignment")
    assert module is not None
    assert assignment is not None
    name = _field(1, module.text(1, "name").encode())
    return _field(1, name) + _field(3, data[assignment.start : assignment.end])


def _field(number: int, content: bytes) -> bytes:
    size, length = len(content), b""
    while size >= 0x80:
        length += bytes([size & 0x7F | 0x80])
        size >>= 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + content


def write_stablehlo(folder: Path) -> None:
    """Export functions whose sizes are symbols, and keep their text without the places of sources."""
    import jax
    import jax.numpy as jnp
    from jax import export, lax

    def attention(words: jax.Array, mask: jax.Array, table: jax.Array, weights: jax.Array) -> jax.Array:
        x = table[words]
        b, n, width = x.shape
        q, k, v = ((x @ weights[i]).reshape(b, n, 4, 16).transpose(0, 2, 1, 3) for i in range(3))
        scores = jax.nn.softmax(jnp.einsum("bhqd,bhkd->bhqk", q, k) + mask[:, None, None, :])
        return x + jnp.einsum("bhqk,bhkd->bhqd", scores, v).transpose(0, 2, 1, 3).reshape(b, n, width)

    def convolution(image: jax.Array, kernel: jax.Array) -> jax.Array:
        names = ("NHWC", "HWIO", "NHWC")
        x = lax.conv_general_dilated(image, kernel, (2, 2), "SAME", dimension_numbers=names)
        x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
        x = jnp.pad(x, ((0, 0), (1, 2), (0, 0), (0, 0)))
        return jnp.concatenate([x, x], 2).mean((1, 2))

    def recurrent(steps: jax.Array, weight: jax.Array, more: jax.Array) -> tuple[jax.Array, jax.Array]:
        def step(state: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
            state = jnp.tanh(state @ weight + x)
            return state, state * 2

        _, stacked = lax.scan(step, jnp.zeros(steps.shape[1:]), steps)
        doubled = lax.cond(more.sum() > 0, lambda x: jnp.flip(x, 0) * 2, lambda x: x + 1, more)
        return stacked, doubled[1::2]

    rows: list[tuple[Callable[..., object], list[str], list[str]]] = [
        (attention, ["b, n", "b, n", "100, 64", "3, 64, 64"], ["n<=512"]),
        (convolution, ["b, h, 8*w, 3", "3, 3, 3, 8"], ["h>=32", "w>=4"]),
        (recurrent, ["t, b, 32", "32, 32", "2*b, 5"], ["t>=2"]),
    ]
    for function, shapes, constraints in rows:
        scope = export.SymbolicScope(constraints)
        given = [
            jax.ShapeDtypeStruct(
                export.symbolic_shape(shape, scope=scope), jnp.int32 if k == 0 and shape == "b, n" else jnp.float32
            )
            for k, shape in enumerate(shapes)
        ]
        text = export.export(jax.jit(function), platforms=["cpu"])(*given).mlir_module()
        lines = [
            re.sub(r" loc\([^ ]*\)(?=[,)]|$)", "", line) for line in text.splitlines() if not line.startswith("#loc")
        ]
        (folder / f"{function.__name__}.stablehlo.mlir").write_text("\n".join(lines) + "\n")


def write_iree(folder: Path) -> None:
    """Compile models of the package onnx, and keep what is printed around the layout of slices."""
    import onnx

    models = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
    around = [f"--mlir-print-ir-{when}=iree-stream-layout-slices" for when in ("before", "after")]
    target = ["--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu"]
    for name in (*RAW, *SHORT):
        with tempfile.NamedTemporaryFile(suffix=".mlir") as program:
            given = [str(models / f"light_{name}.onnx"), "--opset-version", "17", "-o", program.name]
            subprocess.run(["iree-import-onnx", *given], check=True)
            asked = [program.name, "--compile-to=stream", *target, *around, "-o", os.devnull]
            printed = subprocess.run(["iree-compile", *asked], check=True, capture_output=True).stderr.decode()
        (folder / f"{name}.iree.txt").write_text(_packs_only(printed) if name in SHORT else printed)


def _packs_only(printed: str) -> str:
    """Return what is printed of functions with packs, without what is done in them."""
    kept = re.compile(r".*(?:arith\.constant -?\d+ : index$|stream\.resource\.(?:pack|alloc)|^    \[|^  \}\) : index)")
    sections = [section.splitlines() for section in re.split(r"^(?=// -----//)", printed, flags=re.MULTILINE)]
    named = {section[1] for section in sections if any("stream.resource.pack" in line for line in section)}
    lines = []
    for section in sections:
        if len(section) > 1 and section[1] in named:
            lines += [*section[:2], *(line for line in section[2:] if kept.match(line)), "}", ""]
    return "\n".join(lines)


def write_relax(folder: Path) -> None:
    """Lower a small network to calls on allocated tensors, and keep it before and after TVM plans their storage."""
    import tvm
    from tvm import relax
    from tvm.script import relax as script

    builder = relax.BlockBuilder()

    def floats(name: str, *shape: int) -> relax.Var:
        return relax.Var(name, script.Tensor(shape, "float32"))

    image, kernel, weights = floats("image", 1, 1, 28, 28), floats("kernel", 8, 1, 3, 3), floats("weights", 5408, 10)
    with builder.function("main", [image, kernel, weights], attrs={"num_input": 1}):
        with builder.dataflow():
            features = builder.emit(relax.op.nn.relu(relax.op.nn.conv2d(image, kernel)))
            scores = builder.emit(relax.op.matmul(relax.op.reshape(features, (1, 5408)), weights))
            result = builder.emit_output(relax.op.nn.softmax(scores))
        builder.emit_func_output(result)
    of = relax.transform
    lowered = tvm.ir.transform.Sequential([of.LegalizeOps(), of.ToNonDataflow(), of.CallTIRRewrite()])(builder.get())
    for name, module in (("allocated", lowered), ("planned", of.StaticPlanBlockMemory()(lowered))):
        (folder / f"network_{name}.relax").write_text(module.script())


WRITERS: dict[str, Callable[[Path], None]] = {
    "xla": write_xla,
    "stablehlo": write_stablehlo,
    "iree": write_iree,
    "relax": write_relax,
}

if __name__ == "__main__":
    to = Path(sys.argv[2])
    to.mkdir(parents=True, exist_ok=True)
    WRITERS[sys.argv[1]](to)
