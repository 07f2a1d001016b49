"""`memplan plan --reorder`: the problem that a file's operations pose in a better order, with a plan to start from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pydantic_core import to_json

from memplan.api.cli.progress import run_in_thread
from memplan.api.cli.streams import format_for, read_as, refuse_unwritable, say, write
from memplan.api.reports.reordering import reorder
from memplan.capabilities.sizes import with_capacities
from memplan.planner.errors import OptionError
from memplan.planner.formats import FORMATS
from memplan.planner.importers.imported import ImportOptions
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.options import SolveControl

_SHARE = 0.6
"""The part of the time for the order; the plan has the rest."""


@dataclass(frozen=True)
class Reordering:
    """What is asked of a plan with --reorder: files for the order and for the problem, and if people are told."""

    order_file: str | None
    problem_file: str | None
    quiet: bool

    @classmethod
    def asked(
        cls, is_asked: bool, order_file: str | None, problem_file: str | None, quiet: bool, others: Mapping[str, object]
    ) -> Reordering | None:
        """Return what is asked, None where nothing is; raises OptionError for options that do not go together."""
        if not is_asked:
            for name, value in (("order-file", order_file), ("problem-file", problem_file)):
                if value is not None:
                    raise OptionError(f"{name}: must be given with reorder only, got {value}")
            return None
        for name, other in others.items():
            if other is not None:
                raise OptionError(f"{name}: must not be given with reorder, got {other}")
        for file in (order_file, problem_file):
            refuse_unwritable(file)
        return cls(order_file, problem_file, quiet)

    def run(
        self,
        path: str,
        capacity: list[str] | None,
        model: ImportOptions,
        options: Mapping[str, Any],
        control: SolveControl,
    ) -> tuple[Problem, SolveControl]:
        """Reorder the operations in a file; return the problem to plan, and a control with the plan to start from."""
        work = partial(
            reorder,
            name=path,
            options=model,
            time_limit_s=_SHARE * options["time_limit_s"],
            deterministic=options["deterministic"],
            cancelled=control.cancelled,
        )
        found = run_in_thread(lambda: read_as(path, work), lambda: None)
        problem = with_capacities(found.placed.problem, capacity or ())
        if self.order_file is not None:
            write(self.order_file, to_json(found.facts()) + b"\n")
        if self.problem_file is not None:
            write(self.problem_file, FORMATS[format_for(self.problem_file, None)].write_problem(problem))
        if not self.quiet:
            say("memplan: " + "".join(found.lines()))
        plan = found.placed.plan
        return problem, replace(control, start=None if plan.peak is None else plan)
