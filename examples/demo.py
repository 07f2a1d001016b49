"""Try the service in a minute: start it, plan a network and a hard problem over HTTP, and stop it (`make demo`).

Each problem is planned three times: by the default portfolio `auto`, by CP-SAT and by CBC. Pictures of the plans, and
the log of the service, are written to a folder.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from memplan import Plan, read_problem, verify
from memplan.api.client.http import Client
from memplan.api.options import Options
from memplan.api.reports.picture import draw

EXAMPLES = Path(__file__).parent
PROBLEMS = {
    "MobileNet V2": EXAMPLES / "mobilenet_v2.csv",
    "minimalloc A": EXAMPLES / "problems" / "minimalloc" / "A.1048576.csv",
}
SOLVERS = ("auto", "cp-sat", "cbc")
START_S = 90
"""The seconds within which the service must start; a busy machine may need many."""
ROW = "{:<14}{:<8}{:>11}{:>12}  {:<10}{:>8}  {}"


def main(folder: Path, time_limit_s: float) -> int:
    """Plan all problems with all solvers, print a line for each plan, and return 1 if a plan is invalid, else 0."""
    folder.mkdir(parents=True, exist_ok=True)
    wrong = 0
    print("The service starts.", flush=True)
    with service(folder) as url, Client(url, patience_s=START_S) as client:
        print(f"The page is at {url}/ while the service runs.\n")
        print(ROW.format("problem", "solver", "peak", "bound", "", "seconds", "found by"))
        for name, file in PROBLEMS.items():
            problem = read_problem(file)
            for solver in SOLVERS:
                plan = client.plan(problem, Options(solver=solver, time_limit_s=time_limit_s))
                wrong += not verify(problem, plan).valid
                print(ROW.format(name, solver, *row(plan)), flush=True)
                if solver == "auto" and plan.peak is not None:
                    (folder / f"{file.stem}.svg").write_bytes(draw(problem, plan))
    print("\nEngines alone stay behind on hard problems: `auto` runs memplan's own searches first.")
    print(f"The pictures are in {folder}/. `make serve` starts the service, and it stays.")
    print("Your own: .venv/bin/memplan compare MODEL.tflite, or memplan plan BUFFERS.csv; README.md lists what else.")
    return 1 if wrong else 0


@contextmanager
def service(folder: Path) -> Iterator[str]:
    """Run `memplan serve` on a free local port with a temporary database, and yield the service's URL."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "memplan.api.cli.main", "serve", "--port", str(port)]
    with (folder / "service.log").open("wb") as log, TemporaryDirectory(prefix="memplan-") as data:
        settings = os.environ | {"MEMPLAN_DATA_FOLDER": data}
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=settings)
        try:
            yield f"http://127.0.0.1:{port}"  # The client retries until the service is ready, so do not wait.
        finally:
            process.terminate()
            process.wait(timeout=30)


def row(plan: Plan) -> tuple[str, ...]:
    """Return the table cells of a plan: peak and bound in bytes, status, seconds, and the solver that found it."""
    peak = "none" if plan.peak is None else f"{plan.peak:,}"
    return (peak, f"{plan.lower_bound:,}", plan.status, f"{plan.wall_time_s:.3f}", plan.solver or "")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("build", "demo"))
    parser.add_argument("--time-limit", type=float, default=5.0, help="of each plan, in seconds")
    arguments = parser.parse_args()
    sys.exit(main(arguments.folder, arguments.time_limit))
