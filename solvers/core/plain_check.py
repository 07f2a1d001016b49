"""Verification in one call of the core for small plain problems whose plan is at its bound, as most are.

It only says that nothing is wrong. The verifier in Python checks all else, and one problem in `_SAMPLE`, by its hash.
"""

from itertools import compress
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

import numpy as np

from memplan.planner.model.buffer_table import I64
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import ADDRESS_SPACE, Problem
from memplan.solvers.core.plain import is_plain
from memplan.solvers.core.tables import CORE, Reference

if TYPE_CHECKING:
    from memplan.planner.verify.violation import Violation

_MOST, _LARGEST = 1_024, 2**54
"""The most buffers compared pairwise, and the largest number that cannot overflow."""
_SAMPLE = 64
_SET = {
    *("status", "stop_reason", "peak", "lower_bound", "gap", "pools", "placements", "solver", "proof", "reproducible"),
    *("disturbed_by", "options", "read_with", "findings", "wall_time_s", "problem_hash", "version"),
}
_OTHER_CLAIMS = attrgetter(*(Plan.model_fields.keys() - _SET))
"""Returns the fields of a plan that concern other kinds of problems or plans."""
_NO_CLAIMS = _OTHER_CLAIMS(Plan.model_construct())


class PlainPlan(NamedTuple):
    """A plan, its pool's capacity, and the time at which a live set is wanted."""

    size: I64  # (n,)
    start: I64
    end: I64
    alignment: I64
    offset: I64
    capacity: int
    time: int
    answer: I64  # (2 + n,): the peak, the bytes that are alive at the time, and of each buffer whether it is


check_plain = CORE.kernel("check_plain", tables=1)
"""`check_plain(plan)`: return 1 if no rule is broken."""


def violations_of(problem: Problem, plan: Plan) -> "tuple[Violation, ...]":
    """Return the violations as `verify` does, faster for a small plain problem with its plan at the bound."""
    is_sampled = crc32((plan.problem_hash or "").encode()) % _SAMPLE == 0
    if not is_sampled and is_shown_valid(problem, plan):
        return ()
    # Imported here: the core checks most small plans.
    from memplan.planner.verify.verifier import verify

    return verify(problem, plan)


def is_shown_valid(problem: Problem, plan: Plan) -> bool:
    """Return True if one call proves a plan and all its claims right; False if it proves nothing."""
    table, places, proof = problem.buffers, plan.placements, plan.proof
    if plan.status != "optimal" or proof is None or (proof.kind, proof.by) != ("live-set", None):
        return False
    if problem.objective != "peak" or not is_plain(problem, _MOST):
        return False
    if not 0 < int(table.size.min()) <= int(table.size.max()) < _LARGEST:
        return False
    if places.ids != table.ids or _OTHER_CLAIMS(plan) != _NO_CLAIMS:
        return False
    (pool,), peak, time = problem.pools, plan.peak, proof.time
    if places.pool_names != (pool.name,) or places.pool.any() or peak is None or time is None or plan.gap != 0.0:
        return False
    if [(use.name, use.used, use.lower_bound, use.size) for use in plan.pools] != [(pool.name, peak, peak, pool.size)]:
        return False
    capacity = ADDRESS_SPACE - 1 if pool.size is None else pool.size
    answer = np.zeros(2 + len(table), dtype=np.int64)
    columns = table.size, table.start, table.end, table.alignment, places.offset
    if not check_plain(Reference(PlainPlan(*columns, capacity, time, answer))):
        return False
    end, load, *alive = answer.tolist()
    return peak == plan.lower_bound == end == load and proof.buffers == tuple(compress(table.ids, alive))
