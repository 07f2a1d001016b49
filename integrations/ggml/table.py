"""Compare ggml's plans with memplan's on the networks of graphs.cpp: `python table.py GRAPHS OWN OURS`.

GRAPHS is the program built from graphs.cpp; OWN and OURS are folders with ggml's libraries, as they are and after
edit.py. Every network runs on both. Outputs must be equal in all four ways, no way may need more bytes, and no tensors
that are alive together may share bytes; else it ends with an error. table.json has the rows; bytes of three ways are
there alone.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

WAYS = ("plain", "chunks", "types", "devices")


def run(graphs: str, libraries: str, *arguments: str, mode: str = "") -> tuple[str, str]:
    environment = {**os.environ, "LD_LIBRARY_PATH": libraries} | ({"GGML_MEMPLAN": mode} if mode else {})
    done = subprocess.run([graphs, *arguments], capture_output=True, text=True, env=environment)
    if done.returncode:
        raise SystemExit(f"{graphs} {' '.join(arguments)}: {done.stdout[-200:]}{done.stderr[-400:]}")
    return done.stdout, done.stderr


def row(graphs: str, own: str, ours: str, name: str) -> dict[str, object]:
    theirs, here = (json.loads(run(graphs, libraries, name)[0]) for libraries in (own, ours))
    first = re.search(r"memplan: (\d+) tensors.* bound (\d+)", run(graphs, ours, name, mode="log")[1])
    assert first is not None
    ways = [way for way in WAYS if way in theirs]
    for way in ways:
        a, b = theirs[way], here[way]
        if a["hash"] != b["hash"] or a["overlaps"] or b["overlaps"] or b["bytes"] > a["bytes"]:
            raise SystemExit(f"{name}, {way}: ggml {a}, memplan {b}")
    return {
        "model": name,
        "buffers": int(first[1]),
        "before": theirs["bytes"],
        "after": here["bytes"],
        "bound": int(first[2]),
        "equal": bool(ways),
        "own_us": [theirs["p50_us"], theirs["p99_us"]],
        "us": [here["p50_us"], here["p99_us"]],
        "ways": {way: [theirs[way]["bytes"], here[way]["bytes"]] for way in ways},
    }


def main() -> None:
    graphs, own, ours = sys.argv[1:]
    rows = []
    for name in run(graphs, own)[0].split():
        rows.append(row(graphs, own, ours, name))
        print(json.dumps(rows[-1]), flush=True)
    text = "[\n" + ",\n".join(json.dumps(each) for each in rows) + "\n]\n"
    Path(__file__).with_name("table.json").write_text(text)


if __name__ == "__main__":
    main()
