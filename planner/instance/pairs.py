"""Pairs of buffers, from a problem to an instance: explicit conflicts, what may share, what is used at one step.

Pairs are rows (i, j) of positions; `position` says where each buffer of the problem is in the instance, aliases in that
of the buffer they live in, and is ABSENT for a buffer of no bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

import numpy as np

from memplan.planner.instance.instance import F64, Bool
from memplan.planner.model.buffer_table import I64, column, frozen
from memplan.planner.model.problem import BankUse, Problem

Id = int | str


def conflict_pairs(problem: Problem, position: I64, anchor: I64) -> I64:
    """Return the explicit conflicts, but for those in one rigid group, whose bytes lie apart anyhow."""
    pairs = _of_some_bytes(_rows(problem, problem.conflicts, position))
    return np.asarray(pairs[anchor[pairs[:, 0]] != anchor[pairs[:, 1]]])


def sharing_pairs(problem: Problem, position: I64, first: I64, start: I64, end: I64) -> I64:
    """Return the pairs that may share an offset, where they are alive together; others share bytes anyhow.

    The lifetimes are those of the instance.
    """
    pairs = _of_some_bytes(_rows(problem, problem.may_share, position))
    meet = [
        any(
            start[k] < end[other] and start[other] < end[k]
            for k in range(first[i], first[i + 1])
            for other in range(first[j], first[j + 1])
        )
        for i, j in pairs.tolist()
    ]
    return pairs[np.array(meet, dtype=np.bool_)]


def bank_pairs(problem: Problem, position: I64, allowed: Bool) -> tuple[I64, I64, F64]:
    """Return the pairs that must touch no common bank, those that should not, i < j, and what each of these costs.

    Left out is what says nothing: pairs which no memory with banks may hold, and weights that are nothing, are on a
    pair that must, or are not minimised.
    """
    if not problem.bank:
        nothing = np.zeros((0, 2), dtype=np.int64)
        return nothing, nothing, np.zeros(0)
    n = allowed.shape[1]
    has_banks = np.array([pool.bank_size is not None for pool in problem.pools])
    must = [use for use in problem.bank if use.weight is None]
    should = [use for use in problem.bank if use.weight and problem.objective == "cost"]
    hard, _ = _used_together(problem, must, position, allowed[has_banks])
    soft, weight = _used_together(problem, should, position, allowed[has_banks])
    never = np.unique(hard)
    counts = ~np.isin(soft, never)
    pairs, which = np.unique(soft[counts], return_inverse=True)
    weights = np.bincount(which, weight[counts], minlength=len(pairs)).astype(np.float64)
    return np.stack(np.divmod(never, max(n, 1)), axis=1), np.stack(np.divmod(pairs, max(n, 1)), axis=1), weights


def _used_together(problem: Problem, uses: list[BankUse], position: I64, allowed: Bool) -> tuple[I64, F64]:
    """Return every two buffers i < j of each use which one of some memories may hold, as n * i + j, and weights."""
    codes, weights = [np.zeros(0, dtype=np.int64)], [np.zeros(0)]
    for use in uses:
        at = position[[problem.index[name] for name in use.buffers]]
        at = np.sort(at[at >= 0])
        first, second = np.triu_indices(len(at), 1)
        i, j = at[first], at[second]
        may_clash = (allowed[:, i] & allowed[:, j]).any(axis=0)
        codes.append((allowed.shape[1] * i + j)[may_clash])
        weights.append(np.full(int(may_clash.sum()), use.weight or 0.0))
    return np.concatenate(codes), np.concatenate(weights)


def adjacency(pairs: I64, n: int) -> tuple[I64, I64]:
    """Return symmetric lists (first, neighbours) of the pairs: neighbours[first[i]:first[i + 1]], ascending."""
    if len(pairs) == 0:
        return frozen(np.zeros(n + 1, dtype=np.int64)), column([])
    # One number a pair, n * first + second, sorts and compares much faster than a row; np.unique would hash it, slowly.
    both = np.sort(np.concatenate((pairs, pairs[:, ::-1])) @ np.array([n, 1]))
    both = both[np.diff(both, prepend=-1) > 0]
    return column(np.searchsorted(both, n * np.arange(n + 1))), column(both % max(n, 1))


def _rows(problem: Problem, pairs: Iterable[tuple[Id, Id]], position: I64) -> I64:
    """Return pairs of ids as rows."""
    given = list(pairs)
    index = problem.index if given else {}
    found = np.fromiter(map(index.__getitem__, chain.from_iterable(given)), np.int64, 2 * len(given))
    return np.asarray(position[found.reshape(-1, 2)])


def _of_some_bytes(rows: I64) -> I64:
    return np.asarray(rows[(rows >= 0).all(axis=1)])
