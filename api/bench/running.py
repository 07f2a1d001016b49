"""Many runs: which are still to do, and their rows as they come."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterable, Sequence
from concurrent.futures import Executor, Future, as_completed
from itertools import product

from memplan.api.bench import peers
from memplan.api.bench.measuring import measure
from memplan.api.bench.orders import ORDERERS
from memplan.api.bench.peers import PEERS
from memplan.api.bench.results import Result
from memplan.api.bench.suites import instances
from memplan.api.bench.worker import DIFFERING, BenchTask
from memplan.planner.errors import OptionError, shown
from memplan.planner.systems import reference_planners
from memplan.solvers.portfolio import registry
from memplan.solvers.portfolio.options import MAX_TIME_LIMIT_S


def jobs(
    suites: Sequence[str],
    solvers: Sequence[str],
    seeds: Sequence[int],
    time_limit_s: float,
    memory_limit_bytes: int,
    is_warm: bool = True,
) -> list[BenchTask]:
    """Return every instance x seed x solver; raises OptionError for a suite or a solver that is none.

    The solvers take turns on an instance, so that what disturbs the machine for a while disturbs them alike.
    """
    if not 0 < time_limit_s <= MAX_TIME_LIMIT_S:
        raise OptionError(
            f"time_limit_s: must be above 0 and at most {MAX_TIME_LIMIT_S:.0f}, got {shown(time_limit_s)}"
        )
    all_solvers = ("auto", *registry.BY_NAME, *reference_planners(), *PEERS, *ORDERERS)
    for solver in solvers:
        if solver not in all_solvers and peers.find(solver) is None and DIFFERING.fullmatch(solver) is None:
            raise OptionError(
                f"solvers: must be among {', '.join(all_solvers)}, plans=K@D, or module:function, got {shown(solver)}"
            )
    names = dict.fromkeys(name for suite in suites for name in instances(suite))
    every = product(names, dict.fromkeys(seeds), dict.fromkeys(solvers))
    return [BenchTask(name, solver, seed, time_limit_s, memory_limit_bytes, is_warm) for name, seed, solver in every]


def still_to_do(wanted: Iterable[BenchTask], done: Iterable[Result]) -> list[BenchTask]:
    """Leave out the jobs that have a row already; what was skipped is tried again."""
    keys = {result.key for result in done if result.outcome != "skipped"}
    return [job for job in wanted if job.key not in keys]


def run(wanted: Iterable[BenchTask], executor: Executor, cancelled: threading.Event) -> Generator[Result, None, None]:
    """Measure the jobs on an executor's threads, which each watch a process, and yield their results as they come.

    Where the caller stops early, what has not started never does, and what has is killed.
    """
    futures: list[Future[Result]] = [executor.submit(measure, job, cancelled) for job in wanted]
    try:
        for future in as_completed(futures):
            yield future.result()
    finally:
        for future in futures:
            future.cancel()
        cancelled.set()
