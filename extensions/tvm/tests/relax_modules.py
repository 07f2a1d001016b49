"""Relax modules for tests inside TVM, and functions that compile and run them."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tvm
from tvm import relax

TARGET = tvm.target.Target("llvm")


def module_of(
    make: Callable[[Any, list[Any]], Any],
    *shapes: Sequence[Any],
    bounds: dict[str, tuple[int, int]] | None = None,
    dataflow: bool = True,
) -> Any:
    """Return a module whose `main` is built by `make` from a builder and inputs of the given (symbolic) shapes."""
    builder = relax.BlockBuilder()
    inputs = [relax.Var(f"x{k}", relax.TensorType(shape, "float32")) for k, shape in enumerate(shapes)]
    attributes = {}
    if bounds:
        sides = [{name: pair[side] for name, pair in bounds.items()} for side in range(2)]
        attributes = {"tir_var_lower_bound": sides[0], "tir_var_upper_bound": sides[1]}
    with builder.function("main", inputs, attrs=attributes):
        if dataflow:
            with builder.dataflow():
                result = builder.emit_output(make(builder, inputs))
        else:
            result = make(builder, inputs)
        builder.emit_func_output(result)
    return builder.get()


def chain(builder: Any, inputs: list[Any]) -> Any:
    """Build layers of attention and of a wide product, whose plan with one storage per tensor wastes bytes."""
    x = inputs[0]
    for _ in range(2):
        query, key, value = (builder.emit(each(x)) for each in (relax.op.sin, relax.op.cos, relax.op.tanh))
        scores = builder.emit(relax.op.matmul(query, builder.emit(relax.op.permute_dims(key))))
        x = builder.emit(relax.op.add(builder.emit(relax.op.matmul(builder.emit(relax.op.exp(scores)), value)), x))
        wide = builder.emit(relax.op.sigmoid(builder.emit(relax.op.concat([x] * 4, axis=1))))
        narrow = builder.emit(relax.op.mean(builder.emit(relax.op.reshape(wide, (*inputs[0].ty.shape, 4))), axis=2))
        x = builder.emit(relax.op.add(narrow, x))
    return x


def build_padded(builder: Any, inputs: list[Any]) -> Any:
    """Build a chain of convolutions whose kernels write padded inputs to temporaries."""
    x = inputs[0]
    for weights in inputs[1:]:
        x = builder.emit(relax.op.nn.conv2d(x, weights, padding=1))
        x = builder.emit(relax.op.nn.relu(x))
    return x


CONVOLUTIONS = ((1, 4, 16, 16), (8, 4, 3, 3), (16, 8, 3, 3), (4, 16, 3, 3))


def fan(builder: Any, inputs: list[Any]) -> Any:
    """Build wide values that are all computed before the first one is reduced, so the given order needs many bytes."""
    wide = [builder.emit(relax.op.concat([builder.emit(relax.op.exp(inputs[0]))] * (k + 2), axis=1)) for k in range(4)]
    rows = [builder.emit(relax.op.sum(each, axis=1, keepdims=True)) for each in wide]
    return builder.emit(relax.op.concat(rows, axis=1))


BRANCHES = """
@I.ir_module
class Branches:
    @R.function
    def main(x: R.Tensor((64,), "float32"), flag: R.Tensor((), "bool")) -> R.Tensor((64,), "float32"):
        first = R.exp(x)
        if flag:
            a = R.negative(first)
            b = R.exp(a)
            y = R.add(b, a)
        else:
            c = R.sin(first)
            d = R.cos(c)
            y = R.multiply(d, c)
        z = R.add(y, first)
        return R.exp(z)
"""


def prepare_module(module: Any, *first: Any) -> Any:
    names = ("LegalizeOps", "RewriteDataflowReshape", "ToNonDataflow", "RemovePurityChecking", "CallTIRRewrite")
    passes = [getattr(relax.transform, name)() for name in names]
    with TARGET:
        return tvm.transform.Sequential([passes[0], *first, *passes[1:]])(module)


def outputs(module: Any, *inputs: np.ndarray[Any, Any], **options: Any) -> list[bytes]:
    """Compile a module with tvm.compile, run it on the inputs, and return the bytes of each output."""
    return answers(relax.VirtualMachine(tvm.compile(module, TARGET), options.get("device", tvm.cpu())), inputs)


def answers(machine: Any, inputs: Sequence[np.ndarray[Any, Any]]) -> list[bytes]:
    def flatten(answer: Any) -> list[bytes]:
        if isinstance(answer, tvm.runtime.Tensor):
            return [answer.numpy().tobytes()]
        return [each for part in answer for each in flatten(part)]

    return flatten(machine["main"](*map(tvm.runtime.tensor, inputs)))


def draw(*shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)
