"""Random TensorFlow Lite models that LiteRT can run, written with its schema."""

from __future__ import annotations

import random
import struct
from importlib import import_module
from typing import Any

import numpy as np

_OPTIONS = {"ADD": "AddOptions", "MUL": "MulOptions", "RELU": None, "NEG": "NegOptions", "RESHAPE": "ReshapeOptions"}
_OPTIONS |= {"CONCATENATION": "ConcatenationOptions"}


def random_model(seed: int, n: int, *, has_plan: bool = False) -> bytes:
    """Return a model of n operators on rows of numbers; with a plan, its metadata say an offset of -1 for each."""
    flatbuffers = import_module("flatbuffers")
    schema = import_module("ai_edge_litert.schema_py_generated")

    rng = random.Random(seed)
    shapes: list[tuple[int, ...]] = [(4, 4)]
    of_shape: dict[tuple[int, ...], list[int]] = {(4, 4): [0]}
    operators: list[Any] = []
    codes: list[str] = []
    read: set[int] = set()
    for _ in range(n):
        name = rng.choice(["ADD", "MUL", "RELU", "NEG", "RESHAPE", "CONCATENATION"])
        first = rng.randrange(len(shapes))
        inputs = [first, rng.choice(of_shape[shapes[first]])] if name in ("ADD", "MUL", "CONCATENATION") else [first]
        shape = shapes[first]
        if name == "RESHAPE":
            shape = (shape[1], shape[0]) if rng.random() < 0.5 else (1, shape[0] * shape[1])
        elif name == "CONCATENATION":
            shape = (2 * shape[0], shape[1]) if shape[0] < 64 else shape
            name = "CONCATENATION" if shape != shapes[first] else "ADD"
        read.update(inputs)
        of_shape.setdefault(shape, []).append(len(shapes))
        shapes.append(shape)
        operators.append(_operator(schema, name, inputs, len(shapes) - 1, shape, codes))
    graph = schema.SubGraphT()
    graph.tensors = [_tensor(schema, k, shape) for k, shape in enumerate(shapes)]
    graph.inputs, graph.operators = [0], operators
    graph.outputs = [k for k in range(1, len(shapes)) if k not in read]
    model = schema.ModelT()
    model.version, model.subgraphs, model.buffers = 3, [graph], [schema.BufferT()]
    model.operatorCodes = [_code(schema, name) for name in codes]
    if has_plan:
        plan = schema.BufferT()
        plan.data = np.frombuffer(struct.pack(f"<3i{len(shapes)}i", 1, 0, len(shapes), *[-1] * len(shapes)), np.uint8)
        model.buffers.append(plan)
        entries = [("other", 0), ("OfflineMemoryAllocation", 1), ("last", 0)]
        model.metadata = [_metadata(schema, name, buffer) for name, buffer in entries]
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def outputs_of(data: bytes, image: np.ndarray) -> list[np.ndarray]:
    """Return what LiteRT computes for one input."""
    runner = import_module("ai_edge_litert.interpreter").Interpreter(model_content=data, num_threads=1)
    runner.allocate_tensors()
    runner.set_tensor(runner.get_input_details()[0]["index"], image)
    runner.invoke()
    return [runner.get_tensor(row["index"]) for row in runner.get_output_details()]


def _tensor(schema: Any, k: int, shape: tuple[int, ...]) -> Any:
    tensor = schema.TensorT()
    tensor.shape, tensor.type, tensor.buffer, tensor.name = list(shape), schema.TensorType.FLOAT32, 0, f"t{k}"
    return tensor


def _operator(schema: Any, name: str, inputs: list[int], output: int, shape: tuple[int, ...], codes: list[str]) -> Any:
    if name not in codes:
        codes.append(name)
    operator = schema.OperatorT()
    operator.opcodeIndex, operator.inputs, operator.outputs = codes.index(name), inputs, [output]
    options = _OPTIONS[name]
    if options is not None:
        operator.builtinOptionsType = getattr(schema.BuiltinOptions, options)
        operator.builtinOptions = getattr(schema, f"{options}T")()
        if name == "RESHAPE":
            operator.builtinOptions.newShape = list(shape)
    return operator


def _code(schema: Any, name: str) -> Any:
    code = schema.OperatorCodeT()
    code.builtinCode = getattr(schema.BuiltinOperator, name)
    code.deprecatedBuiltinCode, code.version = min(code.builtinCode, 127), 1
    return code


def _metadata(schema: Any, name: str, buffer: int) -> Any:
    entry = schema.MetadataT()
    entry.name, entry.buffer = name, buffer
    return entry
