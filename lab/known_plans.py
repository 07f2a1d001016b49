"""Judge plans of the C header and of Python by known plans: `python -m lab.known_plans 20000 [SEED] [--workers N]`.

Problems are drawn around a plan, so none is infeasible, and no bound exceeds what this plan uses, costs or moves. C
runs under the address and undefined-behaviour sanitizers. The oracle of the tests judges all plans, and the functions
below what is said of them. Every `--every`th problem goes to Python too. `tests/solvers/core/test_c_api.py` runs some
cases.
"""

import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from math import isfinite
from pathlib import Path
from types import SimpleNamespace

from lab.support.cases import run_cases
from lab.support.known_plans import KnownPlan, draw
from memplan import Plan, plan
from memplan.api.cli.solvers.core import SOURCES
from memplan.planner.model.rows import Placement
from memplan.solvers.core.build import HERE
from tests.support import oracle
from tests.support.compile_once import ONCE
from tests.support.header_calls import FREE, STATUSES, UNLIMITED

DRIVER = Path(__file__).parent / "support" / "known_plans.cpp"
FLAGS = ("-std=c++20", "-O1", "-g1", "-DMEMPLAN_CHECKED", "-fno-sanitize-recover", f"-I{HERE}")
SANITIZERS = "-fsanitize=address,undefined,float-cast-overflow"
NUMBERS = ["status", "peak", "bound", "cost", "cost_bound", "moved", "moved_bound", "missed", "least", "rule"]
"""The numbers of a `memplan_result` that the driver prints."""


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory()


@cache
def driver() -> Path:
    """Return the driver of the header, compiled with the sanitizers."""
    folder = Path(_folder().name)
    objects = []
    for source in (*(HERE / name for name in SOURCES), DRIVER):
        objects.append(folder / f"{source.stem}.o")
        subprocess.run([*ONCE, "g++", *FLAGS, SANITIZERS, "-c", source, "-o", objects[-1]], check=True)
    subprocess.run(["g++", SANITIZERS, *objects, "-o", folder / DRIVER.stem], check=True)
    return folder / DRIVER.stem


def faults(seed: int, tally: Counter[str], every: int = 1) -> Iterator[str]:
    """Yield the faults in the answers of C, and of Python, to the problem of a seed."""
    known = draw(seed)
    assert not broken_rules(known, known.plan), seed
    yield from faults_of_header(known, tally)
    if seed % every == 0:
        yield from faults_of_python(known, tally)


def broken_rules(known: KnownPlan, placed: Sequence[Placement]) -> list[str]:
    """Return the rules that a plan breaks, with those of C alone."""
    low = [row.id for row in placed if isinstance(row.id, int) and row.offset < known.lowest.get(row.id, 0)]
    return oracle.check(known.problem, placed) + [f"lowest {i}" for i in low]


def measures(known: KnownPlan, placed: Sequence[Placement]) -> SimpleNamespace:
    """Return the peak, the cost, the weight that is moved, and the number of missed hints of a plan."""
    rows, pools = known.problem.index, {pool.name: pool for pool in known.problem.pools}
    ends, cost = dict.fromkeys(pools, 0), 0
    for row in placed:
        buffer = known.problem.buffers[rows[row.id]]
        ends[row.pool] = max(ends[row.pool], row.offset + buffer.size)
        cost += int(pools[row.pool].cost) * (buffer.traffic or 0)
    at = {row.id: (row.pool, row.offset) for row in placed}
    gone = [weight for i, q, offset, weight in known.places if at[i] != (str(q), offset)]
    return SimpleNamespace(peak=sum(ends.values()), cost=cost, moved=sum(gone), missed=gone.count(0))


def faults_of_header(known: KnownPlan, tally: Counter[str]) -> Iterator[str]:
    """Yield the faults in the answer of `memplan_choose` or `memplan_plan`."""
    name = "memplan_choose" if known.problem.objective == "cost" else "memplan_plan"
    done = subprocess.run([driver()], input=call_text(known), capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip("= ")]
        yield f"{name}: {(lines or [f'status {done.returncode}'])[0]}"
        return
    words, n = list(map(int, done.stdout.split())), len(known.problem.buffers)
    said = SimpleNamespace(**dict(zip(NUMBERS, words, strict=False)))
    tally[f"{name}, {STATUSES[said.status]}"] += 1
    if said.status > 1:
        if STATUSES[said.status] != "unknown" or has_room(known):
            yield f"{name}: {STATUSES[said.status]}, rule {said.rule}, and a plan is known"
        return
    columns = zip(known.problem.buffers, words[-2 * n : -n], words[-n:], strict=True)
    placed = [Placement.model_construct(id=row.id, pool=str(q), offset=at) for row, q, at in columns]
    wrong = broken_rules(known, placed)[:1] or false_words(known, said, measures(known, placed))
    yield from (f"{name}, {STATUSES[said.status]}: {line}" for line in wrong)


def false_words(known: KnownPlan, said: SimpleNamespace, own: SimpleNamespace) -> Iterator[str]:
    """Yield what a result of C says falsely of its valid plan, or of all plans, one of which is known."""
    best, is_choice = measures(known, known.plan), known.problem.objective == "cost"
    yield from (
        f"{name} {getattr(said, name)}, and the plan has {getattr(own, name)}"
        for name in ("peak", "moved", "missed", *(("cost",) if is_choice else ()))
        if getattr(said, name) != getattr(own, name)
    )
    goal, bound = ("cost", said.cost_bound) if is_choice else ("peak", said.bound)
    value, least = getattr(best, goal), said.least if known.places else getattr(said, goal)
    if said.bound > min(best.peak, said.peak) or bound > min(value, least):
        yield f"bounds {said.bound} and {bound}, least {least}, and a known plan: {best}"
    if said.status == 0 and least > value:
        yield f"{goal} {least}, and a known plan has {value}"
    most = least + int(least * known.accept) if isfinite(known.accept) else UNLIMITED
    if known.places and (is_choice or len(known.problem.pools) == 1):
        if getattr(own, goal) > most:
            yield f"{goal} {getattr(own, goal)} is above {most}, which is accepted"
        if said.moved_bound > (min(own.moved, best.moved) if value <= most else own.moved):
            yield f"moves at least {said.moved_bound}, and a known plan {best.moved}"


def has_room(known: KnownPlan) -> bool:
    """Return True if each buffer may lie in a pool without a size, as high as necessary."""
    open_to = {pool.name for pool in known.problem.pools if pool.size is None}
    return all(row.end_at_most is None and open_to & {*(row.pools or ())} for row in known.problem.buffers)


def call_text(known: KnownPlan) -> str:
    """Return the line for the driver: the options, then all tables, each after the number of its rows."""
    rows, at = known.problem.buffers, known.problem.index
    pins = [FREE if row.offset is None else row.offset for row in rows]
    bounds = [(known.lowest.get(int(row.id), 0), row.end_at_most or 0, row.no_cross or 0) for row in rows]
    lives = [(row.intervals[0][0], row.intervals[-1][1]) for row in rows]
    reserved: list[list[tuple[int, ...]]] = [
        [(low, low + size) for low, size in pool.reserved] for pool in known.problem.pools
    ]
    tables: list[list[tuple[int, ...]]] = [
        [(r.size, *life, r.alignment, pin, *b) for r, life, pin, b in zip(rows, lives, pins, bounds, strict=True)],
        [(k, a, b) for k, row in enumerate(rows) for (_, a), (b, _) in pairwise(row.intervals)],
        [(k, at[row.relative.to], row.relative.offset) for k, row in enumerate(rows) if row.relative is not None],
        [(at[a], at[b]) for a, b in known.problem.conflicts],
        [(at[a], at[b]) for a, b in known.problem.may_share],
        sorted((at[i], q, offset, weight) for i, q, offset, weight in known.places),
        [
            (k, int(q), (row.traffic or 0) * int(known.problem.pools[int(q)].cost))
            for k, row in enumerate(rows)
            for q in row.pools or ()
        ],
        [(int(known.plan[int(row.id)].pool),) for row in rows],
        *reserved,
    ]
    sizes = [(UNLIMITED if pool.size is None else pool.size, pool.base_address) for pool in known.problem.pools]
    is_choice = int(known.problem.objective == "cost")
    words = [
        is_choice,
        known.work,
        known.seconds,
        known.accept,
        known.asked,
        len(sizes),
        *(w for s in sizes for w in s),
    ]
    return " ".join(
        map(str, [*words, *(w for table in tables for w in (len(table), *(x for row in table for x in row)))])
    )


def faults_of_python(known: KnownPlan, tally: Counter[str]) -> Iterator[str]:
    """Yield the faults in Python's plan, which keeps the old places if there are any."""
    old = [{"id": i, "pool": str(q), "offset": at} for i, q, at, weight in known.places if weight]
    keep = Plan.model_validate({"status": "feasible", "placements": old}) if old else None
    accept = f"{100 * min(known.accept, 9):g}%" if old else None
    try:
        said = plan(known.problem, None, keep, time_limit_s=0.05 + known.seconds, accept=accept)
    except Exception as error:  # noqa: BLE001 - any error is a fault, as there is a plan
        yield f"Python: {type(error).__name__}: {error}"
        return
    assert isinstance(said, Plan)
    tally[f"Python, {said.status}"] += 1
    if not len(said.placements):
        yield from [f"Python: {said.status}, and a plan is known"] * (said.status != "unknown")
        return
    best, own = measures(known, known.plan), measures(known, tuple(said.placements))
    yield from (f"Python, {said.status}: {line}" for line in oracle.check(known.problem, said.placements)[:1])
    goal = "peak" if said.cost is None else "cost"
    if said.peak != own.peak or said.cost not in (None, own.cost):
        yield f"Python: peak {said.peak}, cost {said.cost}, and the plan has {own}"
    if said.lower_bound > best.peak or (said.cost_lower_bound or 0) > best.cost:
        yield f"Python: bounds {said.lower_bound} and {said.cost_lower_bound}, and a known plan: {best}"
    is_best = said.status == "optimal" and keep is None and (goal == "cost" or len(known.problem.pools) == 1)
    if is_best and getattr(own, goal) > getattr(best, goal):
        yield f"Python: optimal, {own}, and a known plan: {best}"


if __name__ == "__main__":
    sys.exit(run_cases("known_plans", faults, every=1))
