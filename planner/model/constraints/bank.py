"""`bank`: buffers used at one step must not touch a common bank, or each pair that does so has a cost."""

from collections.abc import Iterator
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt

from memplan.planner.errors import excerpt
from memplan.planner.model.buffer_table import I64, Bool
from memplan.planner.model.columns import unique_values
from memplan.planner.model.constraints.kept import Breaks, KeptBuffers, adjacency, tied_in_entries, unknown_ids
from memplan.planner.model.finding import Finding
from memplan.planner.model.problem_fields import BankUse, ProblemFields, counts_cost

MAX_PAIRS = 1_000_000
"""The maximum number of pairs in all entries of `bank`; an entry counts every pair of its buffers."""


def unknown_names(problem: ProblemFields) -> Breaks:
    """Yield a broken rule for each id in `bank` that does not belong to a buffer."""
    return unknown_ids(problem, ((("bank", k, "buffers"), use.buffers) for k, use in enumerate(problem.bank)))


def pair_limit_breaks(problem: ProblemFields) -> Breaks:
    """Yield a broken rule if the entries of `bank` have more than MAX_PAIRS pairs."""
    pairs = sum(comb(len(use.buffers), 2) for use in problem.bank)
    if pairs > MAX_PAIRS:
        yield ("bank",), f"must make at most {MAX_PAIRS} pairs, got {pairs}"


def contradictions(problem: ProblemFields) -> Breaks:
    """Yield a broken rule for each `bank` entry with two buffers that `alias_of` or `relative` connects."""
    return tied_in_entries(problem, "bank")


def columns(kept: KeptBuffers) -> dict[str, Any]:
    """Return the columns of `bank`: the lists `bank_with`, and the pairs `soft_pairs` with their `soft_weight`.

    Pairs without effect are left out. A pair has no effect if its buffers have no common pool with banks. A weighted
    pair has no effect either if it also has a hard rule, if its weight is 0, or if weights are not minimised.
    """
    problem, n = kept.problem, max(len(kept), 1)
    has_banks = np.array([pool.bank_size is not None for pool in problem.pools])
    must = [use for use in problem.bank if use.weight is None]
    should = [use for use in problem.bank if use.weight and counts_cost(problem.objective)]
    hard, _ = _used_together(kept, must, kept.allowed[has_banks])
    soft, weight = _used_together(kept, should, kept.allowed[has_banks])
    never = unique_values(hard)
    counts = ~np.isin(soft, never)
    pairs, which = np.unique(soft[counts], return_inverse=True)
    first, partners = adjacency(np.stack(np.divmod(never, n), axis=1), len(kept))
    return {
        "bank_first": first,
        "bank_with": partners,
        "soft_pairs": np.stack(np.divmod(pairs, n), axis=1),
        "soft_weight": np.bincount(which, weight[counts], minlength=len(pairs)).astype(np.float64),
    }


def _used_together(kept: KeptBuffers, uses: list[BankUse], allowed: Bool) -> tuple[I64, npt.NDArray[np.float64]]:
    """Return (pairs, weights): kept buffers that an entry of `uses` names together and that have a common allowed pool.

    The pair i < j is coded as the number n * i + j. A pair in several entries is listed once for each entry.
    """
    codes, weights = [np.zeros(0, dtype=np.int64)], [np.zeros(0)]
    for use in uses:
        at = kept.home[[kept.problem.index[name] for name in use.buffers]]
        at = np.sort(at[at >= 0])
        first, second = np.triu_indices(len(at), 1)
        i, j = at[first], at[second]
        may_clash = (allowed[:, i] & allowed[:, j]).any(axis=0)
        codes.append((len(kept) * i + j)[may_clash])
        weights.append(np.full(int(may_clash.sum()), use.weight or 0.0))
    return np.concatenate(codes), np.concatenate(weights)


def idle_bank_findings(problem: ProblemFields) -> Iterator[Finding]:
    """Report `bank` entries without effect, because no pool has banks or because weights are not minimised."""
    if all(pool.bank_size is None for pool in problem.pools):
        yield Finding("idle-banks", "bank: has no effect, because no pool has a bank_size")
    elif not counts_cost(problem.objective) and any(use.weight for use in problem.bank):
        got = excerpt(problem.objective)
        yield Finding("idle-weights", f'bank: weights are minimised with objective "cost" only, got {got}')
