"""Runs of TFLite Micro in a child process, because the runtime aborts its process on unsupported models."""

import re
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from io import BytesIO

import numpy as np

from memplan.runtimes.tflite.model import read_model

# An input of a wide integer type may be an index into a table of the model, so draw only 0 and 1 for the input.
_RUN = """
import os, sys
out = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)
import numpy as np
from tflite_micro import runtime
arena_size, n_inputs, n_outputs = map(int, sys.argv[1:])
model = runtime.Interpreter.from_bytes(sys.stdin.buffer.read(), arena_size=arena_size)
model.print_allocations()
draw = np.random.default_rng(0)
for k in range(n_inputs):
    row = model.get_input_details(k)
    kind, shape = np.dtype(row["dtype"]), row["shape"]
    if kind.kind == "f":
        drawn = draw.standard_normal(shape)
    elif kind.itemsize > 2 or kind.kind == "b":
        drawn = draw.integers(0, 2, shape)
    else:
        drawn = draw.integers(np.iinfo(kind).min, np.iinfo(kind).max + 1, shape)
    model.set_input(drawn.astype(kind), k)
model.invoke()
np.savez(out, *(model.get_output(k) for k in range(n_outputs)))
"""
LIMIT_S = 30.0
"""The time limit of a run in seconds."""


@dataclass(frozen=True, eq=False)
class MicroRun:
    """A run of a model in TFLite Micro on fixed random inputs, or the reason why the model did not run.

    said: the runtime's report, worded to continue a sentence.
    outputs: the computed outputs, or None if the run did not end.
    fails: True if the runtime refused the model; False also if the runtime is missing or the time limit was reached.
    """

    said: str
    outputs: tuple[np.ndarray, ...] | None = None
    fails: bool = False

    def equals(self, other: "MicroRun") -> bool:
        """Return True if two runs have equal outputs, except for rounding errors of floating-point numbers."""
        pairs = zip(self.outputs or (), other.outputs or (), strict=True)
        return all(
            a.shape == b.shape
            and np.allclose(
                a.astype(float), b.astype(float), rtol=1e-4 * (a.dtype.kind == "f"), atol=1e-5, equal_nan=True
            )
            for a, b in pairs
        )


def run(data: bytes, arena_size: int, limit_s: float = LIMIT_S) -> MicroRun:
    """Run a model once in an arena of `arena_size` bytes for at most `limit_s` seconds; return outputs and report."""
    if find_spec("tflite_micro") is None:
        return MicroRun("by its rules, as tflite_micro is not installed")
    main = read_model(data).subgraphs[0]
    ends = len(main.inputs), len(main.outputs)
    line = [sys.executable, "-P", "-c", _RUN, *map(str, (arena_size, *ends))]
    done: subprocess.CompletedProcess[bytes] | None = None
    try:
        done = subprocess.run(line, input=data, capture_output=True, timeout=limit_s)
        output = done.stderr.decode(errors="replace")
    except subprocess.TimeoutExpired as late:
        output = (late.stderr or b"").decode(errors="replace")
    parts = (re.search(rf"Arena allocation {part} (\d+)", output) for part in ("total", "head", "tail"))
    total, head, tail = (0 if found is None else int(found[1]) for found in parts)
    measured = f"measured by tflite_micro: {total:,} bytes (head {head:,}, tail {tail:,})"
    if done is None:
        late_said = f"not run to its end within {limit_s:.1f} s"
        return MicroRun(f"{measured}, {late_said}" if total else f"by its rules, as tflite_micro did {late_said}")
    if done.returncode:
        reasons = [line for line in output.splitlines() if re.search("fail|support|find op", line, re.IGNORECASE)]
        why = (reasons or ["no reason given"])[0].strip()[:150]
        return MicroRun(f"tflite_micro does not {'run' if total else 'start'} it: {why}", fails=True)
    with np.load(BytesIO(done.stdout)) as arrays:
        outputs = tuple(arrays[name] for name in arrays.files)
    return MicroRun(measured, outputs)


def measure(data: bytes, arena_size: int) -> str:
    """Run a model in an arena of `arena_size` bytes; return the runtime's report as text that continues a sentence."""
    return run(data, arena_size).said


def refusal_reason(data: bytes, arena_size: int, limit_s: float = LIMIT_S) -> str | None:
    """Return why the runtime refuses a model in an arena of `arena_size` bytes; None unless it refuses.

    A model for which the installed runtime merely lacks a kernel does not count as refused.
    """
    done = run(data, arena_size, limit_s)
    is_judged = done.fails and "Failed to get registration" not in done.said
    return f"{done.said}, in an arena of {arena_size:,} bytes" if is_judged else None


def compare_outputs(
    given: bytes, form: bytes, sizes: tuple[int, int], limit_s: float = LIMIT_S
) -> tuple[bool | None, str]:
    """Return whether a form (rewritten version) of a model computes the same as the original, and the runtime's report.

    `sizes` are the arena bytes of the original and of the form; `limit_s` applies to each run. The first value is None
    if the runtime is missing, is too slow, or does not run the original.
    """
    now = run(form, sizes[1], limit_s)
    if given == form or (now.outputs is None and not now.fails):
        return None if now.outputs is None else True, now.said
    before = run(given, sizes[0], limit_s)
    if before.outputs is None or now.outputs is None:
        return None if before.outputs is None else False, now.said
    if not now.equals(before):
        return False, "in tflite_micro its outputs differ from those of the model as given"
    return True, f"{now.said}, outputs equal"
