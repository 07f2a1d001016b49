"""Failures of a state that need no branch: sets that are too long, known lemmas, buffers without a place."""

from __future__ import annotations

from memplan.solvers.kernels.lemmas.tables import (
    ALONE,
    CHANGED,
    CHECKS,
    FAR,
    GONE,
    NOTHING,
    LemmaProblem,
    LemmaRun,
    LemmaState,
    LemmaStore,
    leaf_ref,
    legal,
)
from memplan.solvers.kernels.tables import ONE, ZERO, step


@step
def sort_members(problem: LemmaProblem, state: LemmaState, t: int) -> None:
    """Sort the members of a set by their lows, the highest first; those with a choice of pools, or placed, last."""
    p = problem.pools
    first = problem.member_first[t]
    for a in range(first + 1, problem.member_first[t + 1]):
        i = state.member[a]
        low = state.low[i * p + max(ZERO, state.only[i])]
        if state.only[i] < 0:
            low = GONE
        b = a
        while b > first:
            j = state.member[b - 1]
            other = state.low[j * p + max(ZERO, state.only[j])]
            if state.only[j] < 0:
                other = GONE
            if other > low or (other == low and problem.size[j] >= problem.size[i]):
                break
            state.member[b] = j
            b -= 1
        state.member[b] = i


@step
def rounded(problem: LemmaProblem, g: int, q: int, at: int) -> int:
    """Return the first number of a granule's grid in a pool that is not below `at`."""
    more: int = (problem.remainder[g * problem.pools + q] - at) % problem.granule[g]
    return at + more


@step
def reach(problem: LemmaProblem, t: int, g: int, q: int, at: int, amount: int) -> int:
    """Return the least end with so much free between `at` and it, outside of the blocks of a set in a pool."""
    section = t * problem.pools + q
    for r in range(problem.block_first[section], problem.block_first[section + 1]):
        low, high = rounded(problem, g, q, problem.block[r, 0]), rounded(problem, g, q, problem.block[r, 1])
        if high <= at:
            continue
        if low > at:
            if amount <= low - at:
                return at + amount
            amount -= low - at
        at = high
    return at + amount


@step
def highest_start(problem: LemmaProblem, t: int, g: int, q: int, end: int, amount: int) -> int:
    """Return the least number from which on less than `amount` is free up to `end`; 0 where that is everywhere."""
    section = t * problem.pools + q
    amount -= 1
    for r in range(problem.block_first[section + 1] - 1, problem.block_first[section] - 1, -1):
        low, high = rounded(problem, g, q, problem.block[r, 0]), rounded(problem, g, q, problem.block[r, 1])
        if low >= end:
            continue
        if high < end:
            if amount <= end - high:
                return max(ZERO, end - amount)
            amount -= end - high
        end = low
    return max(ZERO, end - amount)


@step
def failure(problem: LemmaProblem, state: LemmaState, run: LemmaRun, is_root: bool) -> int:
    """Return why the state fails after the last move, and write what that needs; NOTHING where no reason is seen."""
    p = problem.pools
    for c in range(state.counter[CHANGED]):
        i = state.changed[c] // p
        if is_without_place(problem, state, i):
            state.need[:] = GONE
            for e in range(i * p, i * p + p):
                state.need[e] = FAR
            return ALONE
    best_set, best_count, best_excess, best_granule, best_pool = -1, len(problem.size) + 1, ZERO, ZERO, ZERO
    suspects = list_suspects(problem, state, is_root)
    for s in range(suspects):
        t = state.suspect[s]
        found, count, excess, g, q = longest(problem, state, run, t, best_count, best_excess)
        if found:
            best_set, best_count, best_excess, best_granule, best_pool = t, count, excess, g, q
    if best_set >= 0:
        run.weight[best_set] += 1.0
        write_need(problem, state, run, best_set, best_granule, best_pool, best_count)
        return leaf_ref(problem, best_set, best_granule, ONE << best_pool)
    if len(problem.group) > 0:
        for s in range(suspects):
            ref = overfull(problem, state, run, state.suspect[s])
            if ref != NOTHING:
                return ref
    return NOTHING


@step
def list_suspects(problem: LemmaProblem, state: LemmaState, is_root: bool) -> int:
    """Write the sets that may have come to fail: all at the root, else those with what changed; return their number."""
    count = 0
    if is_root:
        for t in range(len(state.suspect)):
            state.suspect[t] = t
        return len(state.suspect)
    state.counter[CHECKS] += 1
    for c in range(state.counter[CHANGED]):
        i = state.changed[c] // problem.pools
        for r in range(problem.set_first[i], problem.set_first[i + 1]):
            t = problem.set_of[r]
            if state.stamp[t] != state.counter[CHECKS]:
                state.stamp[t] = state.counter[CHECKS]
                state.suspect[count] = t
                count += 1
    return count


@step
def is_without_place(problem: LemmaProblem, state: LemmaState, i: int) -> bool:
    """Say whether a buffer may be nowhere."""
    for e in range(i * problem.pools, (i + 1) * problem.pools):
        if state.low[e] < FAR:
            return False
    return True


@step
def longest(
    problem: LemmaProblem, state: LemmaState, run: LemmaRun, t: int, least_count: int, most_excess: int
) -> tuple[bool, int, int, int, int]:
    """Return whether those of a set with the highest lows end above the capacity, by a better reason than the last.

    Also their number, by how much, and the granule and the pool. A slim run wants few, others much.
    """
    p = problem.pools
    sort_members(problem, state, t)
    found, best_count, best_excess, best_granule, best_pool = False, least_count, most_excess, ZERO, ZERO
    for q in range(p):
        for g in range(len(problem.granule)):
            grain, amount, waste, count = problem.granule[g], ZERO, ZERO, ZERO
            for a in range(problem.member_first[t], problem.member_first[t + 1]):
                i = state.member[a]
                if state.only[i] < 0 or state.low[i * p + state.only[i]] < 0:
                    break
                entry = i * p + q
                if state.only[i] != q or not problem.fits[g * len(problem.least) + entry]:
                    continue
                size = problem.size[i]
                more = (-size) % grain
                amount += size + more
                waste = max(waste, more)
                count += 1
                end = reach(problem, t, g, q, state.low[entry], amount) - waste
                if end > run.capacity[q]:
                    if run.is_slim:
                        if count < best_count:
                            found, best_count, best_granule, best_pool = True, count, g, q
                        break
                    if end - run.capacity[q] > best_excess:
                        found, best_count, best_excess = True, count, end - run.capacity[q]
                        best_granule, best_pool = g, q
    return found, best_count, best_excess, best_granule, best_pool


@step
def write_need(problem: LemmaProblem, state: LemmaState, run: LemmaRun, t: int, g: int, q: int, count: int) -> None:
    """Write what the `count` highest of a set must be, so that they still end above the capacity."""
    p = problem.pools
    state.need[:] = GONE
    grain, amount, waste, done = problem.granule[g], ZERO, ZERO, ZERO
    last = problem.member_first[t]
    for a in range(problem.member_first[t], problem.member_first[t + 1]):
        i = state.member[a]
        if state.only[i] != q or not problem.fits[g * len(problem.least) + i * p + q]:
            continue
        more = (-problem.size[i]) % grain
        amount += problem.size[i] + more
        waste = max(waste, more)
        done += 1
        last = a
        if done == count:
            break
    start = highest_start(problem, t, g, q, run.capacity[q] + waste, amount)
    for a in range(problem.member_first[t], last + 1):
        i = state.member[a]
        if state.only[i] != q or not problem.fits[g * len(problem.least) + i * p + q]:
            continue
        for e in range(i * p, i * p + p):
            state.need[e] = FAR
        state.need[i * p + q] = min(state.low[i * p + q], legal(problem, run.capacity, i * p + q, start))


@step
def overfull(problem: LemmaProblem, state: LemmaState, run: LemmaRun, t: int) -> int:
    """Return the reference to a set that is too large for some pools, and write what that needs; else NOTHING."""
    p, m = problem.pools, len(problem.group)
    for k in range(m):
        group, amount = problem.group[k], ZERO
        for a in range(problem.member_first[t], problem.member_first[t + 1]):
            i = state.member[a]
            if is_confined(problem, state, i, group):
                amount += problem.size[i]
        if amount <= run.free[t * m + k]:
            continue
        run.weight[t] += 1.0
        state.need[:] = GONE
        spare = amount - run.free[t * m + k] - 1
        for a in range(problem.member_first[t], problem.member_first[t + 1]):
            i = state.member[a]
            if not is_confined(problem, state, i, group):
                continue
            if problem.size[i] <= spare:
                spare -= problem.size[i]
                continue
            for q in range(p):
                is_in = (group >> q) & 1 == 1
                state.need[i * p + q] = problem.least[i * p + q] if is_in else FAR
        return leaf_ref(problem, t, ZERO, group)
    return NOTHING


@step
def is_confined(problem: LemmaProblem, state: LemmaState, i: int, group: int) -> bool:
    """Say whether a buffer is still to be placed, and may be in the pools of a group only."""
    p = problem.pools
    if state.low[i * p] == GONE:
        return False
    for q in range(p):
        if state.low[i * p + q] < FAR and (group >> q) & 1 == 0:
            return False
    return True


@step
def known(problem: LemmaProblem, state: LemmaState, store: LemmaStore) -> int:
    """Return a lemma that refutes the state because of what the last move raised, and write what it needs."""
    for c in range(state.counter[CHANGED]):
        changed = state.changed[c]
        last = -1
        k: int = store.head[changed]
        while k >= 0:
            following = store.next[k]
            if store.excess[k] > state.low[changed]:
                last = k
            else:
                r = open_entry(state, store, k)
                if r < 0:
                    state.need[:] = GONE
                    for r in range(store.first[k], store.first[k + 1]):
                        state.need[store.entry[r]] = store.value[r]
                    return k
                if store.entry[r] == changed:
                    last = k
                else:
                    if last < 0:
                        store.head[changed] = following
                    else:
                        store.next[last] = following
                    list_at(store, k, r)
            k = following
    return NOTHING


@step
def open_entry(state: LemmaState, store: LemmaStore, k: int) -> int:
    """Return where a lemma requires more than the state does; -1 where it refutes the state.

    An entry of a buffer that still is to be placed is preferred.
    """
    found = -1
    for r in range(store.first[k], store.first[k + 1]):
        low = state.low[store.entry[r]]
        if store.value[r] > low:
            found = r
            if low != GONE:
                break
    return found


@step
def list_at(store: LemmaStore, k: int, r: int) -> None:
    """Put a lemma into the list of one of its entries, which from now on is its first: it is looked at first."""
    first = store.first[k]
    entry, value = store.entry[r], store.value[r]
    store.entry[r], store.value[r] = store.entry[first], store.value[first]
    store.entry[first], store.value[first] = entry, value
    store.excess[k] = value
    store.next[k] = store.head[entry]
    store.head[entry] = k


@step
def list_lemma(state: LemmaState, store: LemmaStore, k: int) -> None:
    """Put a new lemma into a list, now that it does not refute the state any more."""
    list_at(store, k, open_entry(state, store, k))
    store.counts[1] = k + 1


@step
def is_needed_no_more(state: LemmaState) -> bool:
    """Say whether the state requires all that the reason of the last failure needs."""
    for e in range(len(state.low)):
        if state.need[e] > state.low[e]:
            return False
    return True
