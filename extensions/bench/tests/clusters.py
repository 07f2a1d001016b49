"""Local Dask and Ray clusters, a stand-in for a cluster, and tasks with known effects, for tests."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from memplan.extensions.bench.clusters import ClusterExecutor, executor_on, is_unwanted
from memplan.planner.errors import OptionError
from tests.support.ports import free_port

ROOT = Path(__file__).parents[3]
_PATIENCE_S = 120.0


def obstacle(kind: str) -> str | None:
    """Return why a cluster of this kind (`dask` or `ray`) cannot be started on this machine; None if it can."""
    needed = ("distributed",) if kind == "dask" else ("ray", "grpc")
    missing = [name for name in needed if find_spec(name) is None]
    return f"not installed: {', '.join(missing)}" if missing else None


class StandIn(ClusterExecutor):
    """A stand-in for a cluster, which runs tasks on two processors of this machine."""

    def __init__(self) -> None:
        super().__init__()
        self._threads = ThreadPoolExecutor(2)

    @property
    def places(self) -> int:
        return 2

    def run_on_each(self, work: Any) -> dict[str, Any]:
        """Run `work` once, on the only machine of the stand-in."""
        return {"here": work()}

    def _start_task(self, future: Future[Any], name: str, work: Any) -> None:
        self._threads.submit(work).add_done_callback(lambda there: self._settle(future, there))


@contextmanager
def cluster(kind: str, folder: Path) -> Iterator[str]:
    """Start a cluster whose workers import this checkout, yield its address, and stop it after the block."""
    with _dask() if kind == "dask" else _ray(folder) as address:
        yield address


@contextmanager
def _dask() -> Iterator[str]:
    from distributed import LocalCluster

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Dask warns when it shuts down, which does not concern these tests.
        with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as workers:
            yield workers.scheduler_address.replace("tcp://", "dask://")


@contextmanager
def _ray(folder: Path) -> Iterator[str]:
    # A socket's path has at most 107 bytes, and Ray's are long: the folder of a test may be too deep.
    port, sessions = free_port(), Path(tempfile.mkdtemp(prefix="ray", dir="/tmp"))
    command = [str(Path(sys.executable).with_name("ray")), "start", "--head", "--block", "--num-cpus=2"]
    command += [f"--port={free_port()}", f"--ray-client-server-port={port}", "--include-dashboard=false"]
    command += ["--min-worker-port=0", "--max-worker-port=0"]  # 0 means any free port.
    command += ["--disable-usage-stats", f"--temp-dir={sessions}"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=ROOT, env=environment)
    try:
        until = time.monotonic() + _PATIENCE_S
        while not _is_answering(f"ray://127.0.0.1:{port}"):
            assert process.poll() is None, (folder / "log").read_text()
            assert time.monotonic() < until, "Ray did not start in time"
            time.sleep(0.5)
        yield f"ray://127.0.0.1:{port}"
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(_PATIENCE_S)
        shutil.rmtree(sessions, ignore_errors=True)


def _is_answering(address: str) -> bool:
    try:
        with executor_on(address):
            return True
    except OptionError:  # While Ray starts, its open port rejects clients, so the cluster is not ready yet.
        return False


def end_its_machine(folder: str, times: int) -> int:
    """Kill the worker that runs this task in the first `times` attempts; then return the number of attempts."""
    begun = len(list(Path(folder).iterdir()))
    Path(folder, str(begun)).touch()
    if begun < times:
        time.sleep(0.2)  # The worker must die while its task is running, so wait a little.
        os.kill(os.getpid(), signal.SIGKILL)
    return begun + 1


def wait_to_be_unwanted(folder: str) -> None:
    """Run until the task is cancelled; write a file into `folder` at the beginning, and another one at the end."""
    Path(folder, "begun").touch()
    try:
        is_over = is_unwanted()
        while not is_over():
            time.sleep(0.05)
    finally:  # Ray interrupts the task by an exception, so write the file here.
        Path(folder, "ended").touch()
