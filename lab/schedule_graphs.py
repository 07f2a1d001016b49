"""Random small graphs of tiles: the search against all schedules, and the closed form against the simulator.

    python -m lab.schedule_graphs [5000] [--first 0] [--processes 2]

A third of them have alternatives of operations and rolls. Each is scheduled by the search, and by trying all steps in
all orders and tilings through the simulator alone; the cost of all operations as one step is compared with that of it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from multiprocessing import get_context

from memplan.capabilities.schedule.model.graph import TileGraph
from memplan.capabilities.schedule.model.simulator import simulate
from memplan.capabilities.schedule.model.target import Target
from memplan.capabilities.schedule.search.bounds import LowerBounds
from memplan.capabilities.schedule.search.costs import StepCosts
from memplan.capabilities.schedule.search.downsets import PlannedStep
from memplan.capabilities.schedule.search.effort import ScheduleEffort
from memplan.capabilities.schedule.search.lowering import lowered
from memplan.capabilities.schedule.search.solve import ScheduleTask, solve_schedule
from tests.support.small_schedules import drawn_schedule, drawn_target, least_latency, with_alternatives

_CLOSE = 1e-6


def main() -> None:
    """Print what differs, and the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int, nargs="?", default=5000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    began, wrong, searched, closed = time.monotonic(), 0, 0, 0
    with get_context("spawn").Pool(given.processes) as pool:
        for k, (found, counts) in enumerate(pool.imap(checked, range(given.first, given.first + given.count), 10)):
            wrong, searched, closed = wrong + bool(found), searched + counts[0], closed + counts[1]
            for sentence in found:
                print(f"seed {given.first + k}: {sentence}", flush=True)
            if (k + 1) % 100 == 0 or k + 1 == given.count:
                done = f"{k + 1} graphs: {searched} against all schedules, {closed} steps against the simulator"
                print(f"{done}, {wrong} differ, {time.monotonic() - began:.0f} s", flush=True)
    raise SystemExit(1 if wrong else 0)


def checked(seed: int) -> tuple[list[str], tuple[int, int]]:
    """Return what differs for a seed, whether its graph has a schedule, and the steps that were compared."""
    has_more = seed % 3 == 0
    problem = drawn_schedule(seed, most=3 if has_more else 4, sides=(2, 4, 8))
    graph = with_alternatives(problem.graph, seed) if has_more else problem.graph
    target = drawn_target(problem, seed, rolls=has_more)
    found = list[str]()
    least = least_latency(graph, target)
    if least is not None:
        found += _searched(graph, target, least)
    larger = drawn_schedule(seed)
    rolling = drawn_target(larger, seed, rolls=has_more)
    steps = list(_compared(with_alternatives(larger.graph, seed) if has_more else larger.graph, rolling))
    return found + [sentence for sentence in steps if sentence], (least is not None, len(steps))


def _searched(graph: TileGraph, target: Target, least: float) -> list[str]:
    """Return how the search differs from the least time of all schedules that run each operation once."""
    effort = ScheduleEffort(0.5, None, lambda: False)
    found = solve_schedule(ScheduleTask(graph, target, "latency"), effort, is_counted=True)
    latency, wrong = found.simulation.latency, list[str]()
    if LowerBounds(graph, target).latency > least * (1 + _CLOSE):
        wrong.append(f"bound {LowerBounds(graph, target).latency}: must be at most {least}")
    if found.found.proof is None:
        wrong.append("proof: must be there")
    # A schedule that runs operations again may be better than all that do not.
    is_once = sum(len(step.operations) for step in found.schedule.steps) == len(graph.operations)
    if latency > least * (1 + _CLOSE) or (is_once and latency < least * (1 - _CLOSE)):
        wrong.append(f"latency: must be {least}, got {latency}")
    return wrong


def _compared(graph: TileGraph, target: Target) -> Sequence[str]:
    """Return for each way of all operations as one step how the closed form differs from the simulator."""
    costs, everything = StepCosts(graph, target), (1 << len(graph.operations)) - 1
    step = PlannedStep(everything, 0, sum(1 << tensor for tensor in graph.outputs), 0)
    found = []
    for cost in costs.ways(*step.masks):
        simulated = simulate(graph, target, lowered(costs, range(len(graph.operations)), [(step, cost)]))
        if not simulated.steps:
            continue
        is_same = (simulated.traffic, simulated.peak) == (cost.traffic, cost.peak)
        is_close = abs(simulated.latency - cost.latency) <= _CLOSE * cost.latency
        figures = f"closed form {cost.latency}, {cost.traffic}, {cost.peak}"
        other = f"simulated {simulated.latency}, {simulated.traffic}, {simulated.peak}"
        found.append("" if is_same and is_close else f"{figures}; {other}")
    return found


if __name__ == "__main__":
    main()
