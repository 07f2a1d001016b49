"""Count what each start of memplan takes: python -m lab.starts [--record] [--service].

Counted are millions of instructions in user space, by valgrind's callgrind, which no load of the machine changes, and
the modules that are imported. Modules are compiled before, as an installation does it; hashes have one seed, and
NumPy's BLAS one thread, as what its threads count while they wait differs from run to run. What is on record is
`starts.csv`: the most that `tests/api/cli/test_starts.py` allows, and what was counted last.

`--service` prints the seconds of CPU that a server takes with all its children until it is ready, and until it has
answered its first job.
"""

from __future__ import annotations

import csv
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import httpx
import psutil

ROOT = Path(__file__).parents[1]
TABLE = Path(__file__).with_suffix(".csv")
_MODEL = "examples/mobilenet_v2.csv"
_READ_AND_SOLVE = f"import memplan; memplan.solve(memplan.read_problem({_MODEL!r}))"
STARTS: Mapping[str, Sequence[str]] = {
    "plan": ("-m", "memplan", "plan", _MODEL, "-q"),
    "list": ("-m", "memplan", "--help"),
    "help": ("-m", "memplan", "plan", "--help"),
    "version": ("-m", "memplan", "--version"),
    "script": ("-c", _READ_AND_SOLVE),
}
"""What is started, by the arguments of Python."""
COUNTER = shutil.which("valgrind")


def environment(compiled: Path) -> dict[str, str]:
    """Return an environment in which what is imported is compiled once, into a folder."""
    kept = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    fixed = {"PYDANTIC_DISABLE_PLUGINS": "__all__", "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"}
    return kept | fixed | {"PYTHONPYCACHEPREFIX": str(compiled)}


def modules(name: str, compiled: Path) -> int:
    """Return how many modules a start imports."""
    done = _run([sys.executable, "-X", "importtime", *STARTS[name]], compiled)
    return done.stderr.count("import time:") - 1  # the head of the table


def instructions(name: str, compiled: Path) -> int:
    """Return the millions of instructions of a start whose modules are compiled."""
    assert COUNTER is not None
    command = [COUNTER, "--tool=callgrind", "--callgrind-out-file=/dev/null", sys.executable, *STARTS[name]]
    found = re.search(r"Collected : (\d+)", _run(command, compiled).stderr)
    assert found is not None
    return round(int(found[1]) / 1e6)


def recorded() -> dict[str, dict[str, int]]:
    """Return the rows on record by name: at `most` and last counted `millions` of instructions, and `modules`."""
    with TABLE.open(newline="") as table:
        return {row.pop("start"): {name: int(text) for name, text in row.items()} for row in csv.DictReader(table)}


def _run(command: Sequence[str], compiled: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, env=environment(compiled), capture_output=True, text=True, check=True)


def cpu_of_service(folder: Path) -> Iterator[tuple[str, float]]:
    """Yield what a new server has done, and the seconds of CPU that it and its children took for it."""
    settings = {"MEMPLAN_DATA_FOLDER": str(folder), "MEMPLAN_WORKERS": "1", "MEMPLAN_PROCESSES": "1"}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "memplan", "serve", "--port", str(port)]
    server = subprocess.Popen(command, cwd=ROOT, env=environment(folder) | settings, stderr=subprocess.DEVNULL)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}") as client:
            _until(lambda: client.get("/readyz").status_code == 200)
            yield "ready", _cpu(server.pid)
            body = {"problem": {"buffers": [{"id": "a", "size": 8, "start": 0, "end": 1}]}}
            job = client.post("/v1/jobs?kind=plan", json=body).raise_for_status().json()["id"]
            _until(lambda: client.get(f"/v1/jobs/{job}").json()["state"] == "succeeded")
            yield "first job answered", _cpu(server.pid)
    finally:
        server.terminate()
        server.wait()


def _until(is_done: Callable[[], bool]) -> None:
    for _ in range(3_000):
        with suppress(httpx.TransportError):  # nothing listens yet
            if is_done():
                return
        time.sleep(0.1)
    raise TimeoutError("the server did not come that far in 300 s")


def _cpu(pid: int) -> float:
    """Return the seconds of CPU of a process and its children, those that have ended among them."""
    server = psutil.Process(pid)
    times = [each.cpu_times() for each in (server, *server.children(recursive=True))]
    return float(sum(each.user + each.system + each.children_user + each.children_system for each in times))


def main() -> int:
    """Print what is counted beside what is on record, or record it."""
    from tempfile import TemporaryDirectory

    if "--service" in sys.argv:
        with TemporaryDirectory() as folder:
            found = [list(cpu_of_service(Path(folder))) for _ in range(2)]  # the first one compiles the modules
            for what, seconds in found[-1]:
                print(f"service: {what} after {seconds:.2f} s of CPU")
        return 0
    rows = recorded()
    with TemporaryDirectory() as folder:
        for name in STARTS:
            n_modules, millions = modules(name, Path(folder)), instructions(name, Path(folder)) if COUNTER else 0
            print(f"{name}: {millions} million instructions, {n_modules} modules; on record {rows.get(name)}")
            rows[name] = {"most": rows[name]["most"], "millions": millions, "modules": n_modules}
    if "--record" in sys.argv:
        with TABLE.open("w", newline="") as table:
            written = csv.writer(table, lineterminator="\n")
            written.writerow(["start", "most", "millions", "modules"])
            written.writerows([name, *row.values()] for name, row in rows.items())
    return 0


if __name__ == "__main__":
    sys.exit(main())
