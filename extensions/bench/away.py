"""Benchmark runs on a cluster, whose machines first report missing packages and then get each run with its problem."""

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from memplan.extensions.bench import peers
from memplan.extensions.bench.clusters import ClusterExecutor, MachineLostError, is_unwanted
from memplan.extensions.bench.measuring import measure
from memplan.extensions.bench.results import Result
from memplan.extensions.bench.suites import files_of
from memplan.extensions.bench.worker import BenchTask
from memplan.solvers.portfolio import registry


def required_packages(solvers: Sequence[str]) -> list[str]:
    """Return the names of the solvers that each machine needs; `auto` means all solvers installed here."""
    here = [name for name, row in registry.BY_NAME.items() if row.is_installed] if "auto" in solvers else []
    return list(dict.fromkeys([*solvers, *here]))


def missing_packages(solvers: Sequence[str]) -> str:
    """Return a sentence on the first solver missing on this machine and its packages; "" if no solver is missing."""
    for name in solvers:
        row, peer = registry.BY_NAME.get(name), peers.find(name)
        if (row is not None and not row.is_installed) or (row is None and peer is not None and not peer.is_installed):
            packages = row.needs if row is not None else (peer.package,) if peer is not None else ()
            return f"lacks solver {name}, which needs {', '.join(packages)}"
    return ""


def begin(executor: ClusterExecutor, task: BenchTask) -> Future[Result]:
    """Start a run on a cluster, and return its future. Raises FormatError if the problem file cannot be read."""
    return executor.submit(_measure_with_files, task, files_of(task.instance))


def row_of(executor: ClusterExecutor, task: BenchTask, future: Future[Result]) -> Result:
    """Return the result row of a finished run; the outcome is `failed` if every attempt lost its machine."""
    begun = executor.count_starts(future)
    try:
        return future.result().model_copy(update={"begun": begun})
    except MachineLostError as error:
        named = dict(zip(("instance", "solver", "seed", "time_limit_s"), task.key, strict=True))
        return Result.model_validate({**named, "outcome": "failed", "message": str(error), "begun": begun})


def _measure_with_files(task: BenchTask, files: dict[str, bytes]) -> Result:
    with TemporaryDirectory(prefix="memplan-") as folder:
        for name, data in files.items():
            Path(folder, name).write_bytes(data)
        here = replace(task, instance=str(Path(folder, Path(task.instance).name)))
        row = measure(here, is_unwanted())
    message = row.message and row.message.replace(here.instance, task.instance)
    return row.model_copy(update={"instance": task.instance, "message": message})
