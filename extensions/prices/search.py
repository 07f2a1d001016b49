"""The search for a plan with the least sum of prices: pieces that first fit can place without a price come first.

Each other piece gets a short exact search, a random walk (annealing) and lower bounds, then longer ones, until its
price is proved minimal or the time is over. A deterministic search counts its work instead of time.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from memplan.extensions.prices.core.kernels import MOST_BUFFERS, LeastPrice, Walk, least_price, walk
from memplan.extensions.prices.cuts import MOST_PAIRS, cut_bounds
from memplan.extensions.prices.pieces import Offsets, Piece, pools_of, suits, whole_offsets
from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import I64, column
from memplan.solvers.core.tables import Reference
from memplan.solvers.exact import branch_and_bound
from memplan.solvers.formulation.costs import Costs
from memplan.solvers.formulation.subinstance import part_of
from memplan.solvers.heuristics import greedy
from memplan.solvers.processes.threads import threads_of_one
from memplan.solvers.search.incumbent import Search


@dataclass(frozen=True)
class PriceResult:
    """The result of an exact search of a piece (independent part): a cheapest plan, or a lower bound on its price.

    `price` is None if no plan below `upper` was found. `is_over` is True if the search was complete.
    """

    bound: int
    nodes: int
    price: int | None = None
    at: Offsets | None = None
    is_over: bool = True


def search_price(piece: Piece, upper: int, most_nodes: int, flag: I64) -> PriceResult | None:
    """Search a piece (independent part) exactly for a price below `upper`; return None if it has too many buffers."""
    if len(piece) > MOST_BUFFERS:
        return None
    at, counts = np.zeros(len(piece), dtype=np.int64), np.zeros(3, dtype=np.int64)
    run = LeastPrice(upper, most_nodes, at, counts, flag)
    is_over = bool(least_price(Reference(piece.table), Reference(run)))
    nodes, bound, price = counts.tolist()
    return (
        PriceResult(bound, nodes, price, at.tolist(), is_over)
        if price < upper
        else PriceResult(bound, nodes, is_over=is_over)
    )


NAME = "prices"
_QUICK_NODES, _FEW_NODES, _MANY_NODES = 10_000, 200_000, 40_000_000
_SHORT_WALK, _STEPS_A_CALL = 20_000, 2_048
_NONE_ABOVE = 2**60
_HOT, _COLD = 2.0, 0.15
_MOST_PRICE = 2**33
_CUT_ROUNDS = 60
_WORK_PER_NODE, _WORK_PER_STEP, _WORK_PER_PAIR = 1, 20, 0.3
"""The work of a search node, of a walk's step, and of a walk's step per pair of a buffer; see Search.work_limit."""
_MEND_SHARE = 0.5
"""The fraction of the remaining time for finding a first plan if first fit finds none."""


@dataclass(eq=False)
class _OpenPiece:
    """A piece (independent part) with an unproved price, and its best plan and lower bound so far."""

    piece: Piece
    at: Offsets = field(default_factory=list)
    price: int = _NONE_ABOVE
    bound: int = 0
    walks: int = 0

    @property
    def is_settled(self) -> bool:
        """True if the best price found equals the lower bound."""
        return self.price <= self.bound

    def take(self, at: Offsets | I64, price: int) -> None:
        """Store the plan `at` if its price is below that of the stored plan."""
        if price < self.price:
            self.at, self.price = [int(start) for start in at], price


def solve(instance: Instance, search: Search) -> None:
    """Report plans and lower bounds to `search` until the least price is proved or the time is over.

    Does nothing for an instance without prices, or one that cannot be divided into pieces.
    """
    if (price_search := _PriceSearch.from_instance(instance, search)) is not None and price_search.begin(_FEW_NODES):
        price_search.go_on()


def begin(instance: Instance, search: Search) -> None:
    """Report the plans and the bounds that a short search finds to `search`."""
    if (price_search := _PriceSearch.from_instance(instance, search)) is not None:
        price_search.begin(_QUICK_NODES)


class _PriceSearch:
    """The state of a search for the least price: the offsets of placed buffers, and the pieces still to be searched.

    `peeled` has the buffers to place last, by part; `hard` has the pieces that first fit cannot place without a price.
    """

    def __init__(self, instance: Instance, search: Search, costs: Costs, pools: list[Piece]) -> None:
        """Store the instance and its pools as pieces; no buffer is placed yet."""
        self.instance, self.search, self.costs, self.pools = instance, search, costs, pools
        self.offset = np.zeros(len(instance), dtype=np.int64)
        self.peeled: list[tuple[Piece, list[int]]] = []
        self.hard: list[_OpenPiece] = []
        self.work_left = float(search.work_limit)

    @classmethod
    def from_instance(cls, instance: Instance, search: Search) -> Self | None:
        """Return the search for an instance, or None if its pools cannot be divided into pieces."""
        costs = Costs.from_instance(instance)
        is_priced = instance.objective == "cost" and len(instance.priced_pairs) > 0
        if not is_priced or sum(costs.clash) >= _MOST_PRICE or not suits(instance):
            return None
        return cls(instance, search, costs, pools_of(instance, costs.clash))

    def begin(self, most_nodes: int) -> bool:
        """Search each piece briefly and report the result; return False if nothing fits or a piece has no plan yet."""
        is_sound = self._reduce() and all(self._begin_piece(one, most_nodes) for one in self.hard)
        if is_sound:
            self._offer()
        return is_sound

    def go_on(self) -> None:
        """Continue the search until every piece is proved, or until the time or the counted work is used up."""
        for stage in (self._raise_bound, self._finish):
            for one in self.hard:
                if not one.is_settled and not self._is_over:
                    stage(one)
                    self._offer()
        self._walk_on()

    @property
    def _is_over(self) -> bool:
        return self.search.is_over or (self.search.deterministic and self.work_left <= 0)

    def _reduce(self) -> bool:
        """Divide the pools into independent pieces; return False if a buffer cannot fit.

        Each piece that first fit can place is placed; the others are appended to `hard`.
        """
        for pool in self.pools:
            if (pool.highest < pool.lowest).any():
                return False
            for part, gone, pieces in _reduced_parts(pool):
                if gone:
                    self.peeled.append((part, gone))
                for piece in pieces:
                    at = piece.first_fit()
                    if at is None:
                        self.hard.append(_OpenPiece(piece))
                    else:
                        whole_offsets(piece, at, self.offset)
        return True

    def _offer(self) -> None:
        if all(one.at for one in self.hard):
            for one in self.hard:
                whole_offsets(one.piece, one.at, self.offset)
            offset = self._offsets_with_removed_buffers()
            self.search.offer(self.instance.allowed.argmax(axis=0), column(offset), NAME)
        floor = self.costs.cost_of_steps(sum(one.bound for one in self.hard))
        if floor > self.search.bound[0]:
            self.search.offer_bound((floor, *self.search.bound[1:]), NAME)

    def _offsets_with_removed_buffers(self) -> I64:
        """Return all offsets after placing removed buffers at their lowest free starts, the last removed first."""
        offset = self.offset.copy()
        for part, gone in self.peeled:
            # Each part counts offsets in its own unit, so convert the offsets from the instance's unit.
            at = (offset[part.members] // part.unit).tolist()
            for i in gone:
                at[i] = -1
            for i in reversed(gone):
                start = part.lowest_free(i, at)
                assert start is not None, "a removed buffer must have a free start"
                at[i] = start
            whole_offsets(part, at, offset)
        return offset

    def _begin_piece(self, one: _OpenPiece, most_nodes: int) -> bool:
        self._search_exactly(one, most_nodes)
        if one.is_settled:
            return one.price < _NONE_ABOVE or self._claim_infeasible()
        if not one.at and not self._find_start(one):
            return False
        self._walk(one, most_nodes // 10)
        return True

    def _claim_infeasible(self) -> bool:
        self.search.claim_infeasible(NAME)
        return False

    def _search_exactly(self, one: _OpenPiece, most_nodes: int) -> None:
        nodes = int(min(most_nodes, self.work_left / _WORK_PER_NODE)) if self.search.deterministic else most_nodes
        result = search_price(one.piece, one.price, nodes, self.search.flag)
        if result is None:
            return
        self.work_left -= result.nodes * _WORK_PER_NODE
        one.bound = max(one.bound, min(result.bound, one.price))
        if result.at is not None and result.price is not None:
            one.take(result.at, result.price)

    def _find_start(self, one: _OpenPiece) -> bool:
        """Find any plan of a piece, whatever its price; return False if none is found."""
        piece, best = one.piece, self.search.best
        at: Offsets | None = piece.first_fit(is_hard_alone=True)
        if at is None and best is not None:
            at = (best.offset[piece.members] // piece.unit).tolist()
        if at is None:
            at = self._plan_without_prices(piece)
        if at is None:
            return False
        one.take(at, piece.cost(at))
        return True

    def _plan_without_prices(self, piece: Piece) -> Offsets | None:
        """Return a plan of the piece by the search for the lowest peak, which ignores prices; None if none is found."""
        is_fitted = np.zeros(len(self.instance), dtype=np.bool_)
        is_fitted[piece.members] = True
        part = part_of(self.instance, is_fitted, int(self.instance.allowed[:, piece.members[0]].argmax()))
        inner = self.search.child(_remove_prices(part), _MEND_SHARE)
        # The exact search supports neither banks nor clearances, so search only greedily if the instance has any.
        is_exact = inner.instance.features.isdisjoint({"banks", "clearances"})
        for run in (greedy.begin, branch_and_bound.solve) if is_exact else (greedy.solve,):
            if inner.best is None and not inner.is_over:
                run(inner.instance, inner)
        if inner.infeasibility_witness is not None:
            self._claim_infeasible()
        return None if inner.best is None else (inner.best.offset // piece.unit).tolist()

    def _raise_bound(self, one: _OpenPiece) -> None:
        if len(one.piece.pairs) > MOST_PAIRS:
            return
        for bound in cut_bounds(one.piece, self.search.seed, self.search.flag, _CUT_ROUNDS):
            one.bound = max(one.bound, bound.bound)
            if one.is_settled or self._is_over:
                return

    def _finish(self, one: _OpenPiece) -> None:
        self._search_exactly(one, _MANY_NODES)

    def _walk_on(self) -> None:
        length = 4 * _SHORT_WALK
        while not self._is_over and (unsettled := [one for one in self.hard if not one.is_settled]):
            for one in unsettled:
                if not self._is_over:
                    self._walk(one, length)
                    self._offer()
            length *= 2

    def _walk(self, one: _OpenPiece, steps: int) -> None:
        """Anneal from a piece's best plan at falling temperatures; a large piece uses one thread per processor."""
        is_alone = self.search.deterministic or len(one.piece.pairs) <= MOST_PAIRS
        threads = 1 if is_alone else threads_of_one()
        price = _WORK_PER_STEP + _WORK_PER_PAIR * len(one.piece.pairs) / len(one.piece)
        if self.search.deterministic:
            steps = max(
                1, int(min(steps, self.work_left / price))
            )  # An annealing run needs at least one step, even if no work is left.
        self.work_left -= steps * price
        with ThreadPoolExecutor(threads) as pool:
            for walk in pool.map(lambda k: self._anneal_piece(one, steps, one.walks + k), range(threads)):
                one.take(*walk)
        one.walks += threads

    def _anneal_piece(self, one: _OpenPiece, steps: int, number: int) -> tuple[I64, int]:
        """Walk from a piece's best plan for `steps` steps at falling temperatures; return the best plan and price."""
        piece, at = one.piece, np.array(one.at, dtype=np.int64)
        best, numbers = at.copy(), np.array([0, one.price, one.price], dtype=np.int64)
        numbers[0] = (self.search.seed * 1_000_003 + 7_919 * number + 12_345) % (2**62) + 1
        table = Reference(piece.table)
        for done in range(0, steps, _STEPS_A_CALL):
            heat = _HOT * (_COLD / _HOT) ** (done / steps)
            count = min(_STEPS_A_CALL, steps - done)
            walk(table, Reference(Walk(at, best, numbers, heat, count, one.bound, self.search.flag)))
            if int(numbers[2]) <= one.bound or self.search.is_over:
                break
        return best, int(numbers[2])


def _remove_prices(instance: Instance) -> Instance:
    return replace(
        instance,
        objective="fit",
        soft_pairs=instance.soft_pairs[:0],
        soft_weight=instance.soft_weight[:0],
        reuse_pairs=instance.reuse_pairs[:0],
        reuse_price=instance.reuse_price[:0],
    )


def hard_pieces(instance: Instance) -> Iterator[Piece]:
    """Yield the pieces (independent parts) that first fit cannot place at price 0; only their prices need a proof."""
    for pool in pools_of(instance, Costs.from_instance(instance).clash):
        for _, _, pieces in _reduced_parts(pool):
            yield from (piece for piece in pieces if piece.first_fit() is None)


def _reduced_parts(pool: Piece) -> Iterator[tuple[Piece, list[int], list[Piece]]]:
    for chosen in pool.parts():
        part = pool.restrict(chosen).coarsen()
        is_left, gone = part.peel()
        core = part.restrict(is_left).coarsen() if len(is_left) else None
        yield part, gone, [] if core is None else [core.restrict(inner).coarsen() for inner in core.parts()]
