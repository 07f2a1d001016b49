"""Plans of chains (sequences of regions): each plan makes a point, and the Pareto-optimal points are kept."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from memplan.extensions.cascade.access.access_graph import AccessGraph
from memplan.extensions.cascade.answer import CascadePoint
from memplan.extensions.cascade.core.kernels import FOUND_FROM, FOUND_PEAK, FOUND_TO, FOUND_TRAFFIC
from memplan.extensions.cascade.search.front import Chain, front_of_three
from memplan.extensions.cascade.search.options import CascadeOptions
from memplan.extensions.cascade.search.orders import After, alternative_orders, orders_of_passes
from memplan.extensions.cascade.search.passes import SeveralPasses, Variant, repeated_variants, variant_of
from memplan.extensions.cascade.search.points import plan_chain
from memplan.extensions.cascade.search.search import RegionSearch, Windows, undominated_regions
from memplan.extensions.cascade.search.steps import RegionSteps
from memplan.extensions.cascade.search.tables import slow_traffic_of_regions, streamed_tensors

PLAN_S = 10.0
"""The maximum time for planning one point, in seconds."""
POOLS_S = 1.0
"""The maximum time for planning one point in two memories, in seconds; it is short because many points are tried."""
FRACTIONS = (2, 8)
MOST_CHAINS = 12
"""The shares of the fast memory above which tensors move to the slow one; the maximum number of planned chains."""


class Planning:
    """The search for the points of a graph, which plans chains of regions and keeps the Pareto-optimal points."""

    def __init__(
        self,
        graph: AccessGraph,
        options: CascadeOptions,
        is_over: Callable[[], bool],
        on_point: Callable[[CascadePoint], None],
    ) -> None:
        """Start without points; `on_point` receives each planned point."""
        self.graph, self.options, self.on_point = graph, options, on_point
        self._is_over, self.cut_short = is_over, dict[str, None]()
        self.most = options.max_macs(graph.macs)
        self.has_traffic = "traffic" in options.objectives
        self.points: list[CascadePoint] = []
        self.baseline: CascadePoint | None = None
        self.repeats = self.orders = self.cut_chains = self.unplanned = 0

    def is_over(self, what: str) -> bool:
        """Return True if the time is over; if so, record `what` as a part of the search that was cut short."""
        over = self._is_over()
        if over:
            self.cut_short[what] = None
        return over

    def run(self, search: RegionSearch, after: After) -> None:
        """Plan the chains (sequences of regions) of a search, then those in other orders, then those with repetitions.

        `after` lists, for each operation, the operations that must precede it although they share no tensor.
        """
        if self.options.pools:
            self._run_in_pools(search)
            return
        starts = [(self.options, search)]
        if self.options.is_sliding:
            # A slide may exclude the slide of the next region, so search for chains without slides as well.
            apart = self.options.model_copy(update={"overlap": "none"})
            starts.append((apart, RegionSearch(self.graph, apart, windows=search.windows)))
        variants = list[tuple[CascadeOptions, Variant]]()
        for how, looked in starts:
            variants.append((how, variant_of(self.graph, looked, partial(self.is_over, "regions"))))
            self.add(*variants[-1])
        again, is_free = partial(self.is_over, "repeats"), self.options.orders == "several"
        if is_free:
            variants = [(how, self._plan_orders(how, search.windows, start, after)) for how, start in variants]
        for how, start in variants:
            for variant in repeated_variants(start, how, search.windows, again) if self._can_repeat() else ():
                self.repeats += 1
                self.add(how, variant)
                if isinstance(variant, SeveralPasses) and is_free and not after:
                    self._plan_pass_orders(how, search.windows, start, variant)
        self.baseline = self._plan_unrolled()

    def _run_in_pools(self, looked: RegionSearch) -> None:
        """Plan chains for two memories, in rounds in which ever smaller tensors move to the slow memory."""
        graph, fast = self.graph, self.options.pools[0][1]
        steps = RegionSteps(graph, self.options)
        for limit in dict.fromkeys((fast, *(fast // part for part in FRACTIONS), 0)):
            elsewhere = [t for t, row in enumerate(graph.tensors) if row.bytes > limit]
            search = RegionSearch(graph, self.options, elsewhere)
            rows = search.run(partial(self.is_over, "regions"))
            looked.add(search)
            rows[:, FOUND_TRAFFIC] = slow_traffic_of_regions(graph, self.options, elsewhere, rows)
            is_short = rows[:, FOUND_TO] - rows[:, FOUND_FROM] <= self.options.longest
            rows = undominated_regions(rows[is_short & (rows[:, FOUND_PEAK] <= fast)])
            chains, cut = front_of_three(rows, len(graph.operations), self.most, partial(self.is_over, "chains"))
            picked = sorted({k * (len(chains) - 1) // (MOST_CHAINS - 1) for k in range(MOST_CHAINS)} if chains else ())
            for k in self._chains_in_time(picked):
                # Tensors moved to slow memory may fit into the fast memory, so plan with its whole size as well.
                for room in dict.fromkeys((fast, chains[k].peak)):
                    self._add_point(plan_chain(steps, rows, chains[k], POOLS_S, room))
            self.cut_chains += cut + len(chains) - len(picked)
        self.points = self.best_points()

    def _plan_orders(self, how: CascadeOptions, windows: Windows, start: Variant, after: After) -> Variant:
        """Plan chains (sequences of regions) in other operation orders; return the variant with the lowest peak.

        The returned variant may be `start`.
        """
        best, least = start, start.min_peak_chain(self.most)
        is_over = partial(self.is_over, "orders")
        streamed = streamed_tensors(self.graph, how)
        for graph in alternative_orders(start, after, streamed, self.most, is_over):
            self.orders += 1
            variant = variant_of(graph, RegionSearch(graph, how, windows=windows), is_over)
            self.add(how, variant)
            chain = variant.min_peak_chain(self.most)
            if chain is not None and (least is None or chain.peak < least.peak):
                best, least = variant, chain
        return best

    def _plan_pass_orders(self, how: CascadeOptions, windows: Windows, start: Variant, passes: SeveralPasses) -> None:
        is_over = partial(self.is_over, "orders")
        for graph in orders_of_passes(start, passes, streamed_tensors(self.graph, how), self.most):
            if is_over():
                return
            self.orders += 1
            self.add(how, variant_of(graph, RegionSearch(graph, how, windows=windows), is_over))

    def _can_repeat(self) -> bool:
        return bool(self.points) and (self.options.macs is None or self.options.macs > 1)

    def add(self, how: CascadeOptions, variant: Variant) -> None:
        """Plan the chains on a variant's Pareto front that are within the bounds, from both ends inwards."""
        # A length limit during the search would change which orders and repeats are found, so apply it afterwards.
        variant = variant.limit_lengths(self.options.longest)
        chains = [chain for chain in self._chains_of(variant) if self._is_wanted(chain)]
        # Planned points should span the front even if the time ends early, so plan from both ends of the front.
        order = sorted(range(len(chains)), key=lambda k: (min(k, len(chains) - 1 - k), k))
        steps = RegionSteps(variant.graph, how)
        for k in self._chains_in_time(order):
            alone = variant.graph_of_chain(chains[k])
            own = steps if alone.graph is variant.graph else RegionSteps(alone.graph, how)
            self._add_point(plan_chain(own, alone.found, alone.chains[0], PLAN_S))
        self.points = self.best_points()

    def _add_point(self, point: CascadePoint | None) -> None:
        if point is not None:
            self.points.append(point)
            self.on_point(point)

    def _plan_unrolled(self) -> CascadePoint | None:
        """Return the lowest-peak point whose steps recompute all inputs; None if time is over or `rolling` is off."""
        if self._is_over() or not self.options.rolling:
            return None
        how = self.options.model_copy(update={"overlap": "none", "rolling": False})
        search = RegionSearch(self.graph, how)
        variant = variant_of(self.graph, search, self._is_over)
        variant = variant.limit_lengths(self.options.longest)
        least = variant.min_peak_chain(self.most)
        return None if least is None else plan_chain(search.steps, variant.found, least, PLAN_S)

    def _chains_in_time(self, chains: Sequence[int]) -> Iterator[int]:
        for count, k in enumerate(chains):
            if self.points and self.is_over("points"):
                self.unplanned += len(chains) - count
                return
            yield k

    def _chains_of(self, variant: Variant) -> list[Chain]:
        if not self.has_traffic or not variant.graph.operations:
            return variant.chains
        chains, cut = front_of_three(variant.found, variant.cuts, self.most, partial(self.is_over, "chains"))
        self.cut_chains += cut
        return chains

    def _is_wanted(self, chain: Chain) -> bool:
        if chain.macs > self.most or (self.options.fit is not None and chain.peak > self.options.fit):
            return False
        return not any(self._is_as_good(point, chain) for point in self.points)

    def _is_as_good(self, one: Chain | CascadePoint, other: Chain | CascadePoint) -> bool:
        if one.peak > other.peak or one.macs > other.macs:
            return False
        if isinstance(one, CascadePoint) and isinstance(other, CascadePoint) and self.options.pools:
            return (one.slow_traffic or 0) <= (other.slow_traffic or 0)
        return one.traffic <= other.traffic or not self.has_traffic

    def best_points(self) -> list[CascadePoint]:
        """Return the Pareto-optimal points found so far, by falling peak."""
        best: list[CascadePoint] = []
        for point in sorted(self.points, key=lambda p: (p.peak, p.macs, p.slow_traffic or 0, p.traffic)):
            if not any(self._is_as_good(other, point) for other in best):
                best.append(point)
        return best[::-1]
