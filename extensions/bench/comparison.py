"""The comparison of two files of benchmark results, which finds regressions.

Medians over the seeds are compared for the runs that are in both files. Machines differ and also do other work, so
times are compared by geometric means over the instances, relative to the times of other planners in both files.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from memplan.extensions.bench.peers import PEERS
from memplan.extensions.bench.results import Result, latest_rows
from memplan.extensions.bench.summary import Cell, geometric_mean
from memplan.planner.errors import OptionError

PEAK_TOLERANCE = 0.001
"""The relative increase of a median peak that is not reported, because results of time-limited searches vary."""
TIME_TOLERANCE = 0.15
"""The relative slowdown of a solver (geometric mean over its instances) that is not reported."""
SHORTEST_S = 0.002
"""Shorter CPU times, in seconds, are raised to this value, because their differences are noise."""


@dataclass(frozen=True)
class Comparison:
    """The changes between two result files, as sentences; `compared` counts runs that are in both files."""

    compared: int
    regressions: tuple[str, ...]
    improvements: tuple[str, ...]
    notes: tuple[str, ...]


def compare(old: Iterable[Result], new: Iterable[Result]) -> Comparison:
    """Return the comparison of two lists of results. Raises OptionError if they have no run in common."""
    before, after = _cells_by_key(old), _cells_by_key(new)
    common = [key for key in before if key in after]
    if not common:
        rows = f"got {len(before)} and {len(after)} kinds of runs, none of them in both"
        way = "memplan bench SUITE -o ROWS writes such files"
        raise OptionError(
            f"compare: the two files must have instances, solvers and time limits in common, {rows}: {way}"
        )
    drift = geometric_mean(_time_factor(before[key], after[key]) for key in common if key[1] in PEERS)
    ours = [key for key in common if key[1] not in PEERS]
    changes = [_change_in_plans(key, before[key], after[key]) for key in ours]
    for solver in dict.fromkeys(solver for _, solver, _ in ours):
        pairs = [(before[key], after[key]) for key in ours if key[1] == solver]
        changes.append(_change_in_time(solver, pairs, drift))
    regressions = tuple(change[0] for change in changes if change is not None and change[1])
    improvements = tuple(change[0] for change in changes if change is not None and not change[1])
    notes = [f"only in the old file: {_run_name(key)}" for key in before if key not in after]
    notes += [f"only in the new file: {_run_name(key)}" for key in after if key not in before]
    if drift is not None:
        notes.append(f"the peers take {drift:.2f} times the CPU time of the old file; times are relative to that")
    return Comparison(len(common), regressions, improvements, tuple(notes))


Change = tuple[str, bool] | None
"""A sentence about a change, with True for a regression; None for no change."""


def _change_in_plans(key: tuple[str, str, float], before: Cell, after: Cell) -> Change:
    """Return a solver's first change on an instance (in share of plans, share of proofs, or peak), or None."""
    shares = [
        ("plans", len(before.plans) / len(before.runs), len(after.plans) / len(after.runs)),
        ("proofs", _proved_share(before), _proved_share(after)),
    ]
    for what, old, new in shares:
        if new != old:
            return f"{_run_name(key)}: {what} {old:.0%} -> {new:.0%}", new < old
    if before.peak is None or after.peak is None:
        return None
    factor = after.peak / before.peak if before.peak else 1.0
    if abs(factor - 1) <= PEAK_TOLERANCE:
        return None
    return f"{_run_name(key)}: peak {before.peak} -> {after.peak} ({factor - 1:+.2%})", factor > 1


def _change_in_time(solver: str, pairs: list[tuple[Cell, Cell]], drift: float | None) -> Change:
    """Return a solver's change in CPU time, relative to `drift` (the peers' factor); None within the tolerance."""
    factor = geometric_mean(_time_factor(*pair) for pair in pairs)
    if factor is None:
        return None
    factor /= drift or 1.0
    if 1 / (1 + TIME_TOLERANCE) <= factor <= 1 + TIME_TOLERANCE:
        return None
    return f"{solver}: {factor:.2f} times the CPU time, geometric mean of {len(pairs)} instances", factor > 1


def _time_factor(before: Cell, after: Cell) -> float | None:
    """Return the median CPU time after the change divided by that before; None if a time is unknown."""
    if before.cpu_time_s is None or after.cpu_time_s is None:
        return None
    return max(after.cpu_time_s, SHORTEST_S) / max(before.cpu_time_s, SHORTEST_S)


def _proved_share(cell: Cell) -> float:
    return sum(run.status in ("optimal", "infeasible") for run in cell.runs if run.is_valid) / len(cell.runs)


def _cells_by_key(results: Iterable[Result]) -> dict[tuple[str, str, float], Cell]:
    grouped: dict[tuple[str, str, float], list[Result]] = defaultdict(list)
    for row in latest_rows(results):
        if row.outcome != "skipped":
            grouped[row.instance, row.solver, row.time_limit_s].append(row)
    return {key: Cell(key[0], key[1], None, tuple(runs)) for key, runs in grouped.items()}


def _run_name(key: tuple[str, str, float]) -> str:
    instance, solver, limit = key
    return f"{solver} on {instance} ({limit:g} s)"
