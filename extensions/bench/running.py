"""The jobs of a benchmark: listing all jobs, finding those without a result, and running jobs in parallel."""

from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from itertools import islice, product
from typing import TypeVar

from memplan.extensions.bench import peers
from memplan.extensions.bench.orders import ORDERERS
from memplan.extensions.bench.peers import PEERS
from memplan.extensions.bench.results import Result
from memplan.extensions.bench.suites import instances
from memplan.extensions.bench.worker import ALONE, BenchTask
from memplan.planner.errors import OptionError, excerpt
from memplan.planner.errors.did_you_mean import did_you_mean
from memplan.planner.systems import reference_planners
from memplan.solvers.portfolio import registry
from memplan.solvers.portfolio.options import DEFAULT_TIME_LIMIT_S, MAX_TIME_LIMIT_S

T = TypeVar("T")
R = TypeVar("R")


def require_time_limit(time_limit_s: float, name: str = "time_limit_s") -> None:
    """Raise OptionError unless `time_limit_s` is within the allowed range; the message calls the limit `name`."""
    if not 0 < time_limit_s <= MAX_TIME_LIMIT_S:
        rule = f"must be above 0 and at most {MAX_TIME_LIMIT_S:.0f} seconds, got {excerpt(time_limit_s)}"
        raise OptionError(f"{name}: {rule}", way=f"the default is {DEFAULT_TIME_LIMIT_S:g}")


def jobs(
    suites: Sequence[str],
    solvers: Sequence[str],
    seeds: Sequence[int],
    time_limit_s: float,
    memory_limit_bytes: int,
    is_warm: bool = True,
) -> list[BenchTask]:
    """Return one job for each problem file, seed and solver. Raises OptionError for an unknown suite or solver.

    All solvers run on a problem before the next problem starts, so a temporary slowdown of the machine affects all.
    """
    require_time_limit(time_limit_s)
    all_solvers = ("auto", *registry.BY_NAME, *reference_planners(), *PEERS, *ORDERERS)
    all_solvers += tuple(f"{ALONE}{name}" for name in registry.BY_NAME)
    for solver in solvers:
        if solver not in all_solvers and peers.find(solver) is None:
            others = f"one of {', '.join((*PEERS, *ORDERERS))}, {ALONE}SOLVER, or module:function"
            several = solver.split()
            is_list = len(several) > 1 and {*several} <= {*all_solvers}
            near = did_you_mean(solver, (",".join(several),) if is_list else all_solvers)
            raise OptionError(
                f"solvers: must be one that `memplan solvers` lists, {others}, got {excerpt(solver)}{near}"
            )
    names = dict.fromkeys(name for suite in suites for name in instances(suite))
    every = product(names, dict.fromkeys(seeds), dict.fromkeys(solvers))
    return [BenchTask(name, solver, seed, time_limit_s, memory_limit_bytes, is_warm) for name, seed, solver in every]


def remaining_tasks(wanted: Iterable[BenchTask], done: Iterable[Result]) -> list[BenchTask]:
    """Return the jobs without a result row in `done`; a row with the outcome `skipped` is ignored."""
    keys = {result.key for result in done if result.outcome != "skipped"}
    return [job for job in wanted if job.key not in keys]


def run(
    wanted: Iterable[T], begin: Callable[[T], Future[R]], at_once: Callable[[], int]
) -> Generator[tuple[T, Future[R]], None, None]:
    """Run all jobs, at most `at_once()` at the same time, and yield each job with its future as soon as it ends.

    If the caller stops early, jobs that have not started are cancelled.
    """
    waiting, begun = iter(wanted), dict[Future[R], T]()
    try:
        while True:
            begun |= {begin(each): each for each in islice(waiting, max(0, at_once() - len(begun)))}
            if not begun:
                return
            for future in wait(begun, return_when=FIRST_COMPLETED).done:
                yield begun.pop(future), future
    finally:
        for future in begun:
            future.cancel()
