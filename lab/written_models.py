"""Measure models that are written in parts in their runtimes: `python -m lab.written_models onnx|tflite [N] [FOLDER]`.

Run by hand, where onnxruntime, tflite_micro and ai_edge_litert are installed. The first N of 25 ONNX and 20 TFLite
models, then those of a folder. A line for each: whether it was written, whether outputs are equal, and for ONNX the
rise of resident memory of a process that loads and runs it (without onnxruntime's arena and optimisations; weights are
in both), and of its run alone, as shares of the given model's; for TFLite the whole arena that TFLite Micro measures.
Exit status 1 where something differs or is above the given model's.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from lab.device_models import drawn_inputs, litert, micro
from memplan.capabilities.cascade.in_parts.write import rewritable
from memplan.capabilities.cascade.onnxruntime_peak import SESSION
from memplan.capabilities.cascade.search.options import CascadeOptions
from memplan.capabilities.cascade.search.solve import cascade
from memplan.capabilities.cascade.writing import written_in_parts
from memplan.systems.model_graph import read_model_graph
from memplan.systems.tflite.interpreter import measured
from tests.support import image_models, tflite_networks

_LIMIT_S = 10.0
_MACS = 1.25
_CLOSE = 3e-6
"""What outputs may differ by, of the largest: kernels add up floats in another order for narrower images."""
_TOLERANCE = 300_000
"""The bytes that the resident memory of two runs of one model differs by, at most."""
_RUN = (
    SESSION
    + """
import json
# What the first session and run load of onnxruntime itself is no model's.
small = ort.InferenceSession(sys.argv[3], options)
small.run(None, {"x": np.zeros((1, 3, 32, 32), np.float32)})
draw = np.random.default_rng(0)
open("/proc/self/clear_refs", "w").write("5")
base = resident("VmRSS")
session = ort.InferenceSession(sys.argv[1], options)
feeds = {row.name: draw.random([n if isinstance(n, int) else 1 for n in row.shape], np.float32)
         for row in session.get_inputs()}
before, loaded = resident("VmRSS"), resident("VmHWM")
open("/proc/self/clear_refs", "w").write("5")
found = session.run(None, feeds)
peak = resident("VmHWM")
np.savez(sys.argv[2], *found)
print(json.dumps([max(peak, loaded) - base, peak - before]))
"""
)
ONNX: tuple[tuple[str, int, float], ...] = (
    *(("vgg", 96, 0.25), ("unet", 96, 0.5), ("mobilenet_v2", 96, 0.5), ("mobilenet_v1", 128, 0.5)),
    *(("squeezenet", 128, 0.5), ("resnet", 96, 0.5), ("vgg", 160, 0.25), ("unet", 160, 0.5), ("unet", 256, 0.25)),
    *(("vgg", 224, 0.25), ("squeezenet", 224, 1.0), ("mobilenet_v1", 224, 0.5), ("mobilenet_v2", 192, 0.5)),
    *(("mobilenet_v2", 224, 1.0), ("resnet", 224, 0.5), ("unet", 224, 1.0)),
)
LIGHT: tuple[str, ...] = (
    *("squeezenet", "shufflenet", "inception_v1", "inception_v2", "resnet50", "densenet121"),
    *("bvlc_alexnet", "zfnet512", "vgg19"),
)
TFLITE: tuple[tuple[str, int, int], ...] = (
    *(("vgg", 64, 8), ("mobilenet_v2", 96, 8), ("mobilenet_v1", 96, 8), ("vgg", 96, 8), ("mobilenet_v2", 128, 8)),
    *(("mobilenet_v1", 128, 8), ("mobilenet_v1", 160, 16), ("vgg", 128, 8), ("mobilenet_v2", 160, 8)),
    *(("mobilenet_v1", 48, 4), ("mobilenet_v2", 48, 4), ("vgg", 32, 4), ("mobilenet_v1", 192, 8), ("vgg", 161, 4)),
    *(("mobilenet_v2", 161, 8), ("mobilenet_v1", 97, 8), ("mobilenet_v1", 224, 16), ("mobilenet_v2", 224, 8)),
    *(("vgg", 192, 8), ("mobilenet_v2", 192, 16)),
)


def models(kind: str) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Yield names of models, and what makes them."""
    if kind == "tflite":
        for name, side, scale in TFLITE:
            yield f"{name} {side} x {scale}", partial(getattr(tflite_networks, name), side, scale)
        return
    for name, size, width in ONNX:
        yield f"{name} {size} x {width}", partial(image_models.MODELS[name], size, width)
    import onnx

    light = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
    for name in LIGHT:
        yield f"light_{name}", (light / f"light_{name}.onnx").read_bytes


def in_parts(data: bytes, name: str) -> tuple[bytes | None, str]:
    """Return a model in parts as `memplan cascade --write` does, None where nothing is gained; and what it says."""
    model = rewritable(data, name, read_model_graph(data, name).graph)
    options = CascadeOptions(macs=_MACS, channels=False)
    found = written_in_parts(model, cascade(model.access, options, time_limit_s=_LIMIT_S), data, 60)
    return found.data, "; ".join(found.sentences)


def in_onnxruntime(data: bytes) -> tuple[list[int], list[np.ndarray]]:
    """Return the rise of resident memory, that of the run alone, and the outputs."""
    with tempfile.TemporaryDirectory() as folder:
        model, outputs, small = (Path(folder) / name for name in ("model.onnx", "outputs.npz", "small.onnx"))
        model.write_bytes(data)
        small.write_bytes(image_models.unet(32, 0.1))
        command: list[str | Path] = [sys.executable, "-c", _RUN, model, outputs, small]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        with np.load(outputs) as found:
            return json.loads(done.stdout), [found[key] for key in found.files]


def onnx_row(given: bytes, written: bytes) -> tuple[bool, str]:
    """Return whether a written model is right and not above the given one, and a line about both."""
    (before, run_before), wanted = in_onnxruntime(given)
    (after, run_after), got = in_onnxruntime(written)
    differs = max(float(abs(a - b).max() / max(abs(a).max(), 1e-30)) for a, b in zip(wanted, got, strict=True))
    said = f"differs by {differs:.1e}; peak {after / before:.2f} of {before:,}; run {run_after / run_before:.2f}"
    return differs <= _CLOSE and after <= before + _TOLERANCE, f"{said} of {run_before:,}"


def arena(data: bytes) -> int:
    """Return the whole arena that TFLite Micro measures."""
    said = measured(data, 1 << 26)
    found = re.search(r"tflite_micro: ([0-9,]+) bytes", said)
    assert found is not None, said
    return int(found[1].replace(",", ""))


def tflite_row(given: bytes, written: bytes) -> tuple[bool, str]:
    """Return whether a written model is right and not above the given one, and a line about both."""
    inputs, n_outputs = drawn_inputs(given)
    is_equal = micro(given, 1 << 26, inputs, n_outputs) == micro(written, 1 << 26, inputs, n_outputs)
    others: list[list[Any]] = [litert(data, inputs) for data in (given, written)]
    is_equal = is_equal and all(map(np.array_equal, *others))
    before, after = arena(given), arena(written)
    return is_equal and after <= before, f"equal {is_equal}; arena {after:,}, {after / before:.2f} of {before:,}"


def main(kind: str, count: int = 99, folder: Path | None = None) -> int:
    """Print the rows; return the exit status."""
    rows = [*models(kind)][:count]
    rows += [(path.name, path.read_bytes) for path in sorted(folder.glob(f"*.{kind}"))] if folder else []
    wrong = gained = 0
    for name, made in rows:
        given = made()
        written, said = in_parts(given, f"model.{kind}")
        if written is None:
            print(f"{name}: {said}", flush=True)
            continue
        is_right, line = (onnx_row if kind == "onnx" else tflite_row)(given, written)
        gained, wrong = gained + 1, wrong + (not is_right)
        print(f"{name}: {line}{'' if is_right else ' WRONG'} ({said})", flush=True)
    print(f"{len(rows)} models, {gained} written, {wrong} differ or are above the given one")
    return 1 if wrong else 0


if __name__ == "__main__":
    told = sys.argv[1:]
    sys.exit(main(told[0], int(told[1]) if told[1:] else 99, Path(told[2]) if told[2:] else None))
