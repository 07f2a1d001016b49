"""Compare the liveness analysis with brute force on random programs: `python -m lab.liveness_agreement 10000 [SEED]`.

`test_liveness_analysis.py` runs a few hundred of these programs.
"""

import random
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

from lab.support import liveness_oracle as oracle
from lab.support.cases import run_cases
from lab.support.interpreter import Interpreter, TooManyWaysError
from memplan.planner.errors import OperationsError
from memplan.planner.model.plan import Plan
from memplan.programs.lifetimes import Reading, analyse
from memplan.programs.lifetimes.shadow import shadow
from memplan.programs.operations.operations import Operations, operations_from
from tests.support.random_programs import random_program

READINGS = [
    Reading(liveness=liveness, temporaries=temporaries)
    for liveness in ("usage", "scope")
    for temporaries in ("nested", "lifted")
]


def live_steps(operations: Operations, reading: Reading) -> dict[str, set[int]] | None:
    """Map each buffer to the live steps that the analysis finds; None if the analysis refuses an out-of-scope use."""
    try:
        problem = analyse(operations, reading).problem
    except OperationsError:
        return None
    return {
        str(row.id): {t for start, end in row.intervals for t in range(start, end)}
        for row in problem.buffers
        if row.alias_of is None
    }


def alive_by_force(program: Interpreter, ways: list[Any], reading: Reading) -> dict[str, set[int]] | None:
    """Map each buffer to the steps in which brute force finds it alive; None if a buffer is used out of scope."""
    found = {}
    by_scope = reading.liveness == "scope"
    for root in program.sizes:
        if root in program.inside:
            continue
        try:
            scope = oracle.alive_by_scope(program, ways, root)
        except oracle.ScopeError:
            return None
        if not oracle.is_used(program, ways, root):
            continue
        if reading.temporaries == "lifted":
            found[root] = oracle.alive_if_lifted(program, ways, root, by_scope=by_scope)
        else:
            found[root] = scope if by_scope else oracle.alive_by_usage(program, ways, root)
    return found


def disagreements(seed: int, tally: Counter[str]) -> Iterator[str]:
    """Yield a line for each difference between analysis and brute force in a random program's lifetimes and plans."""
    raw = random_program(seed)
    operations = operations_from(raw)
    try:
        program, thrice = Interpreter(raw), Interpreter(raw, rounds=3)
        ways, more_ways = program.ways(), thrice.ways()
    except TooManyWaysError:
        tally["skipped"] += 1
        return
    tally["programs"] += 1
    tally["ways"] += len(ways)
    for reading in READINGS:
        found, expected = live_steps(operations, reading), alive_by_force(program, ways, reading)
        tally["outside of scopes"] += expected is None
        if found != expected:
            yield f"{reading.liveness} {reading.temporaries}: {found}, brute force {expected}"
    if expected is None:
        return
    chance = random.Random(seed)
    roots = [name for name in program.sizes if name not in program.inside]
    for places in (pack_buffers(operations, chance), {name: chance.randint(0, 6) for name in roots}):
        rows = [{"id": name, "pool": "default", "offset": offset} for name, offset in places.items()]
        said = {(row.buffer, row.path) for row in shadow(operations, Plan.model_validate({"placements": rows}))}
        forced = oracle.clobbered_buffers(thrice, more_ways, places)
        tally["clobbered plans"] += bool(forced)
        if said != forced:
            yield f"at {places}: {said}, brute force {forced}"


def pack_buffers(operations: Operations, chance: random.Random) -> dict[str, int]:
    """Return an offset for each buffer. Buffers are placed in random order, each as low as the earlier ones allow."""
    rows = [row for row in analyse(operations).problem.buffers if row.alias_of is None]
    chance.shuffle(rows)
    places: dict[str, int] = {}
    for row in rows:
        rivals = [
            (places[str(other.id)], places[str(other.id)] + other.size)
            for other in rows
            if str(other.id) in places and any(a < d and c < b for a, b in row.intervals for c, d in other.intervals)
        ]
        offset = 0
        while any(low < offset + row.size and offset < high for low, high in rivals):
            offset += 1
        places[str(row.id)] = offset
    return places


if __name__ == "__main__":
    sys.exit(run_cases("liveness_agreement", disagreements))
