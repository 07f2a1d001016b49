"""Executors for existing Dask and Ray clusters: functions are sent as pickles, and their results are returned.

Each machine of the cluster needs the same version of memplan, but no files of this machine.
"""

import socket
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, InvalidStateError
from contextlib import contextmanager, suppress
from functools import partial
from itertools import count
from secrets import token_hex
from typing import Any, TypeVar

from memplan.planner import __version__
from memplan.planner.errors import MemplanError, OptionError, excerpt
from memplan.planner.errors.extras import require_packages
from memplan.solvers.processes.apart import run_in_thread

T = TypeVar("T")
ATTEMPTS = 4
"""The maximum number of attempts to run a task whose machines are lost; Dask has the same default."""
_PATIENCE_S = 4.0
"""The seconds within which a cluster must respond."""


class MachineLostError(MemplanError):
    """A task could not be completed, because its machine was lost in every attempt."""


class ClusterExecutor(Executor):
    """An executor that runs tasks on a cluster. If a machine is lost, its task runs again on another machine."""

    def __init__(self) -> None:
        """Start without tasks; create a random topic under which workers announce the starts of tasks."""
        self._begun: Counter[str] = Counter()
        self._names, self._numbers = dict[Future[Any], str](), count()
        self._topic = f"memplan-{token_hex(8)}"

    @property
    def places(self) -> int:
        """The current number of processors in the cluster."""
        raise NotImplementedError

    def max_submitted(self) -> int:
        """Return the number of tasks to keep submitted: twice the number of processors, so that no machine is idle."""
        return 2 * max(1, self.places)

    def count_starts(self, future: Future[Any]) -> int:
        """Return how often the task of a future was started, and delete the record of the future."""
        return self._begun.pop(self._names.pop(future), 1)

    def submit(self, work: Callable[..., T], /, *given: Any, **named: Any) -> Future[T]:
        """Start a task on some machine, and return its future, which raises MachineLostError after ATTEMPTS losses."""
        future: Future[T] = Future()
        self._names[future] = name = f"{self._topic}-{next(self._numbers)}"
        self._start_task(future, name, partial(work, *given, **named))
        return future

    def _start_task(self, future: Future[T], name: str, work: Callable[[], T]) -> None:
        raise NotImplementedError

    def _settle(self, future: Future[T], there: Future[T]) -> None:
        with suppress(InvalidStateError):  # A local future that was cancelled meanwhile refuses a result.
            if there.cancelled():
                future.cancel()
            elif (error := there.exception()) is not None:
                future.set_exception(error)
            else:
                future.set_result(there.result())

    def run_on_each(self, work: Callable[[], T]) -> dict[str, T | BaseException]:
        """Run `work` once on each machine, and return the results by machine address."""
        raise NotImplementedError

    def check(self, lacking: Callable[[], str]) -> None:
        """Raise OptionError if the cluster has no machine, or if a machine's call of `lacking` returns a complaint."""
        there = self.run_on_each(partial(_missing_text, __version__, lacking))
        if not there:
            raise OptionError("on: the cluster must have at least one machine, got none")
        for machine, said in there.items():
            if isinstance(said, ModuleNotFoundError):
                raise OptionError(
                    f"on: machine {machine} lacks {said.name or 'memplan'}: all machines need memplan {__version__}"
                )
            if isinstance(said, BaseException):
                raise OptionError(f"on: machine {machine} must be able to run memplan: {said}")
            if said:
                raise OptionError(f"on: machine {machine} {said}")


def _missing_text(version: str, further: Callable[[], str]) -> str:
    return further() if version == __version__ else f"has memplan {__version__}, and this one is {version}"


@contextmanager
def executor_on(address: str) -> Iterator[ClusterExecutor]:
    """Yield an executor for the cluster at `dask://HOST:PORT` or `ray://HOST:PORT`; its tasks end with the block.

    Raises OptionError if no cluster responds at the address.
    """
    scheme, _, where = address.partition("://")
    host, _, port = where.rpartition(":")
    if scheme not in ("dask", "ray") or not host or not (port.isdecimal() and int(port) < 2**16):
        raise OptionError(f"on: must be dask://HOST:PORT or ray://HOST:PORT, got {excerpt(address)}")
    require_packages("on:", ["distributed"] if scheme == "dask" else ["ray", "grpc"])
    try:
        socket.create_connection((host.strip("[]"), int(port)), _PATIENCE_S).close()
    except OSError as error:
        raise OptionError(
            f"on: must be the address of a cluster, got no answer at {excerpt(address)}: {error.strerror or error}"
        ) from None
    with (_dask_executor if scheme == "dask" else _ray_executor)(address, where) as executor:
        yield executor


def is_unwanted() -> Callable[[], bool]:
    """Return a function with which a task on a cluster finds out whether it was cancelled.

    Ray ends the process of a cancelled task; a Dask task must check this itself.
    """
    with suppress(ImportError, ValueError):  # Outside of a Dask worker, `get_worker` raises ValueError.
        from distributed import get_worker

        worker = get_worker()
        key = worker.get_current_task()
        return lambda: (task := worker.state.tasks.get(key)) is None or task.state != "executing"
    return lambda: False


@contextmanager
def _dask_executor(address: str, where: str) -> Iterator[ClusterExecutor]:
    """Yield an executor for the Dask cluster at an address. Raises OptionError if none responds."""
    from distributed import Client

    def connect() -> Any:
        return Client(f"tcp://{where}", timeout=_PATIENCE_S, set_as_default=False)

    # Dask waits forever for a server that accepts but never responds, so connect in a thread with a time limit.
    until = time.monotonic() + _PATIENCE_S
    try:
        client = run_in_thread(connect, left_s=lambda: until - time.monotonic())
    except (OSError, ValueError) as error:
        why = str(error) or "it says nothing"
        raise OptionError(
            f"on: must be the address of a Dask scheduler, got no answer at {excerpt(address)}: {why}"
        ) from None
    with client:
        yield _DaskExecutor(client)


class _DaskExecutor(ClusterExecutor):
    """An executor on a Dask cluster."""

    def __init__(self, client: Any) -> None:
        """Subscribe to the events with which Dask's workers announce the starts of tasks."""
        super().__init__()
        self._client, self._executor = client, client.get_executor(pure=False)
        client.subscribe_topic(self._topic, lambda event: self._begun.update([event[1]]))

    @property
    def places(self) -> int:
        return sum(self._client.nthreads().values())

    def run_on_each(self, work: Callable[[], T]) -> dict[str, T | BaseException]:
        there: dict[str, T | BaseException] = self._client.run(work, on_error="return")
        return there

    def _start_task(self, future: Future[T], name: str, work: Callable[[], T]) -> None:
        """Start a task on Dask; `future` gets the result, or MachineLostError if Dask gave the task up."""
        from distributed import KilledWorker

        def settle(there: Future[T]) -> None:
            if not there.cancelled() and isinstance(error := there.exception(), KilledWorker):
                self._begun[name] = error.allowed_failures + 1
                there = _failed_future(self._begun[name])
            self._settle(future, there)

        there = self._executor.submit(_announce_and_run, self._topic, name, work, key=name)
        there.add_done_callback(settle)
        future.add_done_callback(lambda _: future.cancelled() and there.cancel())


def _announce_and_run(topic: str, name: str, work: Callable[[], T]) -> T:
    from distributed import get_worker

    get_worker().log_event(topic, name)
    return work()


@contextmanager
def _ray_executor(address: str, where: str) -> Iterator[ClusterExecutor]:
    """Yield an executor for the Ray cluster at an address. Raises OptionError if none responds."""
    import ray
    from ray.util import connect, disconnect

    try:
        with warnings.catch_warnings(action="ignore"):  # Ray's error repeats its warnings, so hide the warnings.
            connect(where, connection_retries=1, ray_init_kwargs={"log_to_driver": False})
    except (ConnectionError, RuntimeError) as error:
        said = str(error).strip().splitlines()[-1]
        raise OptionError(
            f"on: must be the address of a Ray cluster, got no answer at {excerpt(address)}: {said}"
        ) from None
    try:
        yield _RayExecutor(ray)
    finally:
        disconnect()


class _RayExecutor(ClusterExecutor):
    """An executor on a Ray cluster."""

    def __init__(self, ray: Any) -> None:
        """Store the handle of the Ray cluster that runs the tasks."""
        super().__init__()
        self._ray_executor = ray

    @property
    def places(self) -> int:
        return int(self._ray_executor.cluster_resources().get("CPU", 0))

    def run_on_each(self, work: Callable[[], T]) -> dict[str, T | BaseException]:
        """Run `work` on each live node with processors, and return the results or errors by machine address."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        there: dict[str, T | BaseException] = {}
        for node in self._ray_executor.nodes():
            if node["Alive"] and node["Resources"].get("CPU"):
                where = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
                asked = self._ray_executor.remote(num_cpus=0, max_retries=0, scheduling_strategy=where)(
                    _run_work
                ).remote(work)
                try:
                    there[node["NodeManagerAddress"]] = self._ray_executor.get(asked)
                except Exception as error:  # noqa: BLE001  # Any error becomes the machine's result, so catch all.
                    there[node["NodeManagerAddress"]] = error
        return there

    def _start_task(self, future: Future[T], name: str, work: Callable[[], T]) -> None:
        """Start a task on Ray, and start it again if its machine is lost, up to ATTEMPTS times."""
        from ray.exceptions import RayTaskError

        self._begun[name] += 1
        asked = self._ray_executor.remote(num_cpus=1, max_retries=0)(_run_work).remote(work)

        def settle(there: Future[T]) -> None:
            is_lost = not there.cancelled() and isinstance(there.exception(), self._ray_executor.exceptions.RayError)
            if future.cancelled() or not is_lost or isinstance(there.exception(), RayTaskError):
                self._settle(future, there)
            elif self._begun[name] < ATTEMPTS:  # Ray needs the thread of its callbacks, so retry in a new thread.
                threading.Thread(target=self._start_task, args=(future, name, work), daemon=True).start()
            else:
                self._settle(future, _failed_future(ATTEMPTS))

        future.add_done_callback(lambda _: future.cancelled() and self._ray_executor.cancel(asked, force=True))
        asked.future().add_done_callback(settle)


def _run_work(work: Callable[[], T]) -> T:
    return work()


def _failed_future(times: int) -> Future[Any]:
    """Return a future that raises MachineLostError, because the machine was lost in each of `times` attempts."""
    lost: Future[Any] = Future()
    lost.set_exception(MachineLostError(f"the machine was lost in each of {times} attempts"))
    return lost
