"""Advice on recorded steps and snapshots of torch: `python -m lab.torch_memory FILE... [--seconds 600]`.

A CSV file of buffers is a step that runs twice. Its row has the bytes that torch's allocator reserves by default, with
expandable segments and with the least priming block, as multiples of the live peak; `=` marks numbers that the second
simulator of the tests confirms. A snapshot's row compares
simulated segments and blocks with the recorded ones, and has the notes on what the snapshot does not show.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from memplan.extensions.torch.files.snapshot import recorded_steps
from memplan.extensions.torch.files.storages import StepMemory, Storage
from memplan.extensions.torch.inside.advice import advice_of
from memplan.extensions.torch.inside.demand import simulate
from memplan.extensions.torch.inside.device import FitsOptions
from memplan.extensions.torch.tests.plain_allocator import PlainAllocator
from memplan.files import read_problem
from memplan.planner.errors import MemplanError
from memplan.planner.model.problem import Problem
from memplan.questions.reading import validate_options


def events_of(problem: Problem) -> list[int]:
    """Return a step's events in order: n allocates buffer n, ~n releases it; at equal times, releases come first."""
    rows = [(problem.buffers.start[n], 1, n) for n in range(len(problem.buffers))]
    rows += [(problem.buffers.end[n], 0, ~n) for n in range(len(problem.buffers))]
    return [int(event) for _, _, event in sorted(rows)]


def repeated_step(problem: Problem, times: int = 2) -> StepMemory:
    """Return the step that a problem describes, repeated `times` times, as torch's memory would record it."""
    step, events, sizes = StepMemory(), events_of(problem), problem.buffers.size.tolist()
    for k in range(times):
        step.tensors += [Storage(size, 0, "forward") for size in sizes]
        step.events += [event + k * len(sizes) if event >= 0 else event - k * len(sizes) for event in events]
    return step


def second_count(step: StepMemory, primed: int = 0) -> int:
    """Return the bytes that a step reserves after a priming block of `primed` bytes, by the tests' second simulator."""
    allocator = PlainAllocator()
    if primed:
        allocator.place(-1, primed)
        allocator.free_block(-1)
    for event in step.events:
        if event < 0:
            allocator.free_block(~event)
        else:
            allocator.place(event, step.tensors[event].size)
    return allocator.most


def step_row(path: str, seconds: float) -> str:
    """Return the row of a recorded step, which the file at `path` describes as a problem."""
    began = time.process_time()
    problem = read_problem(path)
    step = repeated_step(problem)
    device = validate_options(FitsOptions, {"cublas_workspace": 0, "time_limit_s": seconds / 2})
    advice = advice_of(step, device)
    spent = time.process_time() - began
    rows = {row.change: row for row in advice.rows}
    cells = [f"{advice.reserved / advice.blocks:.3f}{'=' if second_count(step) == advice.reserved else '!'}"]
    cells.append(f"{rows['expandable segments'].reserved / advice.blocks:.3f}")
    if (primed := rows.get("priming block")) is None:
        cells.append("none helps")
    else:
        size = int(primed.line.partition("(")[2].partition(",")[0])
        mark = "=" if second_count(step, size) == primed.reserved else "!"
        least = "least" if primed.is_least else "so far"
        cells.append(f"{primed.reserved / advice.blocks:.3f}{mark} by {size:,}, {least} of {primed.tried}")
    cells.append(f"{spent:.0f} s")
    return f"| {Path(path).stem} ({len(problem.buffers):,}) | {advice.blocks:,} | {' | '.join(cells)} |"


def snapshot_row(path: str) -> str:
    """Return the row of a snapshot: its segments and misplaced blocks, or the reason why it cannot be simulated."""
    try:
        steps = recorded_steps(Path(path).read_bytes())
    except MemplanError as error:
        return f"| {Path(path).name} | {error} |"
    texts = []
    for step in steps.values():
        found = simulate(step, FitsOptions(), None)
        is_equal = found.allocator.segments == {row.address: row.size for row in step.last_segments}
        words = f"{len(step.events):,} events, {step.most_reserved:,} reserved, {found.allocator.peak:,} simulated"
        texts.append(
            f"{'equal' if is_equal else 'not equal'}, {found.misplaced} misplaced; {'; '.join((words, *step.notes))}"
        )
    return f"| {Path(path).name} | {' / '.join(texts)} |"


def main() -> int:
    """Print a row for each file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--seconds", type=float, default=600.0, help="Seconds for the priming block of a step.")
    given = parser.parse_args()
    for path in given.files:
        is_step = path.endswith((".csv", ".json"))
        print(step_row(path, given.seconds) if is_step else snapshot_row(path), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
