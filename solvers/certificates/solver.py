"""The lemma search as a solver: least peaks of few buffers in one pool, proved; strong where alignments are mixed."""

from __future__ import annotations

import numpy as np

from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import column
from memplan.solvers.certificates.lemma_problem import lemma_input
from memplan.solvers.certificates.lemma_search import EXHAUSTED, FOUND, LemmaSearch
from memplan.solvers.search.incumbent import Search

NAME = "lemmas"
MOST_BUFFERS = 4_000
_NODES = 400_000
"""The most nodes that are spent in all."""
_CHUNK = 2_000
_NODE_WORK = 4
"""The units of Search.work_limit that a node counts."""


def solve(instance: Instance, search: Search) -> None:
    """Try capacities from the bound up, in steps that double, until the least peak is proved.

    Honours everything but several pools, costs and pins. Gives up after _NODES nodes; nodes are counted, so that no
    clock decides anything in a deterministic search.
    """
    if search.is_over or not instance.is_small_numbered or len(instance) > MOST_BUFFERS:
        return
    if len(instance) == 0:
        search.offer(instance.pin, instance.pin, NAME)
        return
    given = lemma_input(instance, np.ones(len(instance), dtype=np.bool_))
    left = min(_NODES, search.work_limit // _NODE_WORK) if search.deterministic else _NODES
    step = 0
    while left > 0 and not search.is_over:
        low = int(search.bound[-1])
        high = instance.pools[0].capacity if search.best is None else int(search.best.score[-1]) - 1
        tried = min(low + step, high)
        run = LemmaSearch(given, np.array([tried], dtype=np.int64), search.seed)
        while left > 0 and run.nodes < _NODES and not search.is_over:
            before = run.nodes
            outcome = run.run(min(_CHUNK, left), search.flag)
            left -= run.nodes - before
            if outcome in (FOUND, EXHAUSTED):
                break
        if run.outcome == FOUND:
            search.offer(np.zeros(len(instance), dtype=np.int64), column(run.offset), NAME)
            step = 0
        elif run.outcome == EXHAUSTED:
            # Bounds far below the peak cost few nodes each; doubling skips most of them.
            step = max(1, 2 * step)
            search.offer_bound((tried + 1,), NAME)
            if tried >= instance.pools[0].capacity:
                search.claim_infeasible(NAME)
                return
        else:
            return
