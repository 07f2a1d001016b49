"""Runs the memplan command of a ledger question.

Its answer has a status, values, a bound, and who found and proved it.
"""

import io
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from contextlib import redirect_stderr, redirect_stdout
from functools import reduce
from operator import xor
from pathlib import Path
from typing import Any
from unittest.mock import patch

from lab.ledger.rows import WORK_PER_S, Answer
from lab.support import hard_suite
from memplan.api.cli.main import main
from memplan.extensions.library.archives import unpack
from memplan.planner.formats import FORMATS
from memplan.solvers.core import exact
from memplan.solvers.core.exact import Inference
from memplan.solvers.portfolio import one_search, stages

ROOT = Path(__file__).parents[2]
GIVEN = ROOT.parent / "shared"
FOLDERS = {"given": GIVEN / "instances", "library": ROOT / "library", "own": Path(__file__).parent / "problems"}
UNCOUNTED = ("shapes", "cascade")
"""The commands that cannot count work; their time limit is in CPU time of this process instead."""
_STUCK_S = 600.0
"""The time limit, in seconds, of a search that counts work; it is long because engines share the processor."""

_UNPROVED = 10.0
"""The ratio of peak to bound that is recorded if no ratio is proved for a plan for all symbol values."""


def is_here(command: str) -> bool:
    """Return True unless a command needs a problem from an external folder that is missing on this machine."""
    return GIVEN.is_dir() or not ("given:" in command or "generated:" in command)


def run_command(command: str, work: int, without: str = "") -> Answer:
    """Run a memplan command with a limit of counted work; `without` names searches to disable, separated by commas.

    If the command failed or the answer depended on the clock, the status is `failed`, and the cause is printed.
    """
    begun, suits, left_out = sum(os.times()[:4]), stages._suits, without.split(",")
    inferences = reduce(xor, (each for each in Inference if (each.name or "").lower() in left_out), ~Inference(0))
    # The portfolio asks `_suits` before it starts a search, so replacing this function disables searches.
    with (
        patch.object(stages, "_suits", lambda row, instance: row.name not in left_out and suits(row, instance)),
        patch.object(exact, "used_inferences", inferences),
    ):
        fields = _answer_of(command, work)
    values, bound = _values_and_bound(command.split()[0], fields) if fields else ([], None)
    status = fields.get("status", "feasible") if fields else "failed"
    if "--accept fit" in command and values:
        status, values, bound = "fits", [], None
    proof = fields.get("proof")  # For schedules, `proof` is a word, not an object.
    by = [str(fields.get("solver") or "").split(":")[0], proof.get("by") if isinstance(proof, dict) else None]
    return Answer(status, values, bound, list(filter(None, by)), sum(os.times()[:4]) - begun)


def _answer_of(command: str, work: int) -> dict[str, Any]:
    """Run a command, and return the JSON that it writes; {} if it failed or its answer depended on the clock."""
    with tempfile.TemporaryDirectory() as folder, redirect_stderr(io.StringIO()) as errors:
        words, out = _write_files(command, Path(folder)), Path(folder, "answer.json")
        is_counted = not command.startswith(UNCOUNTED)
        limit = ["--time-limit", f"{work / WORK_PER_S:g}", *["--deterministic"] * is_counted, "-o", str(out)]
        clock = time.monotonic if is_counted else time.process_time
        printed = redirect_stdout(io.TextIOWrapper(io.BytesIO()))
        with printed, patch.object(time, "monotonic", clock), patch.object(one_search, "SOONEST_S", _STUCK_S):
            status = main([*words, *limit])
        fields: dict[str, Any] = json.loads(out.read_text()) if status < 2 and out.exists() else {}
    if fields and fields.get("reproducible") is not False:
        return fields
    wrong = (
        f"a clock had a say: {fields['disturbed_by']}" if fields else f"{status}: {errors.getvalue().strip()[-300:]}"
    )
    print(f"{shlex.join(words)}: {wrong}", file=sys.stderr)
    return {}


def _values_and_bound(question: str, fields: dict[str, Any]) -> tuple[list[float], float | None]:
    """Return (values of an answer, most important first; lower bound on the first value, if any)."""
    if question == "shapes":
        proof = fields["proof"]
        proved = _UNPROVED if proof["ratio"] is None else 1 + proof["ratio"]
        return [proved, round(proof["worst_ratio"], 6), len(fields["programs"])], None
    if question == "cascade":
        return [fields["points"][-1]["peak"]], None
    if fields.get("recomputed"):
        return [min(point["live_peak"] for point in fields["recomputed"]["points"])], None
    if not fields.get("placements", True):
        return [], None
    if fields.get("heaps"):
        return [len(fields["pools"]), fields["peak"]], fields["heaps"]["least"]
    if fields.get("kept"):
        return [fields["kept"]["moved"], fields["peak"]], None
    if fields.get("cost") is not None:
        return [fields["cost"]], fields["cost_lower_bound"]
    if len(fields.get("pools", ())) > 1:
        return [pool["used"] for pool in reversed(fields["pools"])], None
    return [next(fields[name] for name in ("latency", "total", "peak") if name in fields)], fields["lower_bound"]


def _write_files(command: str, folder: Path) -> list[str]:
    """Write a file for each drawn problem that a command names, and return the command's words with these files.

    Drawn problems are named `drawn:NAME`, `generated:N,SEED,ALPHA,SIGMA` and `scratchpad:LETTER PERCENT`.
    """
    words, file = shlex.split(command), folder / "problem.csv"
    for k, word in enumerate(words):
        kind, _, name = word.partition(":")
        if kind == "library":
            unpack(FOLDERS[kind] / name.partition("/")[0])
        if kind in FOLDERS:
            words[k] = str(FOLDERS[kind] / name)
        elif kind == "drawn":
            problem = hard_suite.problem(name)
            file = folder / ("problem.csv" if len(problem.pools) == 1 else "problem.json")
            file.write_bytes(FORMATS[file.suffix[1:]].write_problem(problem))
            words[k] = str(file)
        elif kind == "scratchpad":
            unpack(FOLDERS["library"] / "peak")
            file = folder / "problem.json"
            file.write_bytes(FORMATS["json"].write_problem(hard_suite.scratchpad(name)))
            words[k] = str(file)
        elif kind == "generated":
            program = [sys.executable, str(GIVEN / "trials" / "generate.py"), *name.split(",")]
            file.write_bytes(subprocess.run(program, check=True, capture_output=True).stdout)
            words[k] = str(file)
    return words
