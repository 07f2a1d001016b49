"""Run a program of ggml on ggml's plans and on memplan's, and record its compute buffers.

`python table.py TABLE WATCH OWN OURS MODEL [PART,...] -- PROGRAM ARGUMENT...`: WATCH is watch.c, built as it says;
OWN and OURS are folders with the program's shared libraries, as they are and after edit.py. The program runs with both,
and once more with the plans printed. All that it read from tensors must be equal, and no buffer larger, or it ends with
an error. The row of MODEL, or one of each PART where there are several different compute buffers, goes to TABLE.json.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

_LINE = re.compile(r"watch: allocator (\d+)|memplan: (\d+) tensors, ggml (\d+), memplan (\d+), bound (\d+)")


def watched(watch: str, libraries: str, command: list[str], mode: str = "") -> tuple[dict[str, Any], str]:
    """Return what watch.c writes, and the program's standard error."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "watch.json")
        names = {"LD_LIBRARY_PATH": libraries, "LD_PRELOAD": str(Path(watch).resolve()), "MEMPLAN_WATCH": str(file)}
        environment = {**os.environ, **names} | ({"GGML_MEMPLAN": mode} if mode else {})
        done = subprocess.run(command, capture_output=True, env=environment, check=False)
        error = done.stderr.decode(errors="replace")
        if done.returncode or not file.exists():
            raise SystemExit(
                f"{' '.join(command)}: exit status {done.returncode}: {done.stdout[-200:]!r} {error[-600:]}"
            )
        return json.loads(file.read_text()), error


def plans(log: str) -> list[list[int]]:
    """Return of each allocator the most buffers, bytes of ggml, bytes of memplan and bound of a graph, all devices."""
    most: dict[int, list[int]] = {}
    allocator, graph = 0, [0, 0, 0, 0]
    for match in _LINE.finditer(log):
        if match[1] is not None:
            allocator, graph = int(match[1]), [0, 0, 0, 0]
        else:
            graph = [a + int(b) for a, b in zip(graph, match.groups()[1:], strict=True)]
            most[allocator] = [max(pair) for pair in zip(most.get(allocator, graph), graph, strict=True)]
    return [most[k] for k in sorted(most)]


def rows(model: str, parts: list[str], watch: str, own: str, ours: str, command: list[str]) -> list[dict[str, Any]]:
    theirs, here = (watched(watch, libraries, command)[0] for libraries in (own, ours))
    if theirs["hash"] != here["hash"] or not theirs["read"]:
        raise SystemExit(
            f"{model}: {theirs['read']} bytes were read, with the hashes {theirs['hash']} and {here['hash']}"
        )
    table: dict[tuple[int, ...], dict[str, Any]] = {}
    planned = plans(watched(watch, ours, command, "log")[1])
    for k, (plan, a, b) in enumerate(zip(planned, theirs["allocators"], here["allocators"], strict=True)):
        buffers, before, after, bound = plan
        if (before, after) != (a["bytes"], b["bytes"]) or not bound <= after <= before:
            raise SystemExit(f"{model}: {plan}, but ggml has {a['bytes']} bytes, and with memplan {b['bytes']}")
        row = {"model": model, "buffers": buffers, "before": before, "after": after, "bound": bound, "equal": True}
        if before:  # one that is made anew for every graph has one row
            table.setdefault(
                (k,) if len(parts) == len(planned) else (buffers, before), row | {"own_us": a["us"], "us": b["us"]}
            )
    if len(table) != max(len(parts), 1):
        raise SystemExit(f"{model}: must have a name for each of {len(table)} compute buffers, has {parts}")
    return [row | ({"part": part} if part else {}) for row, part in zip(table.values(), parts or [""], strict=True)]


def main() -> None:
    at = sys.argv.index("--")
    table, watch, own, ours, model, *parts = sys.argv[1:at]
    made = rows(model, parts[0].split(",") if parts else [], watch, own, ours, sys.argv[at + 1 :])
    file = Path(__file__).with_name(f"{table}.json")
    others = json.loads(file.read_text()) if file.exists() else []
    models: dict[str, list[str]] = {}
    for row in (*(row for row in others if row["model"] != model), *made):
        models.setdefault(row["model"], []).append(json.dumps(row))
    file.write_text("[\n" + ",\n".join(map(", ".join, models.values())) + "\n]\n")
    print(*models[model], sep="\n")


if __name__ == "__main__":
    main()
