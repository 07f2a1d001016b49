"""Runs of models by TFLite Micro in this process, for models that do not abort it."""

import contextlib
from importlib import import_module

import numpy as np

from memplan.runtimes.tflite.interpreter import MicroRun


def run_here(data: bytes, arena_size: int) -> MicroRun:
    """Return a model's outputs for random inputs, which are equal for all forms of a model; none if it fails."""
    runtime, draw = import_module("tflite_micro").runtime, np.random.default_rng(0)
    try:
        model = runtime.Interpreter.from_bytes(data, arena_size=arena_size)
        with contextlib.suppress(IndexError):
            for k in range(16):
                row = model.get_input_details(k)
                kind = np.dtype(row["dtype"])
                shape = row["shape"]
                drawn = draw.standard_normal(shape) if kind.kind == "f" else draw.integers(-100, 100, shape)
                model.set_input(drawn.astype(kind), k)
        model.invoke()
    except RuntimeError as error:
        return MicroRun(str(error), fails=True)
    return MicroRun("", (model.get_output(0),))
