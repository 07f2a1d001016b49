"""`python -m integrations.tvm.table`: each network on TVM's plans and on memplan's; writes table.json and docs/tvm.md.

Each runs in a process of its own, and none is recorded whose outputs differ by a bit. Names of networks run these anew;
`page` writes the page alone.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from integrations.tables import record, row_of

TABLE = Path(__file__).with_name("table.json")
PAGE = Path(__file__).parents[2] / "docs" / "tvm.md"


def run(*arguments: str) -> str:
    command = [sys.executable, "-m", "integrations.tvm.run", *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{arguments}: {done.stderr[-2000:]}")
    return done.stdout.splitlines()[-1]


def row(name: str) -> dict[str, Any]:
    """Return what is recorded of a network: the columns that all integrations have are of the default pipeline."""
    found = json.loads(run(name))
    default = found["default"]
    sizes = (default["tensors"], default["own"], default["memplan"], default["bound"])
    more = {key: found[key] for key in ("runs", "fused")} | {"run_us": default["run_us"]}
    return row_of(name, *sizes, found["own_us"], found["us"], **more)


def add(names: list[str]) -> None:
    """Run networks, and record each as it is done; those that were recorded before, and are not named, stay."""
    rows = {each["model"]: each for each in json.loads(TABLE.read_text())} if TABLE.exists() else {}
    for name in names:
        try:
            rows[name] = row(name)
        except SystemExit as why:
            print(f"{name} is left out: {why}", file=sys.stderr, flush=True)
            continue
        record(TABLE, [rows[each] for each in sorted(rows)])


def saved(before: int, after: int) -> str:
    return f"-{100 - 100 * after / before:.1f} %" if after < before else "0"


def with_workspace(fused: dict[str, Any]) -> tuple[int, int] | None:
    """Return the bytes with temporaries by TVM, beside its plan, and by memplan; None where kernels have symbols."""
    return (fused["own"] + fused["workspace"], fused["lifted"]) if fused["workspace"] else None


def lines(rows: list[dict[str, Any]]) -> Iterator[str]:
    head = "network | runs | `tvm.compile`: TVM | memplan | | fused: TVM | memplan | | whole"
    yield f"| {head} | with temporaries: TVM | memplan | |"
    yield "|---" * 12 + "|"
    for each in sorted(rows, key=lambda each: each["after"] / each["before"]):
        fused, both = each["fused"], with_workspace(each["fused"])
        cells = [each["model"], each["runs"], each["before"], each["after"], saved(each["before"], each["after"])]
        cells += [fused["own"], fused["memplan"], saved(fused["own"], fused["memplan"]), fused["whole"]]
        cells += [*both, saved(*both)] if both else ["", "", ""]
        yield "| " + " | ".join(f"{cell:,}" if isinstance(cell, int) else cell for cell in cells) + " |"
    yield ""
    ways = {
        "`tvm.compile`": [(each["before"], each["after"]) for each in rows],
        "fused": [(each["fused"]["own"], each["fused"]["memplan"]) for each in rows],
        "whole storages": [(each["fused"]["own"], each["fused"]["whole"]) for each in rows],
        "with temporaries": [both for each in rows if (both := with_workspace(each["fused"]))],
        "ordered": [(each["fused"]["memplan"], each["fused"]["ordered"]) for each in rows],
    }
    yield "| | networks | gain | saved, median | most |"
    yield "|---|---|---|---|---|"
    for name, pairs in ways.items():
        parts = sorted(100 - 100 * after / before for before, after in pairs)
        gain = sum(after < before for before, after in pairs)
        yield f"| {name} | {len(pairs)} | {gain} | {parts[len(parts) // 2]:.1f} % | {parts[-1]:.1f} % |"
    plans = [(each["after"], each["bound"]) for each in rows]
    plans += [(each["fused"]["memplan"], each["fused"]["bound"]) for each in rows]
    at = sum(after == bound for after, bound in plans)
    yield ""
    yield f"{at} of the {len(plans)} plans of both pipelines are at the bound: no plan of the tensors needs less."


def page(text: str, rows: list[dict[str, Any]]) -> str:
    """Return the page with its table as it is recorded."""
    made = "\n".join(lines(rows)) + "\n"
    return re.sub(r"(<!-- table: networks -->\n).*?(<!-- end -->)", rf"\g<1>{made}\2", text, flags=re.DOTALL)


def main() -> None:
    if sys.argv[1:] != ["page"]:
        add(sys.argv[1:] or run().split())
    PAGE.write_text(page(PAGE.read_text(), json.loads(TABLE.read_text())))


if __name__ == "__main__":
    main()
