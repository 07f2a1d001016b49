"""The exact search on cores: the few buffers that make a large problem hard are searched alone.

A core starts with the buffers of the heaviest live sets, which the exact search packs alone. If the core meets the
bound, its buffers are packed first, in the order of their offsets: first fit puts each of them at its offset or lower.
The other buffers are packed around the core. All that end above the bound join the core, which is searched again. No
plan of the problem has a lower peak than the best plan of a core, so an exhaustive search of a core proves a bound for
the whole problem. Pinned buffers are in every core.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from memplan.planner.bounds.lower_bound import Bound
from memplan.planner.instance.instance import Bool, Instance
from memplan.planner.instance.objective import Score, score
from memplan.planner.model.buffer_table import ABSENT, I64, column
from memplan.solvers.exact.branch_and_bound import NODE_WORK, Parts, SearchThread
from memplan.solvers.formulation.subinstance import part_of
from memplan.solvers.heuristics.moves import MoveSearch
from memplan.solvers.packing.orders import Rule, Traits
from memplan.solvers.packing.packer import Packer, packing_work
from memplan.solvers.packing.place import bounded_first, pins_collide
from memplan.solvers.search.incumbent import Search
from memplan.solvers.search.result import Assignment

NAME = "core"
SHARES = (0.95, 0.99, 0.9, 0.0)
"""The shares of the largest load, tried one after another: a core starts with all live sets of at least this load."""
LARGEST = 3_000
"""The limit of lifetimes in a core."""
ORDERS = 16
"""The number of heuristic packings of a core before its exact search."""
NODES = 16
"""The nodes per buffer of a core in the first round; they double in each further round."""
PATIENCE = 4_000_000
"""The nodes without a gain after which the search ends, so that other solvers get the remaining time."""
_AROUND = (Rule(("pressure^16", "size"), "start", 2), Rule(("pressure^16", "size"), "end", 2))
"""The order rules for packing the buffers around a core, used in turn."""
_SMALL = 64
"""The size of a group of buffers: the cost of a node grows by one for each such group in a core."""


def solve(instance: Instance, search: Search) -> None:
    """Search growing cores (hard subsets of the buffers) until the search is over or no gain is expected.

    It also ends if all cores are too large. Supports all instances with one pool and no costs. A deterministic search
    counts nodes and packings.
    """
    if search.is_over or not instance.is_small_numbered:
        return
    packer = Packer(instance, search.flag)
    if pins_collide(instance, packer):
        if search.flag[0] == 0:  # A stopped packer proves nothing, so it must not have stopped.
            search.claim_infeasible(NAME)
        return
    if (instance.pin != ABSENT).all():
        search.offer(np.zeros(len(instance), dtype=np.int64), instance.pin, NAME)
        return
    traits, nodes, spent, gained = Traits(instance), NODES, 0, 0
    most = search.work_limit // NODE_WORK if search.deterministic else 2**62
    bound: object = None
    while True:
        before = spent
        for share in SHARES:
            is_core = (traits.pressure >= share) | (instance.pin != ABSENT)
            for cost in grow_core(packer, traits, search, is_core, nodes, most - spent):
                spent += cost
                # The search uses plans and bounds of other solvers, so their improvements count as progress too.
                if bound != (bound := (search.best, search.bound)):
                    gained = spent
                if search.is_over or spent >= most or spent - gained > PATIENCE:
                    return
        if spent == before:
            return
        nodes *= 2


def grow_core(packer: Packer, traits: Traits, search: Search, kept: Bool, nodes: int, most: int) -> Iterator[int]:
    """Search a core, pack the other buffers around it, add buffers that end above the bound to the core, and repeat.

    `kept` is the mask of the first core's buffers. Yields the cost of each step in nodes. Ends once the core is too
    large, its peak stays above the bound after its share of the nodes, or `most` nodes are spent.
    """
    instance = packer.instance
    for turn in range(len(instance)):
        if not kept.any() or max(kept.sum(), kept[instance.lifetime_buffer].sum()) > LARGEST:
            return
        members = column(np.flatnonzero(kept))
        core = CoreSearch(part_of(instance, kept), search.deadline, search.seed + nodes + turn, outer=search)
        core.look(members)
        yield core.pack()
        cost = 1 + len(members) // _SMALL
        thread = SearchThread(Parts(core.instance, core))
        thread.run_nodes(min(nodes * len(members), max(1, most // cost)))
        yield thread.nodes * cost
        best = search.best
        if core.best is None or (best is not None and best.score <= core.best.score):
            return
        order = _AROUND[turn % len(_AROUND)].order(traits)
        order = np.concatenate((members[np.argsort(core.best.offset, kind="stable")], order[~kept[order]]))
        order = bounded_first(instance, column(order))
        offset = np.full(len(instance), ABSENT)
        offset[order] = packer.pack(0, order)
        if (offset != ABSENT).all():
            search.offer(np.zeros(len(instance), dtype=np.int64), column(offset), NAME)
        yield packing_work(instance) // NODE_WORK
        joining = ((offset == ABSENT) | (offset + instance.size > search.bound[-1])) & ~kept
        if core.best.score > search.bound or not joining.any():
            return
        kept = kept | joining


@dataclass(eq=False)
class CoreSearch(Search):
    """The search of a core (a hard subset of the buffers), on behalf of the search of the whole problem.

    The core's bounds hold for the whole problem and are passed on. Its assignments lack buffers, so they are not.
    """

    outer: Search = field(kw_only=True)

    def __post_init__(self, known: Bound | None) -> None:
        """Set up the search of the core, and stop it by the same flag as the whole search."""
        super().__post_init__(known)
        self.flag = self.outer.flag

    @property
    def bound(self) -> Score:
        """The lower bound on the whole problem, at which the search of the core may stop."""
        return self.outer.bound

    @property
    def is_over(self) -> bool:
        """True if the search of the whole problem is over."""
        return self.outer.is_over

    def look(self, members: I64) -> None:
        """Adopt the part of the best assignment that concerns the core; `members` are the core's buffers."""
        if (best := self.outer.best) is not None:
            self.offer(best.pool[members], best.offset[members], best.by)

    def pack(self) -> int:
        """Pack the core's buffers in several orders, which often suffices; return the cost of packing in nodes."""
        moves = MoveSearch(self.instance, self.flag, np.random.default_rng(self.seed), lambda offset, _: None)
        for _ in islice(moves.restarts(), ORDERS):
            if moves.best is not None and moves.peak <= self.bound[-1]:
                break
        if moves.best is not None:
            self.offer(column(np.zeros(len(moves.best))), moves.best, NAME)
        return ORDERS * packing_work(self.instance) // NODE_WORK

    def offer(self, pool: I64, offset: I64, by: str) -> bool:
        """Store an assignment of the core's buffers if it is better than the stored one, and return True if so."""
        value = score(self.instance, pool, offset)
        if self.best is not None and self.best.score <= value:
            return False
        self.best = Assignment(column(pool), column(offset), value, by)
        return True

    def offer_bound(self, bound: Score, by: str) -> None:
        """Pass a bound on the core to the whole search, as the peak of the whole problem cannot be lower."""
        self.outer.offer_bound(bound, NAME)

    def claim_infeasible(self, by: str) -> None:
        """Claim that the whole problem is infeasible, because its core (some of its buffers) is infeasible."""
        self.outer.claim_infeasible(NAME)
