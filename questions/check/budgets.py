"""Budgets of pools in bytes, the tolerated growth of a pool, and planning within budgets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from memplan.planner.errors import Option, OptionError, excerpt
from memplan.planner.instance.canonical import problem_hash
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Pool, Problem
from memplan.planner.model.sizes import UNLIMITED, named_size, parse_size, set_capacities

_MOST_PERCENT = 1_000_000


@dataclass(frozen=True)
class Tolerance:
    """The allowed growth of a pool in bytes: a fixed number of bytes plus a fraction of its use in the baseline."""

    bytes: int = 0
    part: Fraction = Fraction(0)

    @classmethod
    def from_text(cls, text: str) -> "Tolerance":
        """Return the tolerance that a text such as `2%`, `512` or `1KiB` denotes; raises OptionError."""
        try:
            if not text.endswith("%"):
                return cls(bytes=parse_size(text))
            percent = Fraction(text[:-1].strip())
        except (ValueError, ZeroDivisionError):
            percent = Fraction(-1)
        if not 0 <= percent <= _MOST_PERCENT:
            raise OptionError(
                f"tolerance: must be a size or a percentage, such as 512, 1KiB or 2%, got {excerpt(text)}"
            )
        return cls(part=percent / 100)

    def allowed_growth(self, before: int) -> int:
        """Return the bytes by which a pool may grow if it used `before` bytes in the baseline."""
        return self.bytes + int(self.part * before)


def read_budgets(texts: Sequence[str], problem: Problem) -> tuple[Problem, dict[str, int]]:
    """Return the problem with its pools, and the bytes by pool, from budgets `SIZE` or `NAME=SIZE`.

    `SIZE` is for the only pool. If the problem does not name its pools, several budgets define the pools in order of
    preference, without sizes. The single budget `unlimited` means no budget. Raises OptionError.
    """
    if tuple(texts) == (UNLIMITED,):
        return problem, {}
    named = [named_size(text, problem, len(texts), "budgets") for text in texts]
    budgets = {name: size for name, size in named if size is not None}
    if len(dict(named)) < len(named):
        raise OptionError.from_rule("budgets", "must be given once for each pool")
    if problem.pools == (Pool(),) and len(named) > 1 and "default" not in dict(named):
        problem = set_capacities(problem, [f"{name}=unlimited" for name, _ in named])
    names = [pool.name for pool in problem.pools]
    if unknown := [name for name, _ in named if name not in names]:
        name = Option("capacity", f"{unknown[0]}={UNLIMITED}")
        way = (": ", name, " gives the only pool this name") if problem.pools == (Pool(),) else ()
        rule = f"must name a pool of the problem ({', '.join(names)}), got {excerpt(unknown[0])}"
        raise OptionError.from_rule("budgets", rule, *way)
    return problem, budgets


def limit_pools(problem: Problem, budgets: Mapping[str, int]) -> Problem:
    """Return the problem with each pool's size lowered to its budget, if the budget is smaller."""
    limits = []
    for pool in problem.pools:
        sizes = [size for size in (pool.size, budgets.get(pool.name)) if size is not None]
        if sizes:
            limits.append(f"{pool.name}={min(sizes)}")
    return set_capacities(problem, limits)


class PlanOne(Protocol):
    """A function that plans a problem within a share (0 to 1) of the remaining time."""

    def __call__(self, problem: Problem, /, *, share: float) -> Plan:
        """Return a plan of the problem, made within the given share (0 to 1) of the remaining time."""


def plan_within(problem: Problem, budgets: Mapping[str, int], plan_one: PlanOne) -> Plan:
    """Return a plan within the budgets if one is found, else a plan that shows the excess over each budget.

    The first plan ignores the budgets, so that its lower bounds hold for the problem itself. A second plan, with the
    budgets as pool sizes and half of the time, is made only if the first plan exceeds a budget and the objective is not
    the peak of a single pool.
    """
    is_once = not budgets or (len(problem.pools) == 1 and problem.objective == "peak")
    plan = plan_one(problem, share=1 if is_once else 0.5)
    if is_once or not _is_over(plan, budgets):
        return plan
    held = plan_one(limit_pools(problem, budgets), share=1)
    return plan if held.peak is None else _plan_for_problem(held, problem)


def _is_over(plan: Plan, budgets: Mapping[str, int]) -> bool:
    return any(use.used is not None and use.used > budgets.get(use.name, use.used) for use in plan.pools)


def _plan_for_problem(plan: Plan, problem: Problem) -> Plan:
    """Return a plan for smaller pools as a plan of the problem. Bounds that hold only for smaller pools are removed."""
    pools = tuple(
        use.model_copy(update={"size": pool.size, "lower_bound": None})
        for use, pool in zip(plan.pools, problem.pools, strict=True)
    )
    unknown = dict.fromkeys(("lower_bound", "gap", "cost_lower_bound", "proof"))
    changes = {"status": "feasible", "pools": pools, "problem_hash": problem_hash(problem), **unknown}
    if plan.stop_reason == "proved":
        changes["stop_reason"] = None
    return plan.model_copy(update=changes)
