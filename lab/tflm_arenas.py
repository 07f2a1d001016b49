"""Measure arenas of TFLite Micro, with and without an exported plan: `python -m lab.tflm_arenas FOLDER`.

Run by hand, where tflite_micro is installed. A line for each .tflite file that is not as told, and a sum; exit status 1
where an arena is larger with the plan than without. A model runs in a process of its own, as runtimes may abort.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from memplan.planner.errors import InputError
from memplan.solvers.portfolio.solve import solve
from memplan.systems.layout import lay_out
from memplan.systems.reading import read_model
from memplan.systems.writing import export

_RUN = """
import sys
from tflite_micro import runtime
data = open(sys.argv[1], "rb").read()
runtime.Interpreter.from_bytes(data, arena_size=max(4 * len(data), 2**22)).print_allocations()
"""


def arena(data: bytes) -> tuple[int, int] | None:
    """Return head and tail of the arena, None where the runtime does not take the model."""
    with tempfile.NamedTemporaryFile(suffix=".tflite") as file:
        file.write(data)
        file.flush()
        done = subprocess.run([sys.executable, "-c", _RUN, file.name], capture_output=True, text=True, check=False)
    found = {part: re.search(rf"Arena allocation {part} (\d+)", done.stdout + done.stderr) for part in ("head", "tail")}
    head, tail = found["head"], found["tail"]
    return None if head is None or tail is None else (int(head[1]), int(tail[1]))


def main(folder: str) -> int:
    """Measure the models of a folder; return the exit status."""
    counts = dict.fromkeys(("larger", "smaller", "same", "told wrong", "refused", "does not run"), 0)
    for path in sorted(Path(folder).rglob("*.tflite")):
        data = path.read_bytes()
        before = arena(data)
        if before is None:
            counts["does not run"] += 1
            continue
        try:
            problem = read_model(data).problem
            plan = solve(problem, time_limit_s=3)
            after = arena(export("tflm", lay_out(problem, plan, data), "model")[""])
        except InputError as error:
            counts["refused"] += 1
            sys.stdout.write(f"{path.name}: {error}\n")
            continue
        if after is None or after[0] != plan.peak:
            counts["told wrong"] += 1
            sys.stdout.write(f"{path.name}: told {plan.peak}, measured {after}\n")
        if after is not None:
            change = sum(after) - sum(before)
            counts["larger" if change > 0 else "smaller" if change else "same"] += 1
    sys.stdout.write(f"{counts}\n")
    return 1 if counts["larger"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
