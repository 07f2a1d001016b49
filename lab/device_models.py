"""Bring models into TFLite Micro's arena, and hold that against its runtime: `python -m lab.device_models FOLDER`.

Run by hand, where tflite_micro and ai_edge_litert are installed. A line for each .tflite file and size that was asked
for: the form, the arena that is said and that is measured, and whether outputs are equal in TFLite Micro, which starts
in no more than is said, and in LiteRT. Exit status 1 where something differs. A model runs in a process of its own, as
runtimes may abort.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from memplan.capabilities.convert.deploy import DeployOptions, deploy
from memplan.planner.errors import InputError
from memplan.systems.tflite.interpreter import measured

_TIME_LIMIT_S = 12.0
_SHARES = (None, 0.7)
"""The sizes that are asked for, of that of the model as given; None: the smallest."""
_RUNS = 8


def micro(data: bytes, arena_size: int, inputs: list[list[Any]], n_outputs: int) -> list[bytes]:
    """Return all outputs of TFLite Micro in an arena of so many bytes."""
    from tflite_micro import runtime

    interpreter = runtime.Interpreter.from_bytes(data, arena_size=arena_size)
    found = []
    for row in inputs:
        for k, value in enumerate(row):
            interpreter.set_input(value, k)
        interpreter.invoke()
        found += [interpreter.get_output(k).tobytes() for k in range(n_outputs)]
    return found


def litert(data: bytes, inputs: list[list[Any]]) -> list[Any]:
    """Return all outputs of LiteRT."""
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_content=data, num_threads=1)
    interpreter.allocate_tensors()
    found = []
    for row in inputs:
        for about, value in zip(interpreter.get_input_details(), row, strict=True):
            interpreter.set_tensor(about["index"], value)
        interpreter.invoke()
        found += [interpreter.get_tensor(about["index"]) for about in interpreter.get_output_details()]
    return found


def drawn_inputs(data: bytes) -> tuple[list[list[Any]], int]:
    """Return inputs for all runs, and the number of outputs."""
    import numpy as np
    from ai_edge_litert.interpreter import Interpreter

    interpreter, draw = Interpreter(model_content=data), np.random.default_rng(7)

    def value(about: Any) -> Any:
        if about["dtype"] in (np.float32, np.bool_):
            return draw.random(about["shape"]).astype(about["dtype"])
        return draw.integers(0, 100, about["shape"]).astype(about["dtype"])

    details = interpreter.get_input_details()
    return [[value(about) for about in details] for _ in range(_RUNS)], len(interpreter.get_output_details())


def one(path: Path) -> bool:
    """Print a line for each size of one model; return True where all is as said."""
    import numpy as np

    data = path.read_bytes()
    inputs, n_outputs = drawn_inputs(data)
    is_right = True
    given = None
    for share in _SHARES:
        fit = None if share is None or given is None else int(share * given)
        found = deploy(data, DeployOptions(time_limit_s=_TIME_LIMIT_S, fit=fit))
        given, file = found.given.least, found.files[0].data
        said = f"{found.arena.used:,} bytes (head {found.arena.head:,}, tail {found.arena.tail:,})"
        runs = measured(file, found.arena.least)
        is_known = "measured" in runs and not found.arena.unknown
        same = not is_known or micro(data, given, inputs, n_outputs) == micro(
            file, found.arena.least, inputs, n_outputs
        )
        close = all(
            np.array_equal(a, b) if a.dtype != np.float32 else np.allclose(a, b, rtol=1e-4, atol=1e-4)
            for a, b in zip(litert(data, inputs), litert(file, inputs), strict=True)
        )
        is_right &= (not is_known or said in runs) and close and found.arena.used <= found.given.used
        form = f"{found.form}{'+plan' if found.planned else ''}"
        sys.stdout.write(
            f"{path.name[-40:]} fit={fit} {form} {found.macs_ratio:.3f} used {found.arena.used} of {found.given.used},"
            f" least {found.arena.least} of {given}, {'told' if said in runs else runs}, micro {same}, litert {close}\n"
        )
        sys.stdout.flush()
        if share is not None and found.fits is False:
            break
    return is_right


def main(arguments: list[str]) -> int:
    """Hold the models of folders, or one file, against the runtimes; return the exit status."""
    if len(arguments) == 1 and arguments[0].endswith(".tflite"):
        try:
            return 0 if one(Path(arguments[0])) else 1
        except (InputError, RuntimeError, ValueError) as error:
            sys.stdout.write(f"{arguments[0][-40:]}: {str(error)[:150]}\n")
            return 2
    counts = {0: 0, 1: 0, 2: 0}
    for path in sorted(path for folder in arguments for path in Path(folder).rglob("*.tflite")):
        done = subprocess.run([sys.executable, "-m", "lab.device_models", str(path)], capture_output=True, text=True)
        sys.stdout.write(re.sub(r"^(INFO|WARNING|[IW]\d).*\n", "", done.stdout, flags=re.MULTILINE))
        sys.stdout.flush()
        counts[done.returncode if done.returncode in (0, 1) else 2] += 1
    sys.stdout.write(f"as said {counts[0]}, otherwise {counts[1]}, not run {counts[2]}\n")
    return 1 if counts[1] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
