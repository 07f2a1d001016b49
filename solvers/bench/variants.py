"""The same problem, told differently: a solver that was tuned to files is found out by these."""

from __future__ import annotations

from typing import Any

import numpy as np

from planner.problem import Problem


def shuffled(problem: Problem, seed: int) -> Problem:
    """Return the problem with its buffers in another order."""
    order = np.random.default_rng(seed).permutation(len(problem.buffers)).tolist()
    return with_changes(problem, buffers=[problem.buffers.fields(i) for i in order])


def mirrored(problem: Problem) -> Problem:
    """Return the problem with time backwards."""
    rows = [problem.buffers.fields(i) for i in range(len(problem.buffers))]
    for row in rows:
        if "start" in row:
            row["start"], row["end"] = _backwards(row["start"], row["end"])
        if "lifetimes" in row:
            row["lifetimes"] = tuple(_backwards(start, end) for start, end in reversed(row["lifetimes"]))
    return with_changes(problem, buffers=rows)


def _backwards(start: int, end: int) -> tuple[int, int]:
    # From -1 and not from 0, so that every 64-bit time has its mirror image.
    return -1 - end, -1 - start


def with_changes(problem: Problem, **changes: Any) -> Problem:
    """Return the problem with some fields replaced, validated anew."""
    fields = {name: getattr(problem, name) for name in problem.model_fields_set}
    return Problem.model_validate({**fields, **changes})
