"""`memplan plan --keep`: a plan that moves few buffers of an older one, made here or by a service."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from memplan.api.cli.streams import read_as
from memplan.capabilities.plans.baseline import read_baseline_parts
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.options import SolveControl, SolveOptions
from memplan.solvers.studies.replanning.questions import read_eps
from memplan.solvers.studies.replanning.replan import replan


def keeping(
    path: str, problem: Problem, eps: str, options: dict[str, Any], control: SolveControl, server: str | None
) -> Callable[[], Plan]:
    """Return the call that re-plans; raises InputError for an old plan that is none, or options that are not for it."""
    asked = SolveOptions.model_construct(**options)
    asked.target()
    read_eps(eps)
    old = read_as(path, lambda data: read_baseline_parts(data, path)).plan
    if server is None:
        return partial(replan, problem, old, eps=eps, options=asked, control=control)
    # Only a request over HTTP waits for these imports.
    from memplan.api.cli.plans.remote import ask_to_keep

    return partial(ask_to_keep, server, problem, old, eps, asked, control.cancelled or threading.Event())
