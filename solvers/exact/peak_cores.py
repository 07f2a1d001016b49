"""The exact search on cores, where the whole is too large for it: what is alive in the heaviest live sets, by itself.

A core is a part of the problem: its peak cannot be less than it can be by itself, with whatever is packed around it. So
a core that is searched to exhaustion proves a bound for the whole. And what makes a problem hard is often in its core:
where the search lowers the core's peak, the core is packed first, in the order of its offsets, which by first fit
leaves every buffer of it there or lower, and then the others around it.

Cores of several sizes take turns, each with a search thread of its own. A core is done with where its peak meets the
bound, be it the whole's or, once it is exhausted, its own. Pinned buffers are in every core. The largest one is
everything, where that is not too large.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from memplan.planner.bounds.witness import Bound
from memplan.planner.instance.instance import Bool, Instance
from memplan.planner.instance.objective import Score, score
from memplan.planner.model.buffer_table import ABSENT, I64, column
from memplan.solvers.exact.branch_and_bound import NODE_WORK, Parts, SearchThread
from memplan.solvers.formulation.subinstance import part_of
from memplan.solvers.packing.orders import Rule, Traits
from memplan.solvers.packing.packer import Packer, work
from memplan.solvers.packing.place import pins_collide, place
from memplan.solvers.search.incumbent import Search
from memplan.solvers.search.result import Assignment

NAME = "core"
SHARES = (0.999, 0.99, 0.97, 0.9, 0.8, 0.0)
"""A core is what is alive in a live set with at least this share of the largest load."""
LARGEST = 2_000
"""The most lifetimes that a core may have."""
TURN, LONGEST_TURN = 10_000, 160_000
"""Nodes for a core before the next one has its turn; twice as many in each round, up to the limit."""
PATIENCE = 4_000_000
"""Nodes without a gain after which others should have the time."""
AROUND = (Rule(("pressure^16", "size"), "start", 2), Rule(("size",), "start"))
"""The orders in which the others are packed."""


def solve(instance: Instance, search: Search) -> None:
    """Search cores until the search is over, all of them are done with, or nothing seems left to gain.

    Honours everything but several pools and costs. In a deterministic search nodes and packings are counted.
    """
    if search.is_over or not instance.is_small_numbered:
        return
    packer = Packer(instance, search.flag)
    if pins_collide(instance, packer):
        if search.flag[0] == 0:  # a stopped packer places nothing, which proves nothing
            search.claim_infeasible(NAME)
        return
    if (instance.pin != ABSENT).all():
        search.offer(np.zeros(len(instance), dtype=np.int64), instance.pin, NAME)
        return
    cores = [PeakCore(instance, kept, search) for kept in heaviest(instance)]
    turn, spent, gained = TURN, 0, 0
    most = search.work_limit // NODE_WORK if search.deterministic else 2**62
    known: object = None
    while cores and not search.is_over and spent < most and spent - gained < PATIENCE:
        for core in cores:
            spent += core.take_turn(min(turn, most - spent), packer)
            # Gains of others count, too: what they find is where this search goes on.
            if known != (known := (search.best, search.bound)):
                gained = spent
        cores = [core for core in cores if not core.is_done]
        turn = min(LONGEST_TURN, 2 * turn)


def heaviest(instance: Instance) -> Iterator[Bool]:
    """Yield masks of the buffers of each core, the smallest core first."""
    is_pinned = instance.pin != ABSENT
    load = instance.load()
    last = is_pinned
    for share in SHARES:
        heavy = np.concatenate(([0], np.cumsum(load >= share * load.max(initial=0))))
        kept = is_pinned | (share == 0.0)
        kept[instance.lifetime_buffer[heavy[instance.end] > heavy[instance.start]]] = True
        # Cores only grow with smaller shares, so the next ones are too large as well.
        if kept[instance.lifetime_buffer].sum() > LARGEST or kept.sum() > LARGEST:
            return
        if (kept != last).any():
            yield kept
        last = kept


class PeakCore:
    """A core, its best packing, and the thread that searches it."""

    def __init__(self, instance: Instance, kept: Bool, search: Search) -> None:
        self.instance, self.search = instance, search
        self.members, self.others = column(np.flatnonzero(kept)), np.flatnonzero(~kept)
        whole = search.deadline, search.seed, search.deterministic, search.work_limit
        self.inner = CoreSearch(part_of(instance, kept), *whole, outer=search)
        self.thread = SearchThread(Parts(self.inner.instance, self.inner))

    @property
    def is_done(self) -> bool:
        """True if no component of the core is above the bound."""
        return self.thread.is_done

    def take_turn(self, nodes: int, packer: Packer) -> int:
        """Search for so many nodes, and pack the whole around what is found; return the nodes, and packings as such."""
        before = self.thread.nodes
        self._look()
        self.thread.run_nodes(nodes)
        spent = self.thread.nodes - before
        if self.inner.is_improved and not self.search.is_over:
            self.inner.is_improved = False
            spent += self._pack_around(packer)
        return spent

    def _look(self) -> None:
        """Take over where the core lies in the best assignment of the whole."""
        best, mine = self.search.best, self.inner.best
        if best is None:
            return
        offset = column(best.offset[self.members])
        value = score(self.inner.instance, column(best.pool[self.members]), offset)
        if mine is None or value < mine.score:
            self.inner.best = Assignment(column(np.zeros(len(offset))), offset, value, best.by)

    def _pack_around(self, packer: Packer) -> int:
        """Pack the core as it was found and the others around it, in some orders; return what that costs, in nodes."""
        best, core = self.search.best, self.inner.best
        # Around a core that is no lower than the best plan nothing better can be packed.
        if core is None or (best is not None and best.score <= core.score):
            return 0
        inside = self.members[np.argsort(core.offset, kind="stable")]
        traits = Traits(self.instance)
        for rule in AROUND:
            order = rule.order(traits)
            outside = order[np.isin(order, self.others)]
            found = place(packer, self.instance, column(np.concatenate((inside, outside))), (0,))
            if found is not None:
                self.search.offer(*found, NAME)
        return len(AROUND) * work(self.instance) // NODE_WORK


@dataclass(eq=False)
class CoreSearch(Search):
    """The search of a core: its bounds are passed on to the search of the whole, its assignments are kept."""

    outer: Search = field(kw_only=True)
    is_improved: bool = False

    def __post_init__(self, known: Bound | None) -> None:
        super().__post_init__(known)
        self.flag = self.outer.flag

    @property
    def bound(self) -> Score:
        """The whole's bound: there is nothing to be gained by a core that lies below it."""
        return self.outer.bound

    @property
    def is_over(self) -> bool:
        """True if the search of the whole is over."""
        return self.outer.is_over

    def offer(self, pool: I64, offset: I64, by: str) -> bool:
        """Take an assignment of the core if it is better than the best so far."""
        value = score(self.instance, pool, offset)
        if self.best is not None and self.best.score <= value:
            return False
        self.best, self.is_improved = Assignment(column(pool), column(offset), value, by), True
        return True

    def offer_bound(self, bound: Score, by: str) -> None:
        """Offer the bound for the whole, which cannot be lower."""
        self.outer.offer_bound(bound, NAME)

    def claim_infeasible(self, by: str) -> None:
        """Claim that the whole is infeasible: it cannot fit where the core does not."""
        self.outer.claim_infeasible(NAME)
