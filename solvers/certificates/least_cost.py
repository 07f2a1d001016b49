"""Proofs that no plan costs less than a claimed cost, by branch and bound on pools with multipliers and lemmas.

The Lagrangian relaxation drops the rule that buffers alive together must fit into their pool. Instead, it charges for
each byte used. The multipliers are found in floating point and rounded to integers, for which the bound is computed
exactly. If the bound does not refute a choice of pools, the lemma search tries to pack it. If that search proves that a
few buffers do not fit into certain pools, the result is kept as a lemma.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from math import gcd

import numpy as np

from memplan.planner.instance.instance import F64, Bool, Instance
from memplan.planner.model.buffer_table import I64
from memplan.solvers.certificates.goals import PriceMultipliers, Prices
from memplan.solvers.certificates.lemma_search import LemmaSearch
from memplan.solvers.certificates.text import ClaimText, ConflictSet, SetNumbers
from memplan.solvers.core.lemmas import EXHAUSTED, FAR, FOUND, STOPPED

_SCALES = (1, 2**6, 2**12, 2**20, 2**30)
_STEPS, _STEPS_BELOW = 400, 60
"""The limits of subgradient steps that improve multipliers: at the root, and at each other node."""
_PATIENCE, _SHORTER, _SHORTEST = 12, 0.6, 1e-3
_MEMORY = 0.9
"""The factor by which a step reduces the weights of the pools that earlier steps chose for a buffer."""
_DEEPEST = 300
_CHUNK = 20_000
_KEPT = 8
"""The number of recent multiplier vectors that are tried before new ones are computed."""
Lows = tuple[int, ...]
Need = dict[int, Lows]


@dataclass(eq=False)
class CostProof:
    """The search for a proof of one claim about the least cost; it collects the proof's lines.

    `ends` are the sizes of the pools in bytes. first[i][q] is the lowest legal offset of buffer i in pool q in bytes,
    or FAR if the buffer is not allowed there.
    """

    instance: Instance
    prices: Prices
    ends: tuple[int, ...]
    first: list[Lows]
    is_over: Callable[[], bool]
    flag: I64
    conflict_sets: list[ConflictSet] = field(init=False)
    sets: SetNumbers = field(init=False)
    worths: list[PriceMultipliers] = field(default_factory=list)
    worth_lines: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    learned: list[tuple[str, Need, I64]] = field(default_factory=list)
    has_cheaper: bool = False
    """True if the search found a plan that is cheaper than the claim."""

    def __post_init__(self) -> None:
        """Set up the conflict sets, the arrays of prices, and the common divisor of all cost differences."""
        instance = self.instance
        n = len(instance)
        search = LemmaSearch(instance, self.ends)
        self.conflict_sets, free = search.sets()
        # The search may use less than a pool's real size, so compute the free units from the pool's real end.
        taken = search.capacity - free
        self._free: F64 = np.array([end // instance.unit for end in self.ends], dtype=np.float64) - taken
        self.sets = SetNumbers(instance.source.tolist())
        self._price = np.array(self.prices.price, dtype=np.float64).reshape(len(self.ends), n)
        self._member = np.zeros((len(self.conflict_sets), n))
        for k, each in enumerate(self.conflict_sets):
            members = [i for i in each.buffers if instance.pin[i] < 0]
            self._member[k, members] = instance.size[members]
        self._pools = np.arange(len(self.ends))
        self._share = np.zeros((n, len(self.ends)))
        self._weight = np.zeros((len(self.conflict_sets), len(self.ends)))
        is_reachable = np.array([[low < FAR for low in lows] for lows in self.first], dtype=np.bool_).T
        self._known = is_reachable.reshape(len(self.ends), n)
        homes = [[q for q, low in enumerate(lows) if low < FAR] for lows in self.first]
        price = self.prices.price
        self.base = sum(price[mine[0]][i] for i, mine in enumerate(homes) if mine)
        self.step = gcd(*(price[q][i] - price[mine[0]][i] for i, mine in enumerate(homes) for q in mine))

    @property
    def is_no_question_of_cost(self) -> bool:
        """True if all plans cost the same, less than claimed. The claim then says that no plan fits."""
        return self.step == 0 and self.base < self.prices.least

    def claim(self) -> ClaimText | None:
        """Return the claim with the lines of its proof; None if time ran out or the search found no proof."""
        claim = self._refutation(self._known, {}, 0)
        if claim is None:
            return None
        lines = (*self.sets.lines, *self.worth_lines, *self.lines, f"end {claim[0]}")
        return ClaimText(self.ends, lines, len(self.lines), tuple(sorted(self.instance.source.tolist())))

    def _refutation(self, allowed: Bool, fixed: Need, depth: int) -> tuple[str, Need] | None:
        """Refute a choice of pools: prove that no plan within it costs less than claimed.

        `allowed[q, i]` is true where buffer `i` may use pool `q`. `fixed` maps each buffer whose pool the search has
        chosen to its limits. Returns (reference to the proof, those entries of `fixed` on which it depends), or None if
        no proof was found.
        """
        flat = allowed.ravel()
        # A lemma refutes every node that allows none of the choices of pools in `barred`, so look for one.
        for ref, need, barred in self.learned:
            if not flat[barred].any():
                return ref, need
        for k in range(len(self.worths) - 1, max(-1, len(self.worths) - 1 - _KEPT), -1):
            if (need_of := self._needed_buffers(k, allowed, fixed)) is not None:
                return f"${k}", need_of
        if depth > _DEEPEST or self.is_over():
            return None
        home, value = self._improve_multipliers(allowed, _STEPS if depth == 0 else _STEPS_BELOW)
        if value > self._cost_to_exceed() and self._append_rounded_multipliers(allowed):
            k = len(self.worths) - 1
            return f"${k}", self._needed_buffers(k, allowed, fixed) or {}
        branch = self._branching_buffer(allowed, home)
        if branch is None:
            if (core := self._prove_unpackable(home, allowed)) is None:
                return None
            is_open = np.flatnonzero(allowed[:, core].sum(axis=0) > 1)
            if len(is_open) == 0:
                return self.learned[-1][:2]
            branch = core[max(is_open.tolist(), key=lambda k: int(self.instance.size[core[k]]))]
        return self._refute_each_pool(branch, allowed, fixed, depth)

    def _refute_each_pool(self, b: int, allowed: Bool, fixed: Need, depth: int) -> tuple[str, Need] | None:
        """Refute each pool that buffer `b` may use; return the combined lemma, or None if a pool is not refuted."""
        p = len(self.ends)
        refs, merged, lows = ["-"] * p, dict[int, Lows](), [FAR] * p
        for q in np.flatnonzero(allowed[:, b]).tolist():
            inner = allowed.copy()
            inner[:, b] = False
            inner[q, b] = True
            only = tuple(0 if k == q else FAR for k in range(p))
            claim = self._refutation(inner, fixed | {b: only}, depth + 1)
            if claim is None:
                return None
            refs[q], need = claim
            # A refutation that does not use the choice for buffer b refutes the whole node, so no split is needed.
            if b not in need:
                return claim
            lows[q] = need[b][q]
            for i, mine in need.items():
                merged[i] = tuple(map(max, mine, merged.get(i, (0,) * p)))
        merged[b] = tuple(lows)
        return self._append_lemma(("s", b, *refs), merged)

    def _append_lemma(self, words: tuple[str | int, ...], need: Need) -> tuple[str, Need]:
        rows = self.instance.source
        state = (
            f"{rows[i]}:{','.join('-' if low >= FAR else str(low) for low in lows)}" for i, lows in sorted(need.items())
        )
        self.lines.append(" ".join([str(words[0]), str(rows[int(words[1])]), *map(str, words[2:]), *state]))
        self._store_lemma(str(len(self.lines) - 1), need)
        return str(len(self.lines) - 1), need

    def _needed_buffers(self, k: int, allowed: Bool, fixed: Need) -> Need | None:
        """Return fixed buffers that suffice to refute a choice of pools.

        The refutation uses the multipliers with number `k`. Returns None if these multipliers do not refute the choice.
        """
        multipliers = self.worths[k]
        least = multipliers.min_costs(allowed)
        slack = int(least.sum()) - multipliers.paid - multipliers.scale * self._cost_to_exceed() - 1
        if slack < 0:
            return None
        need, gains = dict(fixed), least - multipliers.min_costs(self._known)
        for gain, i in sorted((int(gains[i]), i) for i in fixed):
            # First drop the buffers that add least to the bound, so that the lemma needs as few buffers as possible.
            if gain > slack:
                break
            slack -= gain
            del need[i]
        return need

    def _cost_to_exceed(self) -> int:
        least = self.prices.least
        if self.step == 0:  # All plans have one cost, so a bound above `least - 1` suffices.
            return least - 1
        # Costs of plans differ by multiples of `step`, so only costs of the form base + k * step are possible.
        return least + (self.base - least) % self.step - self.step

    def _improve_multipliers(self, allowed: Bool, steps: int) -> tuple[I64, float]:
        """Improve the multipliers for a choice of pools by subgradient steps.

        Returns an array with the cheapest pool of each buffer under the best multipliers, and their lower bound on the
        cost.
        """
        goal, weight, best, best_value = float(self._cost_to_exceed() + 1), self._weight, self._weight, -np.inf
        everything, size, stalled = np.arange(len(self.instance)), 1.0, 0
        price = np.where(allowed, self._price, np.inf)
        self._share[:] = 0
        for _ in range(steps):
            charged = price + weight.T @ self._member
            home = charged.argmin(axis=0)
            self._share *= _MEMORY
            # The search branches on the buffer with the least clear pool, so average how often each was cheapest.
            self._share += (1 - _MEMORY) * (home[:, None] == self._pools)
            value = float(charged[home, everything].sum() - (weight * self._free).sum())
            stalled = 0 if value > best_value + 1e-6 * abs(best_value) else stalled + 1
            if value > best_value:
                best, best_value = weight, value
            if value >= goal + 0.5 or size < _SHORTEST or self.is_over():
                break
            if stalled >= _PATIENCE:
                weight, size, stalled = best, size * _SHORTER, 0
            excess = self._loads_by_set(home) - self._free
            excess[(weight <= 0) & (excess < 0)] = 0
            length = float((excess * excess).sum())
            if length == 0:
                break
            weight = np.maximum(0, weight + size * max(goal + 1 - value, 1.0) / length * excess)
        self._weight = best
        return np.asarray((price + best.T @ self._member).argmin(axis=0)), best_value

    def _loads_by_set(self, home: I64) -> F64:
        return np.asarray(self._member @ (home[:, None] == self._pools), dtype=np.float64)

    def _append_rounded_multipliers(self, allowed: Bool) -> bool:
        """Append to the proof the coarsest integer multipliers that refute a choice; return False if none refute it."""
        unit = self.instance.unit
        # Try coarse scales first, because they make the lines of the proof shorter.
        for scale in _SCALES:
            whole = np.rint(self._weight * (scale / unit)).astype(np.int64)
            multipliers = self._integer_charges(scale, whole)
            if int(multipliers.min_costs(allowed).sum()) - multipliers.paid > scale * self._cost_to_exceed():
                self.worths.append(multipliers)
                self.worth_lines.append(" ".join(["worth", str(scale), *self._multiplier_words(whole)]))
                return True
        return False

    def _integer_charges(self, scale: int, whole: I64) -> PriceMultipliers:
        unit, paid = self.instance.unit, 0
        charge = np.array(self.prices.price, dtype=object).reshape(len(self.ends), -1) * scale
        for k, q in np.argwhere(whole > 0).tolist():
            weight = int(whole[k, q]) * unit
            # The checker also prices the bytes after the last whole unit of a pool or reserved range, so add them.
            paid += weight * int(self._free[k, q]) + int(whole[k, q]) * (self.ends[q] % unit)
            charge[q] += weight * self._member[k].astype(np.int64).astype(object)
        return PriceMultipliers(scale, charge, paid)

    def _multiplier_words(self, whole: I64) -> Iterator[str]:
        for k, q in np.argwhere(whole > 0).tolist():
            number = self.sets.ref(self.conflict_sets[k], 1, 0, 1).removeprefix("@")
            yield f"{number}:{q}:{whole[k, q]}"

    def _branching_buffer(self, allowed: Bool, home: I64) -> int | None:
        """Return the buffer to branch on: a large one whose cheapest pool changed often as the multipliers improved.

        If no cheapest pool changed, it is the buffer with the widest range of prices. Returns None if no buffer has
        several allowed pools. Also returns None if the choice of cheapest pools costs less than the claim and overloads
        no conflict set, because only packing can refute that choice.
        """
        is_open = allowed.sum(axis=0) > 1
        everything = np.arange(len(self.instance))
        is_cheap = self._price[home, everything].sum() < self.prices.least
        if not is_open.any() or (is_cheap and not (self._loads_by_set(home) > self._free).any()):
            return None
        split = np.where(is_open, (1 - self._share.max(axis=1)) * self.instance.size, 0.0)
        if split.max() > 0:
            return int(split.argmax())
        spread = np.where(allowed, self._price, -np.inf).max(axis=0) - np.where(allowed, self._price, np.inf).min(
            axis=0
        )
        return int(np.where(is_open, spread, -1.0).argmax())

    def _prove_unpackable(self, home: I64, allowed: Bool) -> list[int] | None:
        """Prove by lemmas that the choice `home` of pools cannot be packed; return the proof's buffers, or None."""
        p = len(self.ends)
        is_allowed = allowed & (np.arange(p)[:, None] == home)
        instance = replace(self.instance, allowed=is_allowed)
        search = LemmaSearch(instance, self.ends)
        while search.run(_CHUNK, self.flag) == STOPPED:
            if self.is_over():
                return None
        if search.outcome != EXHAUSTED:
            cost = self._price[home, np.arange(len(home))].sum()
            self.has_cheaper = search.outcome == FOUND and bool(cost < self.prices.least)
            return None
        proof = search.lines(len(self.sets.lines), len(self.lines))
        if proof.ref.startswith("!"):
            return None
        self.sets.lines += proof.sets
        self.lines += proof.lemmas
        need = {
            i: tuple(lows.get(q, 0) if is_allowed[q, i] else FAR for q in range(p)) for i, lows in proof.need.items()
        }
        self._store_lemma(proof.ref, need)
        return list(need)

    def _store_lemma(self, ref: str, need: Need) -> None:
        n = len(self.instance)
        barred = [q * n + i for i, lows in need.items() for q, low in enumerate(lows) if low >= FAR]
        self.learned.append((ref, need, np.array(barred, dtype=np.int64)))
