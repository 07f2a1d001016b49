"""The descent: a search for drops (times without a tensor) that meet lower and lower budgets.

The sequence of budgets does not depend on the limit, so drops found on the way to one limit also serve other limits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memplan.extensions.recompute.annealing import Annealing
from memplan.extensions.recompute.search import DropSearch, largest_operation_bytes, peak_steps
from memplan.extensions.recompute.stays import Drops

_STEP = 0.98
"""The ratio between consecutive budgets of the descent."""
_IDLE = 3
"""The number of consecutive budgets without drops that meet them, after which the descent ends."""
_LARGE = 200
"""The number of operations above which each budget of the descent starts only from the drops of the last budget."""
_BISECTIONS = 8
_STEPS_TO_LIMIT = 4
"""The number of points with peaks between the full peak and a limit."""
_ABOVE = 32
"""The number of peaks above a limit whose programs are passed to a search with a link."""
_MARKS = 300
"""The number of peaks for which the cheapest program is kept if the cost is limited."""
_RAISED = 8
"""The number of cheapest drop sets below a limit from which unneeded drops are removed."""


class Descent:
    """A descent from a program without drops (times without a tensor) to lower and lower peaks.

    `found` has all drop sets seen, and `others` some more sets with nearly the lowest peak.
    """

    def __init__(self, search: DropSearch) -> None:
        """Start from the program that keeps each tensor until its last use."""
        self.search, self.start = search, search.empty_drops()
        self.found: list[Drops] = []
        self.others: list[Drops] = []
        self._is_large = search.stays.n > _LARGE
        self._seed = 0

    def reach_limit(self, limit: int) -> list[Drops]:
        """Return drop sets (times without a tensor) of falling peaks, down to a limit or else to the lowest peak.

        If work is counted, the search for a lower limit begins with all steps of the search for a higher limit, so that
        the answer for the higher limit never costs more.
        """
        if limit >= self.start.peak:
            return []
        budgets = peak_steps(self.start.peak, limit, _STEPS_TO_LIMIT)
        if not self.search.counts_work:
            self._best_drops(self._sweep(budgets), limit)
        for budget, drops in self._descend():
            if self._is_large and min(budget, drops.peak) <= limit and not self.search.counts_work:
                break
        if not self.search.counts_work:
            within = sorted((drops for drops in self.found if drops.peak <= limit), key=lambda drops: drops.cost)
            self.found += [self.search.undo_unneeded(drops, limit) for drops in within[:_RAISED]]
        annealing = Annealing(self.search, [*self._percentage_budgets(), limit], self.found)
        if self.search.counts_work:
            least = min((drops.peak for drops in self.found), default=self.start.peak)
            annealing.climb([peak for peak in self._percentage_budgets() if peak >= least], limit)
        else:
            annealing.rounds(limit)
        self.found += annealing.new_drops()
        least = min((drops.peak for drops in self.found), default=self.start.peak)
        return self._cheapest_drops([*budgets, *([] if least <= limit else [least])])

    def reach_cost(self, most: int, points: int) -> list[Drops]:
        """Return drop sets (times without a tensor) of falling peaks, each with a total cost of at most `most`."""
        lowest = self.search.drops_within(self.start, largest_operation_bytes(self.search.stays))
        budgets = peak_steps(self.start.peak, lowest.peak, points)
        self._bisect(self._sweep(budgets, most), lowest.peak, most)
        for _, drops in self._descend():
            if drops.cost > most:
                break
        marks = peak_steps(self.start.peak, max(1, largest_operation_bytes(self.search.stays)), _MARKS)
        annealing = Annealing(self.search, [*marks, self.start.peak], [self.start, *self.found])
        annealing.lower_peak(most)
        return self._affordable_drops(annealing, most, points)

    def continue_to_cost(self, most: int, points: int) -> list[Drops]:
        """Continue the search of `reach_cost` until the time is over; return drop sets of falling peaks."""
        marks = peak_steps(self.start.peak, max(1, largest_operation_bytes(self.search.stays)), _MARKS)
        annealing = Annealing(self.search, [*marks, self.start.peak], [self.start, *self.found], self._seed)
        while not self.search.is_over() and annealing.lower_peak(most):
            pass
        return self._affordable_drops(annealing, most, points)

    def _affordable_drops(self, annealing: Annealing, most: int, points: int) -> list[Drops]:
        """Take over the drops that an annealing found; return the cheapest ones that cost at most `most`."""
        self.found += annealing.new_drops()
        self._seed = annealing.seed
        self.others = sorted((drops for drops in annealing.ended if drops.cost <= most), key=lambda drops: drops.peak)
        affordable = [drops for drops in self.found if drops.cost <= most]
        return self._cheapest_drops(self._budgets_to_lowest(affordable, points), affordable)

    def reach_lowest(self, points: int) -> list[Drops]:
        """Return drop sets (times without a tensor) of falling peaks, the last of which has the lowest peak found."""
        lowest = self.search.drops_within(self.start, largest_operation_bytes(self.search.stays))
        self.found.append(lowest)
        self._sweep(peak_steps(self.start.peak, lowest.peak, points))
        for _ in self._descend():
            pass
        budgets = sorted(self._budgets_to_lowest(self.found, points))
        annealing = Annealing(self.search, budgets, self.found)
        annealing.climb(budgets, self.start.peak)
        self.found += annealing.new_drops()
        return self._cheapest_drops(self._budgets_to_lowest(self.found, points))

    def _percentage_budgets(self) -> list[int]:
        """Return 1 to 99 percent of the full peak as budgets, in bytes, which do not depend on the limit."""
        return sorted({self.start.peak * percent // 100 for percent in range(1, 100)})

    def cheapest_within(self, limit: int) -> Drops | None:
        """Return the cheapest known drop set (times without a tensor) with a peak within a limit in bytes, or None."""
        within = (drops for drops in self.found if drops.peak <= limit)
        return min(within, key=lambda drops: (drops.cost, drops.peak), default=None)

    def drops_above(self, limit: int) -> list[Drops]:
        """Return the cheapest known drop sets (times without a tensor) for several falling peaks above a limit."""
        return self._cheapest_drops(peak_steps(self.start.peak, limit, _ABOVE))

    def search_lower(self, limit: int) -> None:
        """Search for drops (times without a tensor) within a lower limit than before, or again within the same."""
        if self.cheapest_within(limit) is None:
            # Random changes alone hardly lower the peak of a large graph, so first search greedily.
            self._best_drops(min(self.found, key=lambda drops: drops.peak, default=self.start), limit, is_quick=True)
        annealing = Annealing(self.search, [limit], self.found, self._seed)
        annealing.rounds(limit)
        self._seed = annealing.seed
        self.found += annealing.new_drops()

    def _sweep(self, budgets: Sequence[int], most: int | None = None) -> Drops:
        """Descend through budgets until one is missed or too expensive; return the last drops that lowered the peak."""
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
        """Descend through fixed budgets until several in a row are missed; yield each budget with its best drop set."""
        last, idle, budget = self.start, 0, self.start.peak
        floor = largest_operation_bytes(self.search.stays)
        while idle < _IDLE and floor < budget and not self.search.is_over():
            budget = max(floor, min(budget - 1, int(budget * _STEP)))
            best = self._best_drops(last, budget, is_quick=self._is_large)
            idle = 0 if best.peak <= budget else idle + 1
            if best.peak < last.peak:
                last = best
            yield budget, best

    def _best_drops(self, last: Drops, budget: int, is_quick: bool = False) -> Drops:
        """Return the better of two drop sets for a budget: one that extends `last`, and one built from no drops.

        Drops for a higher budget may prevent better ones. If `is_quick`, the second is tried only if the first fails.
        """
        tried = [self.search.drops_within(last, budget)]
        if tried[0].peak > budget or not is_quick:
            tried.append(self.search.drops_within(self.start, budget))
        self.found += tried
        return min(tried, key=lambda drops: (max(drops.peak, budget), drops.cost))

    def _bisect(self, last: Drops, least: int, most: int) -> None:
        """Search by bisection for the lowest peak within the cost `most`, between `least` and the peak of `last`."""
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
        """Return `points` budgets from the full peak down to the lowest peak of the drops found, in bytes."""
        least = min((drops.peak for drops in found), default=self.start.peak)
        return [*peak_steps(self.start.peak, least, points), least]

    def _cheapest_drops(self, budgets: Sequence[int], found: Sequence[Drops] | None = None) -> list[Drops]:
        """Return the cheapest drop set within each budget, without repetition."""
        found = self.found if found is None else found
        chosen: list[Drops] = []
        for budget in budgets:
            within = [drops for drops in found if drops.peak <= budget and drops.peak < self.start.peak]
            best = min(within, key=lambda drops: (drops.cost, drops.peak), default=None)
            if best is not None and not any(best is drops for drops in chosen):
                chosen.append(best)
        return chosen
