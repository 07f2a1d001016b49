"""Deeploy's code generation on memplan's `minimalloc`: `python table.py PYTHON DEEPLOY MINIMALLOC [MODEL@L1,L2...]`.

PYTHON has what Deeploy needs; DEEPLOY is its tree; MINIMALLOC is examples/core/minimalloc.cpp, built with
-DMINIMALLOC_MAIN. Nothing in the tree changes: MINIMALLOC_INSTALL_DIR names a folder in which this file stands as
`minimalloc`, runs MINIMALLOC, checks the answer, and notes bytes and time. Writes table.json, a row a model: of
the problem with most bytes alive the buffers, bytes and bound, and the milliseconds of all calls.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

MODELS = (
    "CNN_Linear2@45000,1024000",
    "miniMobileNet@60000,1024000",
    "miniMobileNetv2@60000,1024000",
    "MLPerf/KeywordSpotting@64000,1024000",
    "MLPerf/ImageClassification@64000,1024000",
    "MLPerf/AnomalyDetection@64000,1024000",
    "CCT/FP32/CCT_1_16_16_8@64000,1024000",
)
LOG, PROGRAM = "MEMPLAN_CALLS", "MEMPLAN_MINIMALLOC"


def call() -> int:
    """Stand for the program: run it, and add a line to the log."""
    flags = dict(argument[2:].split("=", 1) for argument in sys.argv[1:] if "=" in argument)
    start = time.perf_counter()
    code = subprocess.run([os.environ[PROGRAM], *sys.argv[1:]], check=False).returncode
    spent = 1e3 * (time.perf_counter() - start)
    with Path(flags["input"]).open(newline="") as file:
        rows = [(row["id"], int(row["lower"]), int(row["upper"]), int(row["size"])) for row in csv.DictReader(file)]
    alive = [sum(size for _, start, end, size in rows if start <= at < end) for _, at, _, _ in rows]
    line: dict[str, Any] = {"code": code, "ms": spent, "buffers": len(rows), "bound": max(alive, default=0)}
    if code == 0:
        with Path(flags["output"]).open(newline="") as file:
            offset = {row["id"]: int(row["offset"]) for row in csv.DictReader(file)}
        spans = [(start, end, offset[name], offset[name] + size) for name, start, end, size in rows]
        line["peak"] = max((top for *_, top in spans), default=0)
        line["wrong"] = sum(
            a[0] < b[1] and b[0] < a[1] and a[2] < b[3] and b[2] < a[3] for k, a in enumerate(spans) for b in spans[:k]
        )
    with Path(os.environ[LOG]).open("a") as log:
        log.write(json.dumps(line) + "\n")
    return code


def row(python: str, tree: Path, program: str, model: str) -> dict[str, Any]:
    path, _, levels = model.partition("@")
    l1, l2 = levels.split(",")
    with tempfile.TemporaryDirectory() as folder:
        stand_in, log = Path(folder, "minimalloc"), Path(folder, "calls")
        stand_in.write_text(f"#!{sys.executable}\n" + Path(__file__).read_text())
        stand_in.chmod(0o755)
        names = {"MINIMALLOC_INSTALL_DIR": folder, "PYTHONPATH": str(tree), LOG: str(log), PROGRAM: program}
        arguments = ("-t", f"Tests/Models/{path}", "-p", "Siracusa", "--defaultMemLevel=L2", f"--l1={l1}", f"--l2={l2}")
        done = subprocess.run(
            [python, "testMVP.py", *arguments, "-d", str(Path(folder, "code"))],
            cwd=tree / "DeeployTest",
            env={**os.environ, **names},
            capture_output=True,
            text=True,
            check=False,
        )
        calls = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
        sources = len(list(Path(folder, "code").glob("*.c")))
    if done.returncode or not calls or any(each["code"] or each["wrong"] for each in calls):
        raise SystemExit(f"{model}: {done.stderr[-400:]} {calls[-1:]}")
    most = max(calls, key=lambda each: each["bound"])
    times = sorted(each["ms"] for each in calls)
    return {
        "model": path.rpartition("/")[2],
        "calls": len(calls),
        "at_bound": sum(each["peak"] == each["bound"] for each in calls),
        "buffers": most["buffers"],
        "peak": most["peak"],
        "bound": most["bound"],
        "ms": [round(times[len(times) // 2], 1), round(times[-1], 1)],
        "sources": sources,
    }


def main() -> None:
    python, tree, program, *models = sys.argv[1:]
    rows = []
    for model in models or MODELS:
        rows.append(row(python, Path(tree).resolve(), program, model))
        print(json.dumps(rows[-1]), flush=True)
    text = "[\n" + ",\n".join(json.dumps(each) for each in rows) + "\n]\n"
    Path(__file__).with_name("table.json").write_text(text)


if __name__ == "__main__":
    sys.exit(call() if os.environ.get(LOG) else main())
