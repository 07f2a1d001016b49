"""The descent, a search for programs that meet lower and lower budgets by more and more drops.

A drop is a time in which a tensor is not kept. The budgets do not depend on the limit, so the programs found on the way
to one limit also serve other limits.
"""

from collections.abc import Iterator, Sequence

from memplan.extensions.recompute.annealing import Annealing
from memplan.extensions.recompute.away import peak_lower_bound
from memplan.extensions.recompute.search import DropSearch, peak_steps
from memplan.extensions.recompute.stays import Drops

_STEP = 0.98
"""The ratio between consecutive budgets of the descent."""
_IDLE = 3
"""The number of consecutive budgets that no drops (times without a tensor) meet, after which the descent ends."""
_LARGE = 200
"""The number of operations above which the drops for a budget are built only from those for the last budget."""
_BISECTIONS = 8
_STEPS_TO_LIMIT = 4
"""The number of points with peaks between the full peak and a limit."""
_ABOVE = 32
"""The number of peaks above a limit whose programs are passed to a search with a link."""
_MARKS = 300
"""The number of peaks for which the cheapest program is kept if the cost is limited."""
_BELOW = 10
"""The number of peaks at and below a limit, each by 0.25 %, for which the cheapest program is kept."""
_APPROACH_SHARE = 0.4
"""The share of the remaining time for programs within falling budgets, from the program without drops."""
_RAISED = 8
"""The number of cheapest drop sets (programs) below a limit from which unneeded drops are removed."""


class Descent:
    """A descent to lower and lower peaks; the first program keeps every tensor until its last use.

    Drops (times without a tensor) describe programs: `found` those of all programs seen, and `others` those of more
    programs with nearly the lowest peak.
    """

    def __init__(self, search: DropSearch) -> None:
        """Start from the program without drops (times without a tensor): it keeps each tensor until its last use."""
        self.search, self.start = search, search.empty_drops()
        self.found: list[Drops] = []
        self.others: list[Drops] = []
        self._is_large = search.stays.n > _LARGE
        self._seed = 0

    def reach_limit(self, limit: int) -> list[Drops]:
        """Return the cheapest programs found for falling budgets, as drops (times without a tensor).

        The last budget is the limit or, if no program meets it, the lowest peak found. If work is counted, the search
        for a lower limit begins with all steps of the search for a higher limit, so that the answer for the higher
        limit never costs more.
        """
        if limit >= self.start.peak:
            return []
        budgets = peak_steps(self.start.peak, limit, _STEPS_TO_LIMIT)
        if not self.search.counts_work:
            self._best_drops(self._descend_budgets(budgets), limit)
        for budget, drops in self._descend():
            if self._is_large and min(budget, drops.peak) <= limit and not self.search.counts_work:
                break
        if not self.search.counts_work:
            within = sorted((drops for drops in self.found if drops.peak <= limit), key=lambda drops: drops.cost)
            self.found += [self.search.undo_unneeded(drops, limit) for drops in within[:_RAISED]]
        # Plans exceed their live peaks, so programs slightly below the limit are needed as well.
        below = [] if self.search.counts_work else [limit - limit * k // 400 for k in range(1, _BELOW)]
        annealing = Annealing(self.search, [*self._percentage_budgets(), limit, *below], self.found)
        if self.search.counts_work:
            least = min((drops.peak for drops in self.found), default=self.start.peak)
            annealing.climb([peak for peak in self._percentage_budgets() if peak >= least], limit)
        else:
            if self._is_large:
                with self.search.share(_APPROACH_SHARE):
                    annealing.approach(limit, self.start)
            annealing.rounds(limit)
        self.found += annealing.new_drops()
        least = min((drops.peak for drops in self.found), default=self.start.peak)
        return self._cheapest_drops([*budgets, *([] if least <= limit else [least])])

    def reach_cost(self, most: int, points: int) -> list[Drops]:
        """Return programs with falling peaks, as drops (times without a tensor).

        Each of the up to `points` programs costs at most `most` in total.
        """
        lowest = self.search.drops_within(self.start, peak_lower_bound(self.search.stays.graph))
        budgets = peak_steps(self.start.peak, lowest.peak, points)
        self._bisect_peak(self._descend_budgets(budgets, most), lowest.peak, most)
        for _, drops in self._descend():
            if drops.cost > most:
                break
        marks = peak_steps(self.start.peak, max(1, peak_lower_bound(self.search.stays.graph)), _MARKS)
        annealing = Annealing(self.search, [*marks, self.start.peak], [self.start, *self.found])
        annealing.lower_peak(most)
        return self._affordable_drops(annealing, most, points)

    def continue_to_cost(self, most: int, points: int) -> list[Drops]:
        """Continue the search of `reach_cost` until the time is over; return what `reach_cost` would return."""
        marks = peak_steps(self.start.peak, max(1, peak_lower_bound(self.search.stays.graph)), _MARKS)
        annealing = Annealing(self.search, [*marks, self.start.peak], [self.start, *self.found], self._seed)
        while not self.search.is_over() and annealing.lower_peak(most):
            pass
        return self._affordable_drops(annealing, most, points)

    def _affordable_drops(self, annealing: Annealing, most: int, points: int) -> list[Drops]:
        """Add an annealing's programs to `found`; return the cheapest affordable programs for falling budgets.

        A program is affordable if it costs at most `most`. Programs are given as drops (times without a tensor).
        """
        self.found += annealing.new_drops()
        self._seed = annealing.seed
        self.others = sorted((drops for drops in annealing.ended if drops.cost <= most), key=lambda drops: drops.peak)
        affordable = [drops for drops in self.found if drops.cost <= most]
        return self._cheapest_drops(self._budgets_to_lowest(affordable, points), affordable)

    def reach_lowest(self, points: int) -> list[Drops]:
        """Return programs with falling peaks, down to the lowest found, as drops (times without a tensor)."""
        lowest = self.search.drops_within(self.start, peak_lower_bound(self.search.stays.graph))
        self.found.append(lowest)
        self._descend_budgets(peak_steps(self.start.peak, lowest.peak, points))
        for _ in self._descend():
            pass
        budgets = sorted(self._budgets_to_lowest(self.found, points))
        annealing = Annealing(self.search, budgets, self.found)
        annealing.climb(budgets, self.start.peak)
        self.found += annealing.new_drops()
        return self._cheapest_drops(self._budgets_to_lowest(self.found, points))

    def _percentage_budgets(self) -> list[int]:
        return sorted({self.start.peak * percent // 100 for percent in range(1, 100)})

    def cheapest_within(self, limit: int) -> Drops | None:
        """Return the cheapest known program within `limit` bytes, as drops (times without a tensor), or None."""
        within = (drops for drops in self.found if drops.peak <= limit)
        return min(within, key=lambda drops: (drops.cost, drops.peak), default=None)

    def drops_above(self, limit: int) -> list[Drops]:
        """Return the cheapest programs found for budgets down to a limit, as drops (times without a tensor)."""
        return self._cheapest_drops(peak_steps(self.start.peak, limit, _ABOVE))

    def search_lower(self, limit: int) -> None:
        """Search for programs within a lower limit, or longer within an equal limit; add their drops to `found`."""
        if self.cheapest_within(limit) is None:
            # Random changes alone hardly lower the peak of a very large graph, so search greedily before annealing.
            self._best_drops(min(self.found, key=lambda drops: drops.peak, default=self.start), limit, is_quick=True)
        annealing = Annealing(self.search, [limit - limit * k // 400 for k in range(_BELOW)], self.found, self._seed)
        if annealing.nearest.peak > limit:
            annealing.approach(limit, annealing.nearest)
        annealing.rounds(limit)
        self._seed = annealing.seed
        self.found += [*annealing.new_drops(), annealing.nearest]

    def _descend_budgets(self, budgets: Sequence[int], most: int | None = None) -> Drops:
        """Search for drops for one budget after another, until a budget is missed or too expensive; return the best."""
        last = self.start
        for budget in budgets:
            best = self._best_drops(last, budget)
            if most is not None and best.cost > most:
                break
            if best.peak < last.peak:
                last = best
            if best.peak > budget:
                break
        return last

    def _descend(self) -> Iterator[tuple[int, Drops]]:
        """Yield (budget, best drops) for fixed falling budgets in bytes, until several budgets in a row are missed."""
        last, idle, budget = self.start, 0, self.start.peak
        floor = peak_lower_bound(self.search.stays.graph)
        while idle < _IDLE and floor < budget and not self.search.is_over():
            budget = max(floor, min(budget - 1, int(budget * _STEP)))
            best = self._best_drops(last, budget, is_quick=self._is_large)
            idle = 0 if best.peak <= budget else idle + 1
            if best.peak < last.peak:
                last = best
            yield budget, best

    def _best_drops(self, last: Drops, budget: int, is_quick: bool = False) -> Drops:
        """Return the better drops (times without a tensor) for a budget: drops added to `last`, or built from nothing.

        Drops for a higher budget may prevent better ones. If `is_quick`, the second set is built only if the first
        misses the budget.
        """
        tried = [self.search.drops_within(last, budget)]
        if tried[0].peak > budget or not is_quick:
            tried.append(self.search.drops_within(self.start, budget))
        self.found += tried
        return min(tried, key=lambda drops: (max(drops.peak, budget), drops.cost))

    def _bisect_peak(self, last: Drops, least: int, most: int) -> None:
        """Bisect between `least` and the peak of `last` for the lowest peak whose cost is at most `most`."""
        low = least
        for _ in range(_BISECTIONS):
            budget = (low + last.peak) // 2
            if budget <= low or budget >= last.peak:
                break
            tried = self.search.drops_within(last, budget)
            self.found.append(tried)
            if tried.peak <= budget and tried.cost <= most:
                last = tried
            else:
                low = budget

    def _budgets_to_lowest(self, found: Sequence[Drops], points: int) -> list[int]:
        least = min((drops.peak for drops in found), default=self.start.peak)
        return [*peak_steps(self.start.peak, least, points), least]

    def _cheapest_drops(self, budgets: Sequence[int], found: Sequence[Drops] | None = None) -> list[Drops]:
        found = self.found if found is None else found
        chosen: list[Drops] = []
        for budget in budgets:
            within = [drops for drops in found if drops.peak <= budget and drops.peak < self.start.peak]
            best = min(within, key=lambda drops: (drops.cost, drops.peak), default=None)
            if best is not None and not any(best is drops for drops in chosen):
                chosen.append(best)
        return chosen
