"""The lemma search: proves that buffers cannot be placed under some capacities, and keeps why, as lemmas.

Push any placement down: each buffer then lies at the least offset that it may have, or on the end of another one that
it conflicts with. So a buffer rests at its low, which raises all that conflicts with it, or it is lifted to the least
end of one of those. What both branches need, taken back over the move, is a lemma; it names few buffers, at lows that
are often lower than those of the state, and refutes all states that require no less. `docs/certificates.md` proves the
rules. Where a buffer has a choice of pools, it is in one of them.
"""

from __future__ import annotations

from memplan.solvers.kernels.kernel import Kernel
from memplan.solvers.kernels.lemmas.leaves import failure, is_needed_no_more, known, list_lemma
from memplan.solvers.kernels.lemmas.moves import (
    chosen,
    chosen_with_pools,
    combine,
    keep_need,
    learn,
    lifted_low,
    move_to_pool,
    open_frame,
    raise_low,
    rest,
    start,
    take_back,
    take_kept,
)
from memplan.solvers.kernels.lemmas.tables import (
    CHANGED,
    ENTRY,
    EXHAUSTED,
    FAR,
    FIRST_REF,
    FOUND,
    FULL,
    GONE,
    LOGGED,
    MARK,
    NODES,
    NOTHING,
    OPEN,
    PHASE,
    ROOT,
    STOPPED,
    UNPLACED,
    LemmaProblem,
    LemmaRun,
    LemmaState,
    LemmaStore,
)
from memplan.solvers.kernels.tables import ZERO, step

_POLL_EVERY = 256
_REST, _LIFTED, _POOLS = 0, 1, 2
"""The branches of a frame; from _POOLS on, the pools of a buffer with a choice."""


@Kernel
def prove_unfit(problem: LemmaProblem, state: LemmaState, store: LemmaStore, run: LemmaRun) -> int:
    """Search for offsets under the capacities; return the outcome.

    FOUND: `run.offset` holds them. EXHAUSTED: there are none, and `answer[ROOT]` refers to why. STOPPED: by the limit
    or the flag; the lemmas are kept. FULL: there is too little room. O(n p + lemmas that name what moved) a node.
    """
    nodes, depth = ZERO, ZERO
    start(problem, state, run)
    is_root = True
    ref = failure(problem, state, run, is_root)
    is_root = False
    while True:
        # 1. A new node: look for a lemma, then branch.
        if ref == NOTHING:
            nodes += 1
            run.answer[NODES] = nodes
            if nodes > run.node_limit or (nodes % _POLL_EVERY == 0 and run.flag[0] != 0):
                return STOPPED
            ref = known(problem, state, store)
        if ref == NOTHING:
            if state.counter[UNPLACED] == 0:
                return FOUND
            if depth == len(state.frame) or state.counter[LOGGED] + len(state.changed) + problem.pools > len(state.log):
                return FULL
            if state.counter[OPEN] > 0:
                entry = chosen_with_pools(problem, state, run) * problem.pools
                open_frame(state, depth, entry, _POOLS)
                state.kept[depth, :] = GONE
                to_next_pool(problem, state, depth)
            else:
                entry = chosen(problem, state, run)
                open_frame(state, depth, entry, _REST)
                rest(problem, state, run, entry)
            depth += 1
            ref = failure(problem, state, run, is_root)
            continue

        # 2. The state fails, and `need` says why: step back over all moves that this does not need.
        if depth == 0:
            run.answer[ROOT] = ref
            return EXHAUSTED
        frame = state.frame[depth - 1]
        take_back(problem, state, frame[MARK])
        if is_needed_no_more(state):
            depth -= 1
            continue
        if ref >= store.counts[1]:
            list_lemma(state, store, ref)

        # 3. Try the other branch.
        if frame[PHASE] == _REST:
            keep_need(state, depth - 1)
            frame[FIRST_REF] = ref
            raised = lifted_low(problem, state, run, frame[ENTRY])
            if raised >= 0:
                frame[PHASE] = _LIFTED
                state.counter[CHANGED] = 0
                raise_low(problem, state, frame[ENTRY], raised)
                ref = failure(problem, state, run, is_root)
                continue
            state.need[:] = GONE
            frame[FIRST_REF + 1] = NOTHING
            combine(problem, state, run, depth - 1, False)
        elif frame[PHASE] == _LIFTED:
            frame[FIRST_REF + 1] = ref
            combine(problem, state, run, depth - 1, True)
        else:
            q = frame[PHASE] - _POOLS - 1
            frame[FIRST_REF + q] = ref
            gather(problem, state, depth - 1, q)
            if to_next_pool(problem, state, depth - 1):
                ref = failure(problem, state, run, is_root)
                continue
            take_kept(state, depth - 1)

        # 4. All branches fail: a lemma.
        depth -= 1
        ref = learn(problem, state, store, depth, frame[PHASE] >= _POOLS)
        if ref < 0:
            return FULL


@step
def to_next_pool(problem: LemmaProblem, state: LemmaState, depth: int) -> bool:
    """Confine the buffer of a frame to the next pool that it may be in; return False where there is none."""
    p = problem.pools
    frame = state.frame[depth]
    while frame[PHASE] - _POOLS < p:
        q = frame[PHASE] - _POOLS
        frame[PHASE] += 1
        if state.low[frame[ENTRY] + q] < FAR:
            move_to_pool(problem, state, frame[ENTRY] + q)
            return True
        frame[FIRST_REF + q] = NOTHING
        state.kept[depth, frame[ENTRY] + q] = FAR
    return False


@step
def gather(problem: LemmaProblem, state: LemmaState, depth: int, q: int) -> None:
    """Add what the branch of a pool needs to what the others do."""
    own = state.frame[depth, ENTRY]
    for e in range(len(state.need)):
        if e < own or e >= own + problem.pools:
            state.kept[depth, e] = max(state.kept[depth, e], state.need[e])
    state.kept[depth, own + q] = state.need[own + q]
