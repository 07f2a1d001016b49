"""The complete search for the fastest program of a small graph with a link, over all orders, runs and transfers."""

from dataclasses import dataclass

import numpy as np

from memplan.extensions.recompute.core.kernels import LEAST, MOST_LINKED, NONE, LeastTime, least_time
from memplan.extensions.recompute.offload.steps import KINDS, LinkedGraph, Step
from memplan.extensions.recompute.states import reruns_of
from memplan.solvers.core.tables import Reference
from memplan.solvers.search.control import Control

_ENDLESS = 2**60
_MOST = 2**50
MOST_STATES = 100_000
"""The maximum number of states to visit, which takes about a second."""
_STEPS = 64
"""The maximum number of steps in a program, as a multiple of the number of operations."""
WORK_PER_STATE = 80_000


@dataclass(frozen=True)
class FastestProgram:
    """The steps of a fastest program, or None, and a lower bound on the time of every program.

    The bound is None if no program is possible.
    """

    steps: tuple[Step, ...] | None
    bound: int | None


def can_search(program: LinkedGraph) -> bool:
    """Return True if a graph is small enough to search all its programs, and has no overwriting and no regions."""
    graph, longest = program.graph, sum(program.costs) + sum(duration or 0 for duration in program.transfer)
    is_small = max(len(graph.ops), len(graph.size)) <= MOST_LINKED and max(longest, sum(graph.size)) < _MOST
    return is_small and not any(row.may_overwrite or row.regions for row in graph.ops)


def search_all(
    program: LinkedGraph, budget: int, most: int | None, control: Control, states: int = MOST_STATES
) -> FastestProgram:
    """Search at most `states` states for the fastest program within `budget` bytes and a time of at most `most`."""
    limit = states
    if control.counts_work:
        limit = max(1, min(limit, int(control.work_left[0]) // WORK_PER_STATE))
    room = _STEPS * max(1, len(program.graph.ops))
    query = LeastTime(
        budget=budget,
        most=_ENDLESS - 1 if most is None else most,
        node_limit=limit,
        transfer=np.array([-1 if each is None else each for each in program.transfer], dtype=np.int64),
        kind=np.zeros(room, dtype=np.int64),
        what=np.zeros(room, dtype=np.int64),
        start=np.zeros(room, dtype=np.int64),
        answer=np.zeros(4, dtype=np.int64),
        flag=control.raised,
    )
    outcome = least_time(Reference(reruns_of(program.graph, program.costs)), Reference(query))
    count, time, bound, nodes = query.answer.tolist()
    control.spend(WORK_PER_STATE * nodes)
    if outcome == LEAST:
        rows = zip(query.kind[:count].tolist(), query.what[:count].tolist(), query.start[:count].tolist(), strict=True)
        return FastestProgram(
            _drop_unneeded_sends([Step(KINDS[kind], what, start) for kind, what, start in rows]), time
        )
    return FastestProgram(None, None if outcome == NONE and bound >= _ENDLESS else bound)


def _drop_unneeded_sends(steps: list[Step]) -> tuple[Step, ...]:
    needed, fetched = list[Step](), set[int]()
    for step in reversed(steps):
        if step.kind == "fetch":
            fetched.add(step.what)
        if step.kind != "send" or step.what in fetched:
            needed.append(step)
    return tuple(reversed(needed))
