"""Random TensorFlow Lite models that LiteRT can run, and what it computes for them."""

import random
from importlib import import_module

import numpy as np

from tests.runtimes.micro_models import MicroModel


def random_model(seed: int, n: int, *, has_plan: bool = False) -> bytes:
    """Return a model of n operators on rows of numbers; with a plan, its metadata say an offset of -1 for each."""
    rng, m = random.Random(seed), MicroModel((4, 4), is_int8=False)
    of_shape: dict[tuple[int, ...], list[int]] = {(4, 4): [0]}
    read: set[int] = set()
    for _ in range(n):
        name = rng.choice(["ADD", "MUL", "RELU", "NEG", "RESHAPE", "CONCATENATION"])
        first = rng.randrange(len(m.graph.tensors))
        shape = m.shape(first)
        inputs = [first, rng.choice(of_shape[shape])] if name in ("ADD", "MUL", "CONCATENATION") else [first]
        options = {}
        if name == "RESHAPE":
            shape = (shape[1], shape[0]) if rng.random() < 0.5 else (1, shape[0] * shape[1])
            options = {"newShape": list(shape)}
        elif name == "CONCATENATION" and shape[0] < 64:
            shape = (2 * shape[0], shape[1])
        elif name == "CONCATENATION":
            name = "ADD"
        read.update(inputs)
        of_shape.setdefault(shape, []).append(m.op(name, inputs, shape, **options))
    count = len(m.graph.tensors)
    m.graph.outputs = [k for k in range(1, count) if k not in read]
    if has_plan:
        plan = m.buffer(np.array([1, 0, count, *[-1] * count], np.int32))
        m.metadata = [("other", 0), ("OfflineMemoryAllocation", plan), ("last", 0)]
    return m.data()


def outputs_of(data: bytes, image: np.ndarray) -> list[np.ndarray]:
    runner = import_module("ai_edge_litert.interpreter").Interpreter(model_content=data, num_threads=1)
    runner.allocate_tensors()
    runner.set_tensor(runner.get_input_details()[0]["index"], image)
    runner.invoke()
    return [runner.get_tensor(row["index"]) for row in runner.get_output_details()]
