"""Runs the memplan command on a problem of any kind in the library, and returns the plan, certificate and bound.

This module is also a planner: python -m lab.support.library_answers KIND PROBLEM OUT SECONDS [LIMIT]. Its exit status
is 1 if the problem has no solution.
"""

import io
import json
import sys
import tempfile
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memplan.api.cli.main import main


@dataclass(frozen=True)
class Answer:
    """The outcome of a command: its text, its exit status, and the texts of the written plan and certificate.

    `value` is the value of the plan, for kinds without a checker. `bound` is the lower bound that the command claims.
    """

    command: str
    status: int
    plan: str | None = None
    proof: str | None = None
    value: float | None = None
    bound: float | None = None


Extract = Callable[[Any, int | None], tuple[str | None, float | None, float | None]]
"""A function of (JSON answer, limit) that returns (text of the plan, its value, claimed bound)."""


def _plan_fields(answer: Any, limit: int | None) -> tuple[str | None, float | None, float | None]:
    """Return (text of the plan or None, None, lower bound or None) from the JSON answer about a problem."""
    rows = [[row["id"], row["pool"], row["offset"]] for row in answer["placements"]]
    bound = len(answer["pools"]) if "no fewer are enough" in answer["said"] else None
    if bound is None and "heaps of" not in answer["said"]:
        bound = answer["cost_lower_bound"] if answer.get("cost") is not None else answer["lower_bound"]
    if answer["is_table"]:
        text = "".join(f"{a},{b},{c}\n" for a, b, c in [["id", "pool", "offset"], *rows])
    else:
        text = json.dumps(rows, separators=(",", ":")) + "\n"
    return text if rows else None, None, bound


def _object_fields(answer: Any, limit: int | None) -> tuple[str | None, float | None, float | None]:
    """Return (text of the objects, None, lower bound) from the JSON answer about shared objects."""
    rows = [{"buffers": row["buffers"]} for row in answer["objects"]]
    return json.dumps({"objects": rows}, separators=(",", ":")) + "\n", None, answer["lower_bound"]


def _symbol_fields(answer: Any, limit: int | None) -> tuple[str | None, float | None, float | None]:
    """Return (text of the whole answer, None, None) from the JSON answer about symbolic sizes."""
    fields = {name: value for name, value in answer.items() if name not in ("said", "is_table")}
    return json.dumps(fields, separators=(",", ":")) + "\n", None, None


def _order_fields(answer: Any, limit: int | None) -> tuple[str | None, float | None, float | None]:
    """Return (text of the order, None, lower bound on the peak) from the JSON answer about an order."""
    return json.dumps(answer["order"], separators=(",", ":")) + "\n", None, answer["lower_bound"]


def _recompute_fields(answer: Any, limit: int | None) -> tuple[str | None, float | None, float | None]:
    """Return (text of an order, None, None): the order of lowest peak at an extra cost of at most `limit`."""
    points = [p for p in answer["recomputed"]["points"] if limit is None or p["extra_cost"] <= limit]
    best = min(points, key=lambda p: p["live_peak"])
    return json.dumps(best["order"], separators=(",", ":")) + "\n", None, None


def _cascade_fields(answer: Any, limit: int | None) -> tuple[str | None, float | None, float | None]:
    """Return (a point as text, its peak, None): the point of lowest peak in the JSON answer about cascades."""
    point = min(answer["points"], key=lambda p: p["peak"])
    return json.dumps({"points": [point]}, separators=(",", ":")) + "\n", point["peak"], None


WAYS: dict[str, tuple[str, Extract]] = {
    "peak": ("plan FILE", _plan_fields),
    "rules": ("plan FILE", _plan_fields),
    "pools": ("plan FILE", _plan_fields),
    "reuse": ("plan FILE", _plan_fields),
    "fit": ("plan FILE --capacity LIMIT --accept fit", _plan_fields),
    "heaps": ("plan FILE --heaps LIMIT", _plan_fields),
    "objects": ("plan FILE", _object_fields),
    "symbols": ("shapes FILE", _symbol_fields),
    "order": ("order FILE", _order_fields),
    "recompute": ("order FILE --recompute --extra-cost 10%", _recompute_fields),
    "cascade": ("cascade FILE --macs +LIMIT% --point -1", _cascade_fields),
}
CERTIFIED = ("peak", "rules", "pools", "reuse", "fit", "order")


def answer(kind: str, path: Path, limit: int | None, time_limit_s: float, *, certifies: bool = True) -> Answer:
    """Run the memplan command on a problem file of this kind within a time limit, and return the result."""
    words, extract = WAYS[kind]
    words = words if limit else words.replace(" --capacity LIMIT", "")
    words = words.replace("LIMIT", str(limit)) + f" --time-limit {time_limit_s:g}"
    with tempfile.TemporaryDirectory() as folder:
        proof, plan = Path(folder, "plan.proof"), Path(folder, "plan.json")
        outputs = f" -o {plan}" + f" -o {proof}" * (certifies and kind in CERTIFIED)
        printed, said_too = io.TextIOWrapper(io.BytesIO()), io.StringIO()
        with redirect_stdout(printed), redirect_stderr(said_too):
            status = main([*words.replace("FILE", str(path)).split(), *outputs.split()])
            printed.flush()
        told = said_too.getvalue()
        text = plan.read_text() if plan.exists() else printed.buffer.getvalue().decode()
        fields = json.loads(text) if text.startswith("{") else {}
        said = proof.read_text() if proof.exists() else None
        command = f"memplan {words}" + " -o plan.json" + " -o plan.proof" * (said is not None)
        if not fields:
            return Answer(f"{command}  # {told.strip()[-200:]}", status, proof=said)
        found, value, bound = extract({**fields, "said": told, "is_table": path.suffix == ".csv"}, limit)
    return Answer(command, status, found, said, value, bound)


def _solve_and_write(kind: str, problem: str, out: str, seconds: str, limit: str = "") -> int:
    """Solve a problem and write its plan, if one is found, to the file `out`; return the command's exit status."""
    found = answer(kind, Path(problem), int(limit) if limit else None, float(seconds), certifies=False)
    if found.plan is not None:
        Path(out).write_text(found.plan)
    elif found.status != 1:
        print(found.command, file=sys.stderr)
    return found.status


if __name__ == "__main__":
    sys.exit(_solve_and_write(*sys.argv[1:]))
