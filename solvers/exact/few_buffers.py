"""The best plan of a few buffers, found by deciding for each overlapping pair which buffer is below the other.

Once the pools are chosen and some pairs decided, the rules determine the least start of each buffer. No plan with these
decisions has a lower start for any buffer. If two buffers still violate a rule, the search tries both orders. If the
rule is a price, it also tries to pay. Plans are compared by prices first, then by the ends of the pools.
"""

from itertools import combinations, product
from math import prod

import numpy as np

from memplan.planner.instance.instance import Instance
from memplan.planner.instance.objective import score
from memplan.planner.model.buffer_table import column
from memplan.solvers.formulation.costs import Costs
from memplan.solvers.formulation.pair_rules import PairRules
from memplan.solvers.formulation.sharing import conflict_matrix
from memplan.solvers.search.incumbent import Search

NAME = "few"
_MOST_CHOICES, _MOST_NODES, _MOST_JUMPS = 3_000, 20_000, 10_000
Rule = tuple[int, int, int | None]
"""(grid, clearance, price): two buffers keep `clearance` units and a `grid` border, or pay `price` unless None."""
Packing = tuple[int, int, dict[int, int]]
"""The cost of the pairs, the end of the pool in units, and the start of each buffer by position."""


def solve(instance: Instance, search: Search, most_nodes: int = _MOST_NODES) -> None:
    """Offer the best plan of a tiny instance with its proof, or claim infeasibility; stop without proof at
    `most_nodes`.
    """
    if prod(map(int, instance.allowed.sum(axis=0))) > _MOST_CHOICES or not instance.is_small_numbered:
        return
    few = _FewBuffers(instance, search, most_nodes)
    best = few.best_plan()
    if best is not None:
        search.offer(*best, NAME)
    if not few.is_open and best is None:
        search.claim_infeasible(NAME)
    elif not few.is_open and best is not None:
        search.offer_bound(score(instance, *best), NAME)


class _FewBuffers:
    """The search for the best plan over all choices of pools. It packs each (pool, set of buffers) only once."""

    def __init__(self, instance: Instance, search: Search, most_nodes: int) -> None:
        """Store the instance's rules as lists, which are faster to read one by one than arrays."""
        self.instance, self.search, self.costs = instance, search, Costs.from_instance(instance)
        self.is_open, self.nodes, self.most_nodes = False, 0, most_nodes
        self.size: list[int] = instance.size.tolist()
        names = ("lowest", "alignment", "highest", "page", "page_shift")
        self.places = np.stack([getattr(instance, name) for name in names], axis=2).tolist()
        self.barred = [[instance.barred_to(i, q) for i in range(len(instance))] for q in range(len(instance.pools))]
        self.reserved = [pool.reserved.tolist() for pool in instance.pools]
        self.rules = [self._pair_rules_of_pool(q) for q in range(len(instance.pools))]
        self.packings: dict[tuple[int, tuple[int, ...]], Packing | None] = {}

    def _pair_rules_of_pool(self, q: int) -> dict[tuple[int, int], list[Rule]]:
        """Return the rules of each pair (i, j) of buffers in pool `q`, priced rules first."""
        instance, bank, rules = self.instance, self.instance.pools[q].bank, {}
        near, named = conflict_matrix(instance, np.arange(len(instance))), PairRules.from_pool(instance, q)
        for i, j in combinations(range(len(instance)), 2):
            rows = [k for k in range(named.first[i], named.first[i + 1]) if named.other[k] == j]
            must: list[Rule] = [(int(named.grid[k]), int(named.clearance[k]), None) for k in rows]
            must += [(1, 0, None)] if near[i, j] else []
            may: list[Rule] = []
            priced = zip(
                instance.priced_pairs.rows.tolist(),
                self.costs.clash,
                instance.priced_pairs.by_bank.tolist(),
                strict=True,
            )
            for pair, price, is_by_bank in priced if self.instance.objective == "cost" else ():
                if pair == [i, j] and (bank if is_by_bank else not must):
                    may.append((bank if is_by_bank else 1, 0, price))
            if must or may:
                rules[i, j] = sorted(may, key=lambda rule: -rule[0]) + must
        return rules

    def best_plan(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the pools and offsets of the best plan, or None if no plan was found."""
        instance, n = self.instance, len(self.instance)
        homes = [np.flatnonzero(instance.allowed[:, i]).tolist() for i in range(n)]
        least, best = None, None
        for choice in product(*homes):
            if any(choice[i] != choice[k] for i, k in enumerate(instance.colocation.tolist())):
                continue
            cost, packed = self.costs.plan_steps(choice, ()) * (instance.objective == "cost"), []
            if least is not None and cost > least[0]:
                continue
            for q in range(len(instance.pools)):
                one = self._cheapest_packing(q, tuple(i for i in range(n) if choice[i] == q))
                if one is None:
                    break
                packed.append(one)
            if self.is_open:
                return best
            if len(packed) < len(instance.pools):
                continue
            value = (cost + sum(one[0] for one in packed), *(one[1] for one in reversed(packed)))
            if least is None or value < least:
                least, starts = value, {i: at for one in packed for i, at in one[2].items()}
                best = column(choice), column([starts[i] for i in range(n)])
        return best

    def _cheapest_packing(self, q: int, members: tuple[int, ...]) -> Packing | None:
        """Return the cheapest packing of `members` in pool `q`, of equal ones the lowest; None if no packing fits."""
        if (q, members) not in self.packings:
            self.packings[q, members] = None
            pairs = [(i, j, self.rules[q][i, j]) for i, j in combinations(members, 2) if (i, j) in self.rules[q]]
            self._decide_pairs(q, members, [], pairs, 0)
        return self.packings[q, members]

    def _decide_pairs(
        self,
        q: int,
        members: tuple[int, ...],
        above: list[tuple[int, int, Rule]],
        pairs: list[tuple[int, int, list[Rule]]],
        paid: int,
    ) -> None:
        """Search for the best packing that keeps the decisions in `above`, and store it.

        A decision (i, j, rule) puts buffer j above buffer i, as the rule demands. The rules in `pairs` are not enforced
        yet: the search branches on the first one that is violated. `paid` is the sum of the prices paid so far.
        """
        self.nodes += 1
        self.is_open = self.is_open or self.nodes > self.most_nodes or self.search.is_over
        at, best = self._min_starts(q, members, above), self.packings[q, members]
        if self.is_open or at is None:
            return
        end = max((at[i] + self.size[i] for i in members), default=0)
        if best is not None and (paid, end) >= best[:2]:
            return
        k = next((k for k, (i, j, rules) in enumerate(pairs) if self._is_rule_broken(q, at, i, j, rules)), None)
        if k is None:
            self.packings[q, members] = paid, end, at
            return
        i, j, rules = pairs[k]
        others, price = pairs[:k] + pairs[k + 1 :], rules[0][2]
        for low, high in sorted(((i, j), (j, i)), key=lambda pair: at[pair[0]]):
            self._decide_pairs(q, members, [*above, *((low, high, rule) for rule in rules)], others, paid)
        if price is not None:
            self._decide_pairs(q, members, above, [*others, (i, j, rules[1:])], paid + price)

    def _is_rule_broken(self, q: int, at: dict[int, int], i: int, j: int, rules: list[Rule]) -> bool:
        return any(
            at[j] < self._min_start_above(q, i, at[i], rule) and at[i] < self._min_start_above(q, j, at[j], rule)
            for rule in rules
        )

    def _min_start_above(self, q: int, i: int, at: int, rule: Rule) -> int:
        end, shift = at + self.size[i], self.instance.pools[q].bank_shift
        border = -(-(end + shift) // rule[0]) * rule[0] - shift if rule[0] > 1 else end
        return max(end + rule[1], int(border))

    def _min_starts(
        self, q: int, members: tuple[int, ...], above: list[tuple[int, int, Rule]]
    ) -> dict[int, int] | None:
        """Return the least start of each buffer; None if a buffer does not fit or the decisions contradict each other.

        Decisions (i, j, rule) in `above` put buffer j above buffer i.
        """
        at = {i: self._first_legal_start(q, i, 0) for i in members}
        for _ in range(len(members) + 1):
            has_moved = False
            for i, j, rule in above:
                low, high = at[i], at[j]
                if low is not None and high is not None and (least := self._min_start_above(q, i, low, rule)) > high:
                    at[j], has_moved = self._first_legal_start(q, j, least), True
            if None in at.values():
                return None
            if not has_moved:
                return {i: start for i, start in at.items() if start is not None}
        return None

    def _first_legal_start(self, q: int, i: int, least: int) -> int | None:
        """Return buffer `i`'s least start in pool `q`, not below `least`, that its own rules allow, or None."""
        size, (lowest, step, highest, page, shift) = self.size[i], self.places[q][i]
        highest = min(highest, self.instance.pools[q].capacity - size)
        for _ in range(_MOST_JUMPS):
            at = lowest + max(0, -(-(least - lowest) // step)) * step
            least = max((high for low, high in self.reserved[q] if low < at + size and at < high), default=at)
            if page and (at + shift) % page + size > page:
                least = max(least, at + page - (at + shift) % page)
            least = max([least, *(high for low, high in self.barred[q][i] if low <= at < high)])
            if least == at or at > highest:
                return at if at <= highest else None
        self.is_open = True
        return None
