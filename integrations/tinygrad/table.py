"""`python -m integrations.tinygrad.table`: each of models.py on tinygrad's plans and on memplan's; writes table.json.

Bytes are of the lane whose own plan is largest; outputs, parameters after a step, and the buffers of each lane must be
equal, or it ends with an error. Each model runs in a process of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from integrations.tables import record, row_of

MODELS = str(Path(__file__).with_name("models.py"))


def run(*arguments: str, mode: str = "1") -> str:
    done = subprocess.run(
        [sys.executable, MODELS, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "MEMPLAN_TINYGRAD": mode},
    )
    if done.returncode:
        raise SystemExit(f"{arguments}: {done.stderr[-2000:]}")
    return done.stdout


def row(name: str) -> dict[str, Any]:
    own, ours = (json.loads(run(name, mode=mode).splitlines()[-1]) for mode in ("0", "1"))
    lanes = [[(call["buffers"], call["own"]) for call in each["calls"]] for each in (own, ours)]
    if own["digest"] != ours["digest"] or lanes[0] != lanes[1]:
        raise SystemExit(f"{name}: tinygrad {own}, memplan {ours}")
    most = max(ours["calls"], key=lambda call: call["own"])
    times = [sorted(call[key] for call in ours["calls"]) for key in ("own_us", "us")]
    spread = [[each[len(each) // 2], each[len(each) * 99 // 100]] for each in times]
    own_us, us = ([round(each) for each in row] for row in (spread[0], map(sum, zip(*spread, strict=True))))
    sizes = (most["buffers"], most["own"], most["memplan"], most["bound"])
    return row_of(name, *sizes, own_us, us, plans=len(ours["calls"]))


def main() -> None:
    record(Path(__file__).with_name("table.json"), map(row, sys.argv[1:] or run().split()))


if __name__ == "__main__":
    main()
