"""The options of `memplan order --recompute`."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Annotated

import typer

from memplan.capabilities.sizes import parse_size
from memplan.planner.errors import OptionError, shown
from memplan.planner.operations.graph import OperationGraph
from memplan.solvers.order.recompute.frontier import RecomputeFrontier, recompute_frontier

Recompute = Annotated[bool, typer.Option("--recompute", help="Let operations run again, where that lowers the peak.")]
Budget = Annotated[
    str | None, typer.Option(metavar="SIZE", help="The peak to come within, at the least cost; for --recompute.")
]
ExtraCost = Annotated[
    str | None, typer.Option(metavar="PERCENT%", help="The most that running again may cost; for --recompute.")
]
NOT_WITHIN = 1


def recompute_work(
    graph: OperationGraph,
    budget: str | None,
    extra_cost: str | None,
    time_limit: float,
    deterministic: bool,
    cancelled: threading.Event,
) -> Callable[[], RecomputeFrontier]:
    """Return the work that is asked; raises OptionError."""
    return partial(
        recompute_frontier,
        graph,
        budget=None if budget is None else _bytes(budget),
        extra_cost=None if extra_cost is None else _part(extra_cost),
        time_limit_s=time_limit,
        deterministic=deterministic,
        cancelled=cancelled,
    )


def refuse_budgets(is_recompute: bool, budget: str | None, extra_cost: str | None) -> None:
    """Raise OptionError for a budget that nothing would look at."""
    for name, value in (("budget", budget), ("extra-cost", extra_cost)):
        if value is not None and not is_recompute:
            raise OptionError(f"{name}: must be given with --recompute")


def _bytes(text: str) -> int:
    try:
        return parse_size(text)
    except ValueError as error:
        raise OptionError(f"budget: {error}") from None


def _part(text: str) -> float:
    number = text.strip().removesuffix("%").strip()
    try:
        part = float(number) / 100
    except ValueError:
        part = -1.0
    if not text.strip().endswith("%") or not 0 <= part < float("inf"):
        raise OptionError(f"extra-cost: must be a part such as 10%, got {shown(text)}")
    return part
