"""The search for stacking orders: first-fit orders, then plans for the symbol values at which they are worst."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from memplan.extensions.shapes.offset_programs import OffsetProgram, OffsetPrograms, ProgramsProof
from memplan.extensions.shapes.search.certificate import Verdict, lower_bound_forms, prove_within
from memplan.extensions.shapes.search.programs import program_of
from memplan.extensions.shapes.search.stacking import (
    Order,
    first_fit,
    order_for_any_sizes,
    order_of,
    order_respecting_pins,
    order_with_pins_first,
    peaks_of_order,
)
from memplan.extensions.shapes.search.values import best_row_cover, first_optimal, improve_order, planned_offsets
from memplan.planner.errors import TimeOverError, count_text
from memplan.programs.symbols.comparing import samples
from memplan.programs.symbols.polynomials import Polynomial
from memplan.programs.symbols.problem import SymbolicProblem
from memplan.programs.symbols.sized import CompiledSizes, Rows, compile_sizes
from memplan.programs.symbols.space import Values
from memplan.solvers.search.control import Control, ignore_report

_LARGE = 10_000
"""The number of buffers above which no program is found quickly, because the conflicts form a full matrix."""
SAMPLES = 256
CORNERS = 27
NEAR = 16
MOST_COVERED = 400
SEARCHING = 0.75
"""The fraction of the time for finding orders; proofs get the remaining time."""
CLOSE = Fraction(1, 2000)
"""The minimum excess of a refuting value's ratio over the worst sampled ratio, for adding the value to the sample."""
IDLE = 4
"""The number of rounds without progress, for each kept order, after which the search ends."""
PROVING = 0.25
"""The fraction of the search time for proofs, because refutations yield new sample values."""
RATIOS = tuple(Fraction(each, 10_000) for each in (0, 1, 10, 20, 30, 50, 100, 200, 500, 1000, 2500, 5000, 10_000))
"""The excess ratios above the bound that proofs try, in ascending order."""
PLANNING = 0.8
"""The fraction of the time for plans and proofs; verification gets the remaining time."""


@dataclass(frozen=True, eq=False)
class ProvedPrograms:
    """The offset programs of a problem and their proof; at each symbol value, the program of lowest peak applies.

    `loads` has the polynomials whose maximum is the lower bound.
    """

    sized: CompiledSizes
    programs: OffsetPrograms
    loads: tuple[Polynomial, ...]
    proof: ProgramsProof


def search_programs(
    problem: SymbolicProblem, most: int, running: Control, note: Callable[[ProvedPrograms], object] = ignore_report
) -> ProvedPrograms:
    """Search for at most `most` offset programs of a problem in most of the remaining time, and prove their peaks.

    `note` receives the first program found, for which nothing is proved yet. Raises ProblemError for invalid sizes.
    """
    return _Search(compile_sizes(problem), most, running, time.monotonic() + PLANNING * running.remaining_s).result(
        note
    )


@dataclass
class _Search:
    """The state of a search: sampled symbol values, known orders with peak-to-bound ratios there, and programs."""

    sized: CompiledSizes
    most: int
    control: Control
    deadline: float
    points: list[Values] = field(default_factory=list)
    orders: dict[Order, NDArray[np.float64]] = field(default_factory=dict)
    programs: dict[Order, OffsetProgram] = field(default_factory=dict)
    planned: set[int] = field(default_factory=set)
    formless: set[Order] = field(default_factory=set)
    rounds: int = 0
    proved_s: float = 0.0
    sizes: Rows = field(init=False)
    least: Rows = field(init=False)
    loads: list[Polynomial] = field(init=False)

    def result(self, note: Callable[[ProvedPrograms], object]) -> ProvedPrograms:
        """Search until the best programs are proved or the time is over, and return them."""
        sized = self.sized
        self.loads = lower_bound_forms(sized, lambda: self._is_late(self.deadline))
        if sized.count > _LARGE and self.control.is_over:
            buffers = count_text(sized.count, "buffer")
            raise TimeOverError(
                f"time_limit_s: must be enough for a program of {buffers}, got time for their bound only"
            )
        self.sizes = self.least = np.zeros((sized.count, 0), np.int64)
        self.bound = np.zeros(0, np.int64)
        self._add_points(samples(sized.space, SAMPLES))
        if (order := order_for_any_sizes(sized)) is not None:
            self._add_order(order)
            # With explicit conflicts or views, the optimum may exceed the bound, so only a proof shows optimality.
            is_at_bound = not (sized.apart or sized.views) or self._prove_ratio([order], Fraction(0)).found == "proved"
            if is_at_bound:
                return self._proved_result([order], Verdict("proved", "sizes"), Fraction(0), for_any_sizes=True)
        for order in map(self._add_order, self._first_fit_orders()):
            if len(self.orders) == 1:
                note(self._unproved_result(order))
            if self.orders[order].max() <= 1:
                verdict = self._prove_ratio([order], Fraction(0))
                if verdict.found == "proved":
                    return self._proved_result([order], verdict, Fraction(0))
                self._add_refuting_point(verdict)
            if self._is_late(self.deadline):
                break
        return self._improve_orders()

    def _improve_orders(self) -> ProvedPrograms:
        """Improve orders at the sampled values where they are worst, until some are proved optimal or time is over."""
        begun = time.monotonic()
        until = begun + SEARCHING * (self.deadline - begun)
        idle = 0
        while idle < IDLE * self.most and not self._is_late(until):
            worst, count = self._least_ratios(self._covering_orders(self.orders)), len(self.points)
            if idle or worst.max() <= 1 or PROVING * (time.monotonic() - begun) >= self.proved_s:
                if (proved := self._prove_orders()) is not None:
                    return proved
                worst = self._least_ratios(self._covering_orders(self.orders))
            self.rounds += 1
            is_new = self._plan_worst(worst) if self.rounds % 2 else self._anneal_order()
            is_new |= len(self.points) > count
            idle = 0 if is_new else idle + 1
        return self._best_result()

    def _prove_orders(self) -> ProvedPrograms | None:
        begun = time.monotonic()
        chosen = self._orders_with_forms()
        worst = float(self._least_ratios(chosen).max())
        over = Fraction(worst).limit_denominator(10**6) - 1 + CLOSE if worst > 1 else Fraction(0)
        verdict = self._prove_ratio(chosen, over, 0.1)
        self._add_refuting_point(verdict)
        self.proved_s += time.monotonic() - begun
        return self._proved_result(chosen, verdict, over) if verdict.found == "proved" and not over else None

    def _plan_worst(self, worst: NDArray[np.float64]) -> bool:
        """Plan the sampled value with the worst ratio that has no plan yet; return False if none above 1 remains."""
        for at in np.argsort(-worst, kind="stable").tolist():
            if worst[at] <= 1:
                return False
            if at not in self.planned:
                self.planned.add(at)
                left_s = min(1.0, self.deadline - time.monotonic())
                offsets = (
                    planned_offsets(self.sized, self.sizes[:, at], self.least[:, at], left_s) if left_s > 0 else None
                )
                if offsets is not None:
                    self._add_order(order_of(self.sized, offsets))
                return True
        return False

    def _anneal_order(self) -> bool:
        """Improve one order at the sampled values where all other best orders are bad; return False if this fails."""
        draw = np.random.default_rng(self.rounds)
        chosen = self._covering_orders(self.orders)
        left_out = self.rounds // 2 % (len(chosen) + 1)
        others = [each for i, each in enumerate(chosen) if i != left_out] if left_out < len(chosen) else []
        worst = self._least_ratios(others or self._covering_orders(self.orders, 1))
        by_ratio = np.argsort(-worst, kind="stable")
        some = np.unique([by_ratio[0], *draw.choice(by_ratio[:40], 3), *draw.integers(0, len(worst), 6)])
        start = min(self.orders, key=lambda order: (float(self.orders[order][some].max()), order))
        count, heat = len(self.orders), 0.01 if self.rounds % 3 else 0.002
        order = improve_order(
            self.sized, start, (self.sizes[:, some], self.least[:, some], self.bound[some]), heat, self.rounds
        )
        self._add_order(order)
        return len(self.orders) > count

    def _first_fit_orders(self) -> Iterator[Order]:
        sized = self.sized
        life = np.diff(sized.first)
        for point in samples(sized.space, 0)[::-1][:CORNERS]:
            size, least = sized.sizes([point])[:, 0], sized.min_offsets([point])[:, 0]
            area = size.astype(np.float64) * life
            for ranks in (-size, -area, -life * (float(size.max(initial=0)) + 1) - size):
                yield order_of(sized, first_fit(sized, np.asarray(ranks, np.float64), size, least))

    def _is_late(self, until: float) -> bool:
        return time.monotonic() > until or self.control.is_over

    # These methods add sampled values of the symbols and orders found by searches.

    def _add_points(self, points: Sequence[Values]) -> None:
        sizes, least = self.sized.sizes(points), self.sized.min_offsets(points)
        bound = np.maximum(self.sized.demand(sizes, least), 1)
        for order, ratios in self.orders.items():
            self.orders[order] = np.append(ratios, peaks_of_order(self.sized, order, sizes, least) / bound)
        self.points += points
        self.sizes, self.least = np.append(self.sizes, sizes, axis=1), np.append(self.least, least, axis=1)
        self.bound = np.append(self.bound, bound)

    def _add_order(self, order: Order) -> Order:
        if self.sized.pins:
            order = order_respecting_pins(self.sized, order, self.sizes, self.least)
            if program_of(self.sized, order) is None:
                order = order_with_pins_first(self.sized, order, self.sizes, self.least)
        if order not in self.orders:
            self.orders[order] = peaks_of_order(self.sized, order, self.sizes, self.least) / self.bound
        return order

    def _add_refuting_point(self, verdict: Verdict) -> bool:
        """Add the symbol values that refute a proof, and values near them, to the sample; return False if known."""
        if verdict.at is None or verdict.at in self.points:
            return False
        near = [verdict.at]
        for factor in (0.7, 0.85, 0.95, 1.05, 1.2, 1.4):
            for name, symbol in self.sized.space.symbols.items():
                low, high = symbol.steps
                step = min(high or 2**40, max(low, round(verdict.at[name] // symbol.multiple_of * factor)))
                near.append({**verdict.at, name: step * symbol.multiple_of})
        fresh = [point for i, point in enumerate(near) if point not in self.points and point not in near[:i]]
        self._add_points(fresh[:NEAR])
        return True

    def _least_ratios(self, orders: Sequence[Order]) -> NDArray[np.float64]:
        ratios: NDArray[np.float64] = np.min([self.orders[order] for order in orders], axis=0)
        return ratios

    def _choose_orders(self) -> list[Order]:
        """Return the fewest orders that together are optimal on the sample, or nearly optimal.

        There are at most `most` orders; nearly means within 0.02 % of the best that so many can reach. Orders whose
        peaks have closed forms are preferred, since nothing can be proved about the others.
        """
        while True:
            chosen = self._orders_with_forms()
            is_full = len(self.formless) == len(self.orders) or self._is_late(self.deadline)
            if is_full or not self.formless.intersection(chosen):
                return chosen

    def _orders_with_forms(self) -> list[Order]:
        chosen = self._covering_orders([order for order in self.orders if order not in self.formless] or self.orders)
        self.formless |= {order for order in chosen if self._program_of(order).forms is None}
        return chosen

    def _covering_orders(self, orders: Iterable[Order], most: int | None = None) -> list[Order]:
        rows = sorted(orders, key=lambda order: float(self.orders[order].max() + 0.3 * self.orders[order].mean()))
        rows = rows[:MOST_COVERED]
        ratios = np.array([self.orders[order] for order in rows])
        covers = [best_row_cover(ratios, count) for count in range(1, (most or self.most) + 1)]
        worst = [float(ratios[cover].min(axis=0).max()) for cover in covers]
        return [rows[i] for i in covers[first_optimal(worst)]]

    # These methods prove the results of orders.

    def _program_of(self, order: Order) -> OffsetProgram:
        if order not in self.programs:
            program = program_of(self.sized, order, lambda: self._is_late(self.deadline))
            assert program is not None  # Orders are adapted to pins before they are added, so a program exists.
            self.programs[order] = program
        return self.programs[order]

    def _unproved_result(self, order: Order) -> ProvedPrograms:
        program = program_of(self.sized, order, lambda: True)
        assert program is not None  # Orders are adapted to pins before they are added, so a program exists.
        before, self.programs = self.programs, {order: program}
        try:
            return self._proved_result([order], Verdict("open"), None)
        finally:
            self.programs = before

    def _prove_ratio(self, orders: Sequence[Order], over: Fraction, share: float = 0.5) -> Verdict:
        """Try to prove that, at all values, some order's peak is at most `1 + over` times the bound.

        The proof may take the fraction `share` of the remaining time.
        """
        now = time.monotonic()
        until = now + max(0.0, share * (self.deadline - now))
        forms = [program.forms for program in map(self._program_of, orders) if program.forms is not None]
        return prove_within(self.sized, forms, self.loads, over, until)

    def _best_result(self) -> ProvedPrograms:
        """Return the best orders on the sample, with the smallest ratio to the bound that can be proved.

        If nothing can be proved, the orders may be ones whose peaks have no polynomials.
        """
        chosen = self._provable_orders(self._choose_orders())
        seen = Fraction(float(self._least_ratios(chosen).max())).limit_denominator(10**6) - 1
        # Proofs of the smallest ratios take longest, so prove a slightly larger ratio first.
        ratios, last = [over for over in RATIOS if over >= seen], Verdict("open")
        proved: tuple[Verdict, Fraction] | None = None
        while ratios and not self._is_late(self.deadline):
            at = len(ratios) // 4
            verdict = self._prove_ratio(chosen, ratios[at])
            if verdict.found == "proved":
                proved, ratios = (verdict, ratios[at]), ratios[:at]
            else:
                last, ratios = verdict, [over for over in ratios[at + 1 :] if over >= verdict.ratio - 1]
        return self._proved_result(chosen if proved else self._covering_orders(self.orders), *(proved or (last, None)))

    def _provable_orders(self, chosen: list[Order]) -> list[Order]:
        """Return `chosen` or, if nothing can be proved about these orders, others.

        Proofs need an order whose peak has polynomials; `chosen` is returned if it has such an order or none is known.
        """
        having = [order for order, program in self.programs.items() if program.forms is not None]
        if not having or not self.formless.issuperset(chosen):
            return chosen
        best = min(having, key=lambda order: (float(self.orders[order].max()), order))
        return [*(self._covering_orders(self.orders, self.most - 1) if self.most > 1 else ()), best]

    def _proved_result(
        self, orders: Sequence[Order], verdict: Verdict, over: Fraction | None, *, for_any_sizes: bool = False
    ) -> ProvedPrograms:
        """Return the orders' offset programs, the outcome of their proof, and the worst sampled value."""
        ratios = self._least_ratios(orders)
        at = int(ratios.argmax())
        sizes, least, text = self.sizes[:, at : at + 1], self.least[:, at : at + 1], self.sized.space.text
        peak = min(int(peaks_of_order(self.sized, order, sizes, least)[0]) for order in orders)
        ratio = Fraction(peak, int(self.bound[at]))
        programs = [
            program.model_copy(update={"peak": None if program.forms is None else tuple(map(text, program.forms))})
            for program in map(self._program_of, orders)
        ]
        proof = ProgramsProof(
            ratio=None if over is None else float(over),
            by=verdict.by,
            for_any_sizes=for_any_sizes,
            worst=dict(self.points[at]) if ratio > 1 else None,
            worst_ratio=float(ratio),
        )
        return ProvedPrograms(
            self.sized,
            OffsetPrograms(
                sizes=tuple(map(text, self.sized.forms)),
                size_of=tuple(self.sized.form_of.tolist()),
                programs=tuple(programs),
            ),
            tuple(self.loads),
            proof,
        )
