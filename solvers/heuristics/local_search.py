"""Local search: improve a plan pool by pool from the last one, and redistribute buffers over the pools at times."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import I64, column
from memplan.solvers.formulation.subinstance import part_of
from memplan.solvers.heuristics.greedy import preference
from memplan.solvers.heuristics.moves import LARGE, MoveSearch
from memplan.solvers.packing import sharing_decisions
from memplan.solvers.packing.orders import COST_MIXES, MIXES, Traits, random_order
from memplan.solvers.packing.packer import Packer, packing_work
from memplan.solvers.packing.place import place
from memplan.solvers.processes.threads import threads_of_one
from memplan.solvers.search.incumbent import Search

_TURN = 4
"""The packings per buffer that a move may try without a gain before the next move."""

_PATIENCE = 400
"""The packings per buffer without a gain after which the search may end, to leave the time to other solvers."""
_LARGEST_OF_SEVERAL = 2_000_000
"""The limit of buffers for several threads, as each thread needs memory for its own packing."""


def solve(instance: Instance, search: Search) -> None:
    """Offer better plans until the search is over, its work limit is reached, or no gain is expected."""
    is_alone = LARGE < len(instance) <= _LARGEST_OF_SEVERAL and not search.deterministic
    threads = threads_of_one() if is_alone else 1
    with ThreadPoolExecutor(threads, thread_name_prefix="local-search") as executor:
        for done in [executor.submit(_improve, instance, search, k) for k in range(threads)]:
            done.result()


def _improve(instance: Instance, search: Search, thread: int) -> None:
    """Improve plans in one thread until the search is over or no gain is expected."""
    rng = np.random.default_rng([search.seed, thread] if thread else search.seed)
    n = len(instance)
    most = n * search.work_limit // packing_work(instance) if search.deterministic else 2**62
    patience = n * max(_PATIENCE, n)
    placed, gained = 0, 0
    best = search.best
    # The score also counts the prices of pairs, so use the search for several pools even for one pool.
    is_peak_alone = len(instance.pools) == 1 and len(instance.priced_pairs) == 0
    one_pool = partial(_search_one_pool, is_first=thread == 0)
    for count in (one_pool if is_peak_alone else _search_several_pools)(instance, search, rng):
        placed += count
        if search.best is not best:
            best, gained = search.best, placed
        if search.is_over or placed >= most or placed > 2 * gained + patience:
            return


def _search_one_pool(instance: Instance, search: Search, rng: np.random.Generator, is_first: bool) -> Iterator[int]:
    """Improve the packing of a single pool by moves, and yield the number of buffers packed by each move."""
    pool = column(np.zeros(len(instance)))
    moves = MoveSearch(instance, search.flag, rng, lambda offset, by: _offer(search, pool, offset, by))
    # In large problems, raises and restarts gain more than flips, so try these two moves first.
    turns: tuple[Iterator[int], ...] = (moves.flips(), moves.restarts())
    if len(instance) > LARGE:
        turns = (moves.raises(is_first=is_first), moves.restarts(), moves.flips())
    while not moves.is_at_bound:
        for move in turns:
            if search.best is not None:
                moves.start_from(search.best.offset)
            yield from _repeat_move(move, moves)
        if sharing_decisions.is_needed(instance):
            moves.packer = sharing_decisions.random_decisions(instance, rng, _best_placements(search)).packer(
                instance, search.flag
            )


def _search_several_pools(instance: Instance, search: Search, rng: np.random.Generator) -> Iterator[int]:
    """Repeatedly distribute the buffers over the pools by random rules, and repack each pool of the best plan.

    Yields, after each packing, the number of packed buffers as a measure of work.
    """
    packer, traits = Packer(instance, search.flag), Traits(instance)
    some_are_confined = bool((instance.allowed.sum(axis=0) < len(instance.pools)).any())
    mixes = COST_MIXES if instance.objective == "cost" else MIXES
    while True:
        if sharing_decisions.is_needed(instance):
            packer = sharing_decisions.random_decisions(instance, rng, _best_placements(search)).packer(
                instance, search.flag
            )
        for _ in range(_TURN):
            order, best_fit = random_order(rng, traits, mixes, some_are_confined)
            assignment = place(packer, instance, order, preference(instance), best_fit)
            yield len(instance)
            if assignment is not None:
                _offer(search, *assignment, "restart")
        for q in reversed(range(len(instance.pools))):
            yield from _repack(instance, search, rng, q)


def _repack(instance: Instance, search: Search, rng: np.random.Generator, q: int) -> Iterator[int]:
    """Apply the moves to the best plan's buffers in pool `q`; yield the number of buffers placed by each packing."""
    best = search.best
    if best is None or not (here := best.pool == q).any():
        return
    offset = np.array(best.offset)

    def offer_repacked(packed: I64, by: str) -> None:
        offset[here] = packed
        _offer(search, best.pool, column(offset), by)

    part = part_of(instance, here, q)
    moves = MoveSearch(part, search.flag, rng, offer_repacked)
    moves.start_from(best.offset[here])
    if sharing_decisions.is_needed(part):
        offsets = column(np.zeros(len(part))), best.offset[here]
        moves.packer = sharing_decisions.random_decisions(part, rng, offsets).packer(part, search.flag)
    for move in (moves.flips(), moves.restarts()):
        if not moves.is_at_bound:
            yield from _repeat_move(move, moves)


def _repeat_move(move: Iterator[int], moves: MoveSearch) -> Iterator[int]:
    steps, peak = _TURN * len(moves.instance), moves.peak
    for placed in move:
        yield placed
        steps -= placed
        if moves.peak < peak:
            steps, peak = _TURN * len(moves.instance), moves.peak
        if steps <= 0:
            return


def _best_placements(search: Search) -> tuple[I64, I64] | None:
    """Return the pool and the offset of each buffer in the best plan, or None if there is no plan yet."""
    return None if search.best is None else (search.best.pool, search.best.offset)


def _offer(search: Search, pool: I64, offset: I64, by: str) -> None:
    search.offer(pool, offset, f"local-search:{by}")
