"""The branches of the lemma search: which buffer, where it may lie, and what a failure of both branches needs."""

from __future__ import annotations

import numpy as np

from memplan.solvers.kernels.lemmas.tables import (
    CHANGED,
    ENTRY,
    FAR,
    FIRST_REF,
    GONE,
    LOGGED,
    MARK,
    OPEN,
    PHASE,
    UNPLACED,
    LemmaProblem,
    LemmaRun,
    LemmaState,
    LemmaStore,
    legal,
    wanted,
)
from memplan.solvers.kernels.tables import ZERO, step


@step
def start(problem: LemmaProblem, state: LemmaState, run: LemmaRun) -> None:
    """Begin with nothing placed; everything counts as changed."""
    n, p = len(problem.size), problem.pools
    state.counter[UNPLACED], state.counter[LOGGED], state.counter[OPEN] = n, 0, 0
    state.counter[CHANGED] = n
    state.is_dirty[:] = True
    for i in range(n):
        state.changed[i] = i * p
        for e in range(i * p, i * p + p):
            state.low[e] = legal(problem, run.capacity, e, problem.least[e])
        state.only[i] = only_pool(problem, state, i)
        state.counter[OPEN] += state.only[i] < 0


@step
def only_pool(problem: LemmaProblem, state: LemmaState, i: int) -> int:
    """Return the one pool that a buffer may be in; the first where there is none; -1 where it has a choice."""
    found = -2
    for q in range(problem.pools):
        low = state.low[i * problem.pools + q]
        if low != GONE and low < FAR:
            if found >= 0:
                return -1
            found = q
    return max(found, ZERO)


@step
def put(problem: LemmaProblem, state: LemmaState, entry: int, low: int) -> None:
    """Change a low, and write down what it was."""
    i = entry // problem.pools
    row = state.counter[LOGGED]
    state.log[row, 0], state.log[row, 1] = entry, state.low[entry]
    state.counter[LOGGED] = row + 1
    state.low[entry] = low
    refresh(problem, state, i)


@step
def refresh(problem: LemmaProblem, state: LemmaState, i: int) -> None:
    """Bring up to date what follows from the lows of a buffer."""
    if problem.pools > 1:
        state.counter[OPEN] -= state.only[i] < 0
        state.only[i] = only_pool(problem, state, i)
        state.counter[OPEN] += state.only[i] < 0
    for r in range(problem.set_first[i], problem.set_first[i + 1]):
        state.is_dirty[problem.set_of[r]] = True


@step
def raise_low(problem: LemmaProblem, state: LemmaState, entry: int, low: int) -> None:
    """Raise a low, as part of a move."""
    state.changed[state.counter[CHANGED]] = entry
    put(problem, state, entry, low)
    state.counter[CHANGED] += 1


@step
def rest(problem: LemmaProblem, state: LemmaState, run: LemmaRun, entry: int) -> None:
    """Lay a buffer at its low: it is gone, and what conflicts with it, and cannot lie below, lies above it."""
    p = problem.pools
    i = entry // p
    q = entry - i * p
    end = state.low[entry] + problem.size[i]
    state.counter[CHANGED] = 0
    for r in range(problem.near_first[i], problem.near_first[i + 1]):
        j = problem.near[r]
        other = j * p + q
        low = state.low[other]
        if low == GONE or low >= FAR or low + problem.size[j] <= state.low[entry]:
            continue
        raised = legal(problem, run.capacity, other, end)
        if raised > low:
            raise_low(problem, state, other, raised)
    for e in range(i * p, i * p + p):
        put(problem, state, e, GONE)
    state.counter[UNPLACED] -= 1
    run.offset[i] = end - problem.size[i]


@step
def lifted_low(problem: LemmaProblem, state: LemmaState, run: LemmaRun, entry: int) -> int:
    """Return the least offset of a buffer on the end of another one; -1 where there is none that it conflicts with."""
    p = problem.pools
    i = entry // p
    q = entry - i * p
    least = FAR
    for r in range(problem.near_first[i], problem.near_first[i + 1]):
        low = state.low[problem.near[r] * p + q]
        if low != GONE and low < FAR:
            least = min(least, low + problem.size[problem.near[r]])
    return -1 if least == FAR else legal(problem, run.capacity, entry, max(least, state.low[entry]))


@step
def move_to_pool(problem: LemmaProblem, state: LemmaState, entry: int) -> None:
    """Confine a buffer to the pool of an entry."""
    p = problem.pools
    i = entry // p
    state.counter[CHANGED] = 0
    for e in range(i * p, i * p + p):
        if e != entry and state.low[e] < FAR:
            raise_low(problem, state, e, FAR)


@step
def take_back(problem: LemmaProblem, state: LemmaState, mark: int) -> None:
    """Undo all that was written down after a mark."""
    while state.counter[LOGGED] > mark:
        state.counter[LOGGED] -= 1
        row = state.counter[LOGGED]
        entry = state.log[row, 0]
        i = entry // problem.pools
        if state.low[entry] == GONE and entry - i * problem.pools == problem.pools - 1:
            state.counter[UNPLACED] += 1
        state.low[entry] = state.log[row, 1]
        refresh(problem, state, i)


@step
def measure(problem: LemmaProblem, state: LemmaState, t: int) -> None:
    """Find the floor of a set in each pool, how many are there, and how much is left."""
    p = problem.pools
    state.is_dirty[t] = False
    for u in range(t * p, t * p + p):
        state.floor[u], state.ready[u], state.left[u] = FAR, 0, 0
    for a in range(problem.member_first[t], problem.member_first[t + 1]):
        i = problem.member[a]
        q = state.only[i]
        if q < 0:
            continue
        low, u = state.low[i * p + q], t * p + q
        if low == GONE:
            continue
        state.left[u] += problem.size[i]
        if low < state.floor[u]:
            state.floor[u], state.ready[u] = low, 1
        elif low == state.floor[u]:
            state.ready[u] += 1


@step
def chosen(problem: LemmaProblem, state: LemmaState, run: LemmaRun) -> int:
    """Return the entry to branch on: of the set with the fewest options for its failures, at its floor; -1: none."""
    p = problem.pools
    best, least = -1, np.inf
    for t in range(len(state.stamp)):
        if state.is_dirty[t]:
            measure(problem, state, t)
        for q in range(p):
            u = t * p + q
            if state.left[u] == 0:
                continue
            may_lift = run.capacity[q] - state.floor[u] - state.left[u] > 0
            value = (state.ready[u] + (run.lift_weight if may_lift else 0.0)) / run.weight[t]
            if value < least:
                best, least = u, value
    if best < 0:
        return -1
    t = best // p
    q = best - t * p
    entry = -1
    for a in range(problem.member_first[t], problem.member_first[t + 1]):
        i = problem.member[a]
        if state.only[i] == q and state.low[i * p + q] == state.floor[best]:
            if entry < 0 or run.rank[i] > run.rank[entry // p]:
                entry = i * p + q
    return lowest_near(problem, state, entry)


@step
def lowest_near(problem: LemmaProblem, state: LemmaState, entry: int) -> int:
    """Return an entry from which no buffer that conflicts with it has a lower low: go down while there is one."""
    p = problem.pools
    while True:
        i = entry // p
        q = entry - i * p
        lower = entry
        for r in range(problem.near_first[i], problem.near_first[i + 1]):
            other = problem.near[r] * p + q
            if state.only[problem.near[r]] == q and state.low[other] != GONE and state.low[other] < state.low[lower]:
                lower = other
        if lower == entry:
            return entry
        entry = lower


@step
def chosen_with_pools(problem: LemmaProblem, state: LemmaState, run: LemmaRun) -> int:
    """Return the largest buffer with a choice of pools in the set that is fullest for its failures."""
    p = problem.pools
    best, most, found = -1, -1.0, -1
    for t in range(len(state.stamp)):
        amount, largest = 0.0, -1
        for a in range(problem.member_first[t], problem.member_first[t + 1]):
            i = problem.member[a]
            if state.low[i * p] == GONE:
                continue
            amount += problem.size[i]
            if state.only[i] < 0 and (largest < 0 or run.rank[i] > run.rank[largest]):
                largest = i
        if largest >= 0 and amount * run.weight[t] > most:
            best, most, found = t, amount * run.weight[t], largest
    return found if best >= 0 else -1


@step
def combine(problem: LemmaProblem, state: LemmaState, run: LemmaRun, depth: int, can_lift: bool) -> None:
    """Write what a state needs so that a buffer can neither rest nor be lifted: both branches' needs, before the move.

    `kept` of the frame is what the first branch needs, `need` what the second one does.
    """
    p = problem.pools
    entry = state.frame[depth, ENTRY]
    i = entry // p
    q = entry - i * p
    size, low = problem.size[i], state.low[entry]

    # 1. Its own low: the least from which those above it are as high as the first branch needs.
    least = problem.least[entry]
    for r in range(problem.near_first[i], problem.near_first[i + 1]):
        other = problem.near[r] * p + q
        if state.kept[depth, other] > state.low[other]:
            want = wanted(problem, run.capacity, other, state.kept[depth, other]) - size
            least = max(least, want)
    least = min(low, legal(problem, run.capacity, entry, least))
    lifted = state.need[entry]
    enough = wanted(problem, run.capacity, entry, lifted) if can_lift else FAR

    # 2. Those that conflict with it: as high as must be, so that they are raised, or cannot carry it too low.
    for r in range(problem.near_first[i], problem.near_first[i + 1]):
        j = problem.near[r]
        other = j * p + q
        first, second = state.kept[depth, other], state.need[other]
        if first == GONE and second == GONE:
            continue
        want = second
        if first != GONE:
            if legal(problem, run.capacity, other, least + size) >= first:
                above = legal(problem, run.capacity, other, max(ZERO, least - problem.size[j] + 1))
                want = max(want, min(first, min(state.low[other], above)))
            else:
                want = max(want, first)
        if not can_lift:
            want = state.low[other]
        else:
            above = legal(problem, run.capacity, other, max(ZERO, enough - problem.size[j]))
            want = max(want, min(state.low[other], above))
        state.kept[depth, other], state.need[other] = want, want

    # 3. All others need what they need in either branch.
    for e in range(len(state.need)):
        state.need[e] = max(state.need[e], state.kept[depth, e])
    for e in range(i * p, i * p + p):
        state.need[e] = FAR
    state.need[entry] = least


@step
def keep_need(state: LemmaState, depth: int) -> None:
    """Keep what the first branch of a frame needs."""
    for e in range(len(state.need)):
        state.kept[depth, e] = state.need[e]


@step
def take_kept(state: LemmaState, depth: int) -> None:
    """Need what the branches of a frame have required."""
    for e in range(len(state.need)):
        state.need[e] = state.kept[depth, e]


@step
def learn(problem: LemmaProblem, state: LemmaState, store: LemmaStore, depth: int, is_about_pools: bool) -> int:
    """Keep what the last failure needs as a lemma, and return its number; -1 where there is no room."""
    k: int = store.counts[0]
    if k >= len(store.branch):
        return -1
    at = store.first[k]
    for e in range(len(state.need)):
        if state.need[e] == GONE:
            continue
        if at == len(store.entry):
            return -1
        store.entry[at], store.value[at] = e, state.need[e]
        at += 1
    store.first[k + 1] = at
    entry = state.frame[depth, ENTRY]
    store.branch[k] = -1 - entry // problem.pools if is_about_pools else entry
    for q in range(store.refs.shape[1]):
        store.refs[k, q] = state.frame[depth, FIRST_REF + q]
    store.counts[0] = k + 1
    return k


@step
def open_frame(state: LemmaState, depth: int, entry: int, phase: int) -> None:
    """Begin a frame."""
    frame = state.frame[depth]
    frame[ENTRY], frame[PHASE], frame[MARK] = entry, phase, state.counter[LOGGED]
