"""Problems of any size that combine two features, and the check of the solvers' plans for them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from memplan.planner.instance.audit import verify
from memplan.planner.instance.compile import compile_problem
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem, Profile
from memplan.solvers.portfolio.registry import BY_NAME
from memplan.solvers.portfolio.solve import solve
from tests.support import oracle

FEATURES = (
    *("pools", "alias", "no bytes", "pin", "alignment", "page", "bank", "relative"),
    *("sharing", "conflicts", "holes", "reserved", "cost", "profile"),
)
PAIRS = tuple(frozenset(pair) for pair in combinations(FEATURES, 2))
THRESHOLDS = (60, 400, 512, 2000, 4000, 5000)
"""Numbers of buffers above which the solvers change their methods.

Lemmas are tried up to 60 buffers, HiGHS up to 400, and all quick orders in one call up to 512. From 2,001 on, other
planners fill the pools in order. Cores are searched above 4,000, and CP-SAT runs only up to 5,000.
"""
SMALL = 5
"""The maximum number of buffers in problems that brute force solves."""
_PROFILES: tuple[Profile, ...] = ("speed", "balanced", "size")
_CHANCE = 0.25
_PIN_STEP, _BANK, _PAGE = 64, 32, 16


@dataclass(frozen=True)
class Case:
    """A random problem of `n` buffers that combines two features. In every third small case, all pools are limited."""

    features: frozenset[str]
    n: int
    seed: int = 0

    def __str__(self) -> str:
        """Return the features, the size and the seed as one line."""
        return f"{' and '.join(sorted(self.features))}, {self.n} buffers, seed {self.seed}"

    @property
    def profile(self) -> Profile | None:
        """Return the profile with which to plan, by default the one whose objective brute force minimises."""
        if "profile" in self.features:
            return _PROFILES[self.seed % len(_PROFILES)]
        return None if "cost" in self.features else "size"

    def problem(self) -> Problem:
        """Return the random problem; a large one always has a plan because its last pool is unlimited."""
        rng = np.random.default_rng([self.n, self.seed, *sorted(map(FEATURES.index, self.features))])
        unit = (1, 64)[self.seed % 2]
        rows = [_random_buffer(rng, i, self.n, self.features, unit) for i in range(self.n)]
        if "pools" in self.features:
            for row in rows:
                if rng.random() < _CHANCE and "offset" not in row:
                    row["pools"] = ["slow"]
        pairs = _PairTies(rows, rng, 2 * unit)
        data: dict[str, Any] = {"buffers": rows, "pools": self._draw_pools(rng, unit)}
        if "alias" in self.features:
            pairs.add_aliases()
        if "relative" in self.features:
            pairs.add_relatives()
        if "conflicts" in self.features:
            data["conflicts"] = pairs.draw()
        if "sharing" in self.features:
            data["may_share"] = pairs.draw()
        if "bank" in self.features:
            weight = {"weight": 2.5} if "cost" in self.features else {}
            data["bank"] = [{"buffers": pair} | (weight if k % 2 else {}) for k, pair in enumerate(pairs.draw())]
        if "cost" in self.features:
            data["objective"] = "cost"
        return Problem.model_validate(data)

    def _draw_pools(self, rng: np.random.Generator, unit: int) -> list[dict[str, Any]]:
        """Return the pools as JSON objects; the case's features decide if pools have banks, alignments and costs."""
        names = ["fast", "slow"] if "pools" in self.features else ["only"]
        pools: list[dict[str, Any]] = [{"name": name, "size": 3 * _PAGE * unit} for name in names]
        if self.n > SMALL or self.seed % 3:
            pools[-1].pop("size")
        for k, pool in enumerate(pools):
            if "bank" in self.features:
                pool |= {"bank_size": _BANK * unit, "device": k}
                pool["base_address"] = int(rng.integers(0, 3)) * _PIN_STEP * unit
            if "alignment" in self.features:
                pool["alignment"] = 2
            if "reserved" in self.features:
                pool["reserved"] = [[int(rng.integers(1, 9)) * unit, 3 * unit], [30 * unit, 2 * unit]]
            if "cost" in self.features:
                pool["cost"] = 1.0 + 2 * k
        return pools


def _random_buffer(rng: np.random.Generator, i: int, n: int, features: frozenset[str], unit: int) -> dict[str, Any]:
    """Return a random buffer, as a JSON object, that no rule ties to other buffers.

    The buffer's pin is far from other buffers' pins, and a page is larger than all sizes and alignments.
    """
    start = int(rng.integers(0, 2 + n // 3))
    row: dict[str, Any] = {"id": i, "size": unit * int(rng.integers(1, 9)), "start": start}
    row["end"] = start + int(rng.integers(1, 5))
    drawn = {name for name in sorted(features) if rng.random() < _CHANCE}
    if "no bytes" in drawn:
        row["size"] = 0
    if "holes" in drawn:
        del row["start"], row["end"]
        row["lifetimes"] = [[start, start + 1], [start + 2, start + 4]]
    if "alignment" in drawn:
        row["alignment"] = int(rng.choice([2, 4, 8]))
    if "page" in drawn:
        row["no_cross"] = _PAGE * unit
    if "pin" in drawn:
        row |= {"offset": (1 + i) * _PIN_STEP * unit, "pools": ["slow" if "pools" in features else "only"]}
    if "cost" in features:
        row["traffic"] = int(rng.integers(0, 20))
    return row


class _PairTies:
    """The ties (aliases, fixed distances in multiples of `step`) of random buffers, and pairs of untied buffers."""

    def __init__(self, rows: list[dict[str, Any]], rng: np.random.Generator, step: int) -> None:
        self._rows, self._rng, self._step = rows, rng, step
        self._group = list(range(len(rows)))
        self._taken: set[tuple[int, int]] = set()

    def add_aliases(self) -> None:
        """Make some buffers aliases of earlier non-empty buffers that are not aliases themselves."""
        for i, row in enumerate(self._rows[1:], 1):
            to = self._rows[int(self._rng.integers(0, i))]
            if self._rng.random() < _CHANCE and "alias_of" not in to and to["size"] and "offset" not in row:
                at = to["size"] // 2 // self._step * self._step
                ties = {"alias_of": to["id"], "alias_offset": at, "size": min(row["size"], to["size"] - at)}
                for name in ("alignment", "no_cross", "pools"):
                    row.pop(name, None)
                row |= ties
                self._group[i] = self._group[to["id"]]

    def add_relatives(self) -> None:
        """Tie some buffers at fixed distances above other buffers by `relative`.

        Both buffers lose their alignments and pages, and the upper one its choice of pools; pins stay.
        """
        free = [i for i, row in enumerate(self._rows) if row["size"] and "alias_of" not in row]
        members: dict[int, list[int]] = {}
        for i, group in enumerate(self._group):
            members.setdefault(group, []).append(i)
        for to, i in zip(free[::2], free[1::2], strict=False):
            upper, lower = self._rows[i], self._rows[to]
            if "offset" not in upper and self._rng.random() < 2 * _CHANCE:
                for row in (upper, lower):
                    row.pop("alignment", None)
                    row.pop("no_cross", None)
                upper.pop("pools", None)
                above = -(-lower["size"] // self._step) + int(self._rng.integers(0, 4))
                upper["relative"] = {"to": to, "offset": above * self._step}
                into = self._group[to]
                moved = members.pop(self._group[i])
                members[into] += moved
                for k in moved:
                    self._group[k] = into

    def draw(self) -> list[list[int]]:
        """Return random pairs of untied, non-empty, non-alias buffers; repeated calls return other pairs."""
        whole = np.array([i for i, row in enumerate(self._rows) if "alias_of" not in row and row["size"]], dtype=int)
        found = []
        for _ in range(len(whole) // 2):
            a, b = sorted(self._rng.choice(whole, 2, replace=False).tolist())
            if self._group[a] != self._group[b] and (a, b) not in self._taken:
                self._taken.add((a, b))
                found.append([a, b])
        return found


def complaints(case: Case, solvers: Sequence[str], time_limit_s: float, *, is_quick: bool = True) -> list[str]:
    """Plan a case with each given solver that supports its features, and return a line for each fault."""
    problem = case.problem()
    needed = compile_problem(problem).features
    plans = {}
    for solver in solvers:
        if solver == "auto" or needed <= BY_NAME[solver].can:
            plans[solver] = solve(
                problem,
                time_limit_s=time_limit_s,
                solver=solver,
                deterministic=True,
                profile=case.profile if solver == "auto" else None,
                is_quick=is_quick,
            )
    wrong = [
        f"{case}: {name}: {found.rule} {found.message}"
        for name, plan in plans.items()
        for found in (verify(problem, plan) if plan.placements else ())
    ]
    wrong += [f"{case}: {rule}" for rule in _false_statuses(case, problem, plans)]
    return wrong


def _false_statuses(case: Case, problem: Problem, plans: dict[str, Plan]) -> Iterator[str]:
    """Yield a line for each claim of a plan that another plan or, for small problems, brute force contradicts."""
    is_small = case.n <= SMALL
    least = oracle.best_score(problem) if is_small else ()
    for name, plan in plans.items():
        if plan.status == "infeasible" and least is not None:
            yield f"{name}: claims infeasible, but brute force finds a plan"
        if plan.status in ("optimal", "feasible") and least is None:
            yield f"{name}: claims a plan, but brute force finds none"
        if not is_small and plan.status not in ("optimal", "feasible"):
            yield f"{name}: {plan.status}"
        if is_small and plan.status == "optimal" and least and "profile" not in case.features:
            ends = tuple(pool.used for pool in reversed(plan.pools))
            found = ends if plan.cost is None else (round(plan.cost, 6),)
            known = least[-len(ends) :] if plan.cost is None else (round(least[0], 6),)
            if name == "auto" and found != known:
                yield f"{name}: claims {found} as optimal, but brute force finds {known}"
    peaks = [plan.peak for plan in plans.values() if plan.peak is not None]
    if len(problem.pools) == 1 and problem.objective == "peak" and peaks:
        bounds = [plan.lower_bound for plan in plans.values() if plan.lower_bound is not None]
        if max(bounds, default=0) > min(peaks):
            yield f"lower bounds {bounds} exceed peaks {peaks}"
