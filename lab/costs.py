"""What each question takes: `python -m lab.costs [--sizes 10,100,1000,5000,50000] [--limit 0.5] [--only QUESTION]`.

Every question is asked at each size in a process of its own, in the ways that cost most, with a time limit, which
counts processor time, so that rows do not depend on other work of the machine; engines, which have processes of their
own, see no more than the wall's. A row says the seconds of it until the first answer that was noted, until the end, and
how many of them came after the limit; and what came of it. A process is killed `--patience` seconds later, and its row
says so. The bodies follow from their sizes alone.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import select
import signal
import sys
import time
import traceback
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from packages.tile.tests.small_schedules import drawn_schedule

from lab.support.drawn_calls import drawn_inputs
from lab.support.heavy_bodies import Data, graph, of_file, of_problem, problem, statements
from memplan.extensions.models.tests.litert_models import random_model
from memplan.planner.errors import InputError, MemplanError, TimeOverError
from memplan.planner.model.problem import Problem
from memplan.questions.capability import Control
from memplan.questions.capability.registry import CAPABILITIES
from memplan.questions.capability.wire import read_body_options, read_question
from memplan.solvers.portfolio.options import SolveOptions
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.search.control import Deadline

_MOST_SCHEDULED = 2_000
_SIZES = "10,100,1000,5000,50000"


def _planned(count: int) -> tuple[Data, Data]:
    """Return a problem of so many buffers, and a plan of it."""
    content = problem(count)
    plan = solve(Problem.model_validate(content), SolveOptions(solver="greedy"))
    return content, plan.model_dump(mode="json", exclude_defaults=True)


def _checked(count: int) -> Data:
    """Return a check of a plan that is made, against one of the same buffers in another order."""
    content, plan = _planned(count)
    rows = [{**row, "end": row["end"] + 1} for row in content["buffers"]]
    return {"problem": content | {"buffers": rows}, "baseline": {"problem": content, "plan": plan}}


def _symbolic(count: int) -> Data:
    rows = [
        {"id": f"b{row['id']}", "size": f"{row['size'] % 97 + 1}*n + {row['size'] % 89}*b", **_life(row)}
        for row in problem(count)["buffers"]
    ]
    return {"problem": {"symbols": {"n": {"min": 1, "max": 4096}, "b": {"min": 1, "max": 64}}, "buffers": rows}}


def _life(row: Data) -> Data:
    return {"start": row["start"], "end": row["end"]}


def _model(count: int) -> Data:
    data = random_model(1, count, has_plan=True)
    return {"file": b64encode(data).decode(), "options": {"name": "model.tflite"}}


def _scheduled(count: int) -> Data:
    """Return a schedule of about so many operations, of which there may be 2,000."""
    count = min(count, _MOST_SCHEDULED // 2)
    problem = drawn_schedule(1, count)
    for seed in range(2, 50):
        if len(problem.inputs) >= count // 2:
            break
        problem = drawn_schedule(seed, count)
    return {"problem": json.loads(problem.model_dump_json(exclude_defaults=True))}


def _drawn(name: str, count: int) -> Data:
    return drawn_inputs(random.Random(f"{name} 1"), name, count)[0]


_WAYS: Mapping[str, tuple[str, Callable[[int], Data], Data]] = {
    "plan": ("plan", lambda n: {"problem": problem(n)}, {}),
    "explain": ("explain", lambda n: {"problem": problem(n)}, {}),
    "explain, what_if": ("explain", lambda n: {"problem": problem(n)}, {"what_if": True}),
    "explain, repairs": ("explain", lambda n: {"problem": problem(n)}, {"repairs": 3}),
    "verify, places": ("verify", lambda n: dict(zip(("problem", "plan"), _planned(n), strict=True)), {"places": True}),
    "check, differences": ("check", _checked, {"differences": True}),
    "sweep": ("sweep", lambda n: of_problem("sweep", problem(n)), {}),
    "certify": ("certify", lambda n: {"problem": problem(n)}, {}),
    "order": ("order", lambda n: {"graph": graph(n)}, {}),
    "order, recompute": ("order", lambda n: {"graph": graph(n)}, {"recompute": True}),
    "schedule": ("schedule", _scheduled, {}),
    "schedule, frontier": ("schedule", _scheduled, {"frontier": True}),
    "cascade": ("cascade", lambda n: _drawn("cascade", n), {}),
    "liveness": ("liveness", lambda n: {"operations": statements(n)}, {}),
    "liveness, compare": ("liveness", lambda n: {"operations": statements(n)}, {"compare": True}),
    "compare": ("compare", _model, {}),
    "convert": ("convert", of_file, {}),
    "convert to c": ("convert", of_file, {"to": "c"}),
    "convert to lp": ("convert", of_file, {"to": "lp"}),
    "shapes": ("shapes", _symbolic, {}),
}
"""From a name to a question, what makes its inputs of a size, and its options."""


@dataclass(frozen=True)
class Cost:
    """The processor seconds of a question: until its first note, None without any, and its end; those after its limit.

    `outcome` is what came.
    """

    first_s: float | None
    whole_s: float
    after_s: float
    outcome: str


def cost(name: str, count: int, limit_s: float) -> Cost:
    """Ask a question here, and return what it took."""
    kind, make, options = _WAYS[name]
    capability, content = CAPABILITIES[kind], make(count)
    options = content.pop("options", {}) | options | {"time_limit_s": limit_s}
    question = read_question(capability, content)
    asked = read_body_options(capability, {"options": options}, {})
    began, since = time.process_time(), time.monotonic() - time.process_time()
    first: list[float] = []
    with patch.object(time, "monotonic", lambda: since + time.process_time()):
        control = Control(Deadline.after(limit_s), note=lambda _: first.append(time.process_time()))
        try:
            found = capability.answered(question, asked, control)
            outcome = str(capability.status(found) or "answered")
        except TimeOverError as error:
            outcome = f"504: {error}"
        except InputError as error:
            outcome = f"refused: {error}"
        except MemplanError as error:
            outcome = type(error).__name__
    whole_s = time.process_time() - began
    return Cost(first[0] - began if first else None, whole_s, max(0.0, whole_s - limit_s), outcome[:100])


def _cost_apart(name: str, count: int, limit_s: float, patience_s: float) -> Cost | None:
    """Ask a question in a fork; None where that is killed."""
    reading, writing = os.pipe()
    if (pid := os.fork()) == 0:
        try:
            os.write(writing, json.dumps(vars(cost(name, count, limit_s))).encode())
        except Exception:  # noqa: BLE001 - the end of the process: its row is missing, and this is why
            traceback.print_exc()
        finally:
            os._exit(0)
    os.close(writing)
    making_s = 60.0  # the body is made there, too
    is_there = bool(select.select([reading], [], [], making_s + limit_s + patience_s)[0])
    content = os.read(reading, 2**16) if is_there else b""
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(reading)
    values: dict[str, Any] | None = json.loads(content) if content else None
    return None if values is None else Cost(**values)


def main() -> int:
    """Print a row for each question and size."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", default=_SIZES)
    parser.add_argument("--limit", type=float, default=0.5)
    parser.add_argument("--patience", type=float, default=30.0)
    parser.add_argument("--only", default="", help="the questions whose name has this")
    given = parser.parse_args()
    print("| question | elements | first note | CPU s | after the limit | came |")
    print("|---|--:|--:|--:|--:|---|")
    for name in _WAYS:
        for count in map(int, given.sizes.split(",") if given.only in name else ()):
            found = _cost_apart(name, count, given.limit, given.patience)
            if found is None:
                print(f"| {name} | {count:,} | | | | killed after {given.patience:g} s |", flush=True)
                continue
            first = "" if found.first_s is None else f"{found.first_s:.2f}"
            row = f"{first} | {found.whole_s:.2f} | {found.after_s:.2f} | {found.outcome}"
            print(f"| {name} | {count:,} | {row} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
