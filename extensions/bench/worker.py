"""The child process of one benchmark run: it reads a job, prepares, waits for the start signal, solves and reports.

It sends `ready` and `done` with the CPU time so far, `moment` for each improvement, and finally the fields of a Result.
Work outside of the solver (imports, reading files, loading kernels) is done before `ready`, so it is not measured. The
plan is checked after `done`.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from memplan.extensions.bench import orders, peers
from memplan.extensions.bench.results import Key
from memplan.extensions.bench.suites import pose
from memplan.planner import __version__
from memplan.planner.bounds.lower_bound import lower_bound
from memplan.planner.errors import FormatError, InvalidPlanError, MemplanError, OptionError, SolverFailedError
from memplan.planner.instance.compile import compile_problem
from memplan.planner.model.buffer_table import BufferTable, column
from memplan.planner.model.moving import as_pieces
from memplan.planner.model.placement_table import PlacementTable
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify
from memplan.programs.files import read_graph
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.processes.parent import Parent
from memplan.solvers.reference.own import rows_of
from memplan.solvers.search.control import Control
from memplan.solvers.search.result import Progress

ALONE = "alone="
"""The start of a solver's name for runs in which it gets no plan of the greedy orders to begin with."""
OnProgress = Callable[[Progress], None]
Planner = Callable[[Problem, OnProgress | None], Plan]


@dataclass(frozen=True)
class BenchTask:
    """One benchmark run: a solver, a problem file, and the limits; the memory limit is in bytes per process."""

    instance: str
    solver: str
    seed: int
    time_limit_s: float
    memory_limit_bytes: int
    is_warm: bool = True

    @property
    def key(self) -> Key:
        """The key of the run's result row: instance, solver, seed and time limit."""
        return (self.instance, self.solver, self.seed, self.time_limit_s)


def main() -> None:
    """Run the child process: read a job from the parent process, run it, and send messages about the run."""
    parent = Parent()
    say = parent.send
    sys.path.append(str(Path.cwd()))  # Planners may be modules of the current folder, so add the folder to the path.
    try:
        _run_task(parent.task, parent)
    except SolverFailedError as error:
        say({"outcome": "failed", "message": str(error)})
    except OptionError as error:
        say({"outcome": "skipped", "message": str(error)})
    except InvalidPlanError as error:
        say({"outcome": "invalid", "message": str(error)})
    except MemplanError as error:
        say({"outcome": "failed", "message": str(error)})
    except TimeoutError:
        say({"outcome": "none", "message": "no plan in time"})
    except MemoryError:
        say({"outcome": "memory", "message": "the memory limit was reached"})


def _run_task(job: BenchTask, parent: Parent) -> None:
    """Run a job on its problem, and send the progress, the measurements and the judged plan to the parent process."""
    if job.solver in orders.ORDERERS:
        _run_order(job, parent)
        return
    generated = pose(job.instance)
    problem = generated.problem
    planner, version = find_planner(job.solver, job.time_limit_s, job.seed)
    if job.is_warm:
        _warm_up(job.solver)

    def say_moment(now: Progress) -> None:
        parent.send({"moment": [now.elapsed_s, now.peak, now.lower_bound]})

    with _measure_resources(job, parent):
        plan = planner(problem, say_moment)
    facts = judge_plan(problem, plan)
    # A named solver that failed may still return the greedy plan, so report the failure instead of that plan.
    if job.solver != "auto" and plan.stop_reason == "engine-failure":
        facts |= {"outcome": "failed", "message": f"solver: {job.solver} failed after its first plan", "peak": None}
    parent.send({"known_peak": generated.known_peak, "version": version, **facts})


def _run_order(job: BenchTask, parent: Parent) -> None:
    graph = read_graph(job.instance)
    orders.load()
    with _measure_resources(job, parent):
        facts = orders.ORDERERS[job.solver](graph, job.time_limit_s)
    parent.send({"version": f"memplan {__version__}", **facts})


@contextmanager
def _measure_resources(job: BenchTask, parent: Parent) -> Iterator[None]:
    """Run the `with` block under the job's memory limit; send the process's CPU time and peak memory to the parent."""
    # Windows lacks the module `resource`, so import it here, where resources are measured, and not with this file.
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = job.memory_limit_bytes
    resource.setrlimit(resource.RLIMIT_DATA, (most if hard < 0 else min(most, hard), hard))
    try:
        parent.send({"ready": cpu_time_s()})
        parent.wait_for_start()
        yield
        parent.send({"done": cpu_time_s(), "peak_rss_bytes": peak_rss_bytes()})
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def find_planner(solver: str, time_limit_s: float, seed: int) -> tuple[Planner, str]:
    """Return the function and version text of a solver or other planner. Raises OptionError if none is installed."""
    peer = peers.find(solver)
    if peer is None:
        name, is_alone = solver.removeprefix(ALONE), solver.startswith(ALONE)
        return lambda problem, on_progress: solve(
            problem,
            time_limit_s=time_limit_s,
            solver=name,
            seed=seed,
            control=Control(report=on_progress, is_alone=is_alone),
        ), f"memplan {__version__}"
    if not peer.is_installed:
        raise OptionError(f"solver: {solver} needs {peer.distribution or peer.package}, which is not installed")
    offsets = peer.load()
    return lambda problem, on_progress: _plan_of_answer(problem, offsets(problem, time_limit_s)), peer.version


def _plan_of_answer(problem: Problem, answer: object) -> Plan:
    """Return a planner's answer, which may be a Plan, an array of offsets or another supported form, as a Plan."""
    names = tuple(pool.name for pool in problem.pools)
    if isinstance(answer, np.ndarray) and answer.dtype == np.int64 and answer.shape == (len(problem.buffers),):
        return Plan(placements=PlacementTable(problem.buffers.ids, names, column(np.zeros(len(answer))), answer))
    try:
        rows = rows_of(problem, answer)
    except OptionError as error:
        raise FormatError(f"the planner {error}") from None
    ids = tuple(problem.buffers.ids[i] for i, _, _ in rows)
    pools, offsets = column([pool for _, pool, _ in rows]), column([offset for _, _, offset in rows])
    return Plan(placements=PlacementTable(ids, names, pools, offsets))


def _warm_up(solver: str) -> None:
    """Solve a small problem before the measurement, so that libraries loaded on demand are loaded by then.

    memplan's solvers also solve a large problem, which loads more libraries. Other planners may be too slow for that.
    """
    planner, _ = find_planner(solver, time_limit_s=1.0, seed=0)
    for n in (12, 2500) if peers.find(solver) is None else (12,):
        rng, start = np.random.default_rng(0), np.arange(n) // 2
        size, end = rng.integers(1, 1000, n), start + rng.geometric(0.1, n)
        planner(Problem(buffers=BufferTable.from_columns(range(n), size, start, end)), None)


def cpu_time_s() -> float:
    """Return the CPU time of this process and of its ended children, in seconds."""
    import resource

    usages = (resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def peak_rss_bytes() -> int:
    """Return the peak memory use, in bytes, of this process or of its largest ended child, whichever is larger."""
    import resource

    mine = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    # RUSAGE_SELF also counts the parent's memory at the time of the fork, so read VmHWM (the peak since exec) instead.
    return 1024 * max(int(mine.split()[1]), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)


def judge_plan(problem: Problem, plan: Plan) -> dict[str, Any]:
    """Return the fields of a Result for a plan, after verifying it, recomputing its peak and checking its claims."""
    bound = 0
    if not problem.moves:
        instance = compile_problem(problem)
        bound = lower_bound(instance).total * instance.unit
    # The plan's lower bound holds for one pool, not for the sum of several pools, so use it only if there is one pool.
    if len(problem.pools) == 1:
        bound = max(bound, plan.lower_bound or 0)
    facts: dict[str, Any] = {
        "buffers": len(problem.buffers),
        "lower_bound": bound,
        "status": plan.status,
        "stop_reason": plan.stop_reason,
        "found_by": plan.solver,
        "proved_by": plan.proof and plan.proof.prover,
    }
    if plan.status in ("infeasible", "unknown"):
        return {"outcome": "none", "message": plan.explanation and plan.explanation.message, **facts}
    if violations := verify(problem, plan):
        return {"outcome": "invalid", "message": f"{len(violations)} violations: {violations[0].message}", **facts}
    peak = _total_peak(*as_pieces(problem, plan))
    if plan.peak not in (None, peak):
        return {
            "outcome": "invalid",
            "message": f"the plan states the peak {plan.peak}, but its peak is {peak}",
            **facts,
        }
    if peak < bound:
        return {
            "outcome": "invalid",
            "message": f"the plan states the lower bound {bound}, but its peak is {peak}",
            **facts,
        }
    # The verifier has recomputed the plan's cost, so report the cost without another check.
    if problem.objective == "cost" and plan.cost is not None:
        facts |= {"counts": "cost", "lower_bound": plan.cost_lower_bound or 0.0, "curve": ()}
        return {"outcome": "plan", "peak": plan.cost, **facts}
    return {"outcome": "plan", "peak": peak, **facts}


def _total_peak(problem: Problem, plan: Plan) -> int:
    ends = plan.placements.offset + problem.buffers.size
    return sum(int(ends[plan.placements.pool == q].max(initial=0)) for q in range(len(plan.placements.pool_names)))


if __name__ == "__main__":
    main()
