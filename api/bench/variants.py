"""The same problem, written differently: a solver that was tuned to files is found out by these."""

from __future__ import annotations

from typing import Any

import numpy as np

from memplan.planner.errors import ProblemError
from memplan.planner.model.problem import Problem


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


def window(problem: Problem, n: int, seed: int) -> Problem:
    """Return the problem with `n` of its buffers (all, if it has no more) that start one after the other.

    Conflicts among them stay. Raises ProblemError where one of them is an alias of, or tied to, what is left out.
    """
    table = problem.buffers
    first = np.full(len(table), np.iinfo(np.int64).max)
    np.minimum.at(first, np.repeat(np.arange(len(table)), np.diff(table.first)), table.start)
    n = min(n, len(table))
    low = int(np.random.default_rng(seed).integers(0, len(table) - n + 1))
    chosen = np.sort(np.argsort(first, kind="stable")[low : low + n]).tolist()
    ids = {table.ids[i] for i in chosen}
    conflicts = [pair for pair in problem.conflicts if ids.issuperset(pair)]
    try:
        return with_changes(problem, buffers=[table.fields(i) for i in chosen], conflicts=conflicts)
    except ProblemError as error:
        raise ProblemError(*(f"window{n}@{seed}: {sentence}" for sentence in error.sentences)) from error


def _backwards(start: int, end: int) -> tuple[int, int]:
    # From -1 and not from 0, so that every 64-bit time has its mirror image.
    return -1 - end, -1 - start


def with_changes(problem: Problem, **changes: Any) -> Problem:
    """Return the problem with some fields replaced, validated anew."""
    fields = {name: getattr(problem, name) for name in problem.model_fields_set}
    return Problem.model_validate({**fields, **changes})
