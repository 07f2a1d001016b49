"""`memplan export`: a plan as C, a linker or another runtime takes it."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from memplan.api.cli.arguments import Capacities, Inclusive, PlanFile, ProblemFile, refuse_standard_twice
from memplan.api.cli.model_options import AlignmentOfModel, Dims, ScratchOfModel, ViewsOfModel, model_options
from memplan.api.cli.streams import STANDARD, problem_in, read_as, read_plan, refuse_unwritable, write
from memplan.capabilities.sizes import with_capacities
from memplan.planner.errors import OptionError, shown
from memplan.planner.exporters import EXPORTERS
from memplan.planner.exporters.layout import lay_out
from memplan.planner.importers.imported import ImportOptions
from memplan.planner.model.problem import Problem


class Target(StrEnum):
    """The targets that a plan can be exported to."""

    c = "c"
    malloc_c = "malloc-c"
    ld = "ld"
    armlink = "armlink"
    tflm = "tflm"
    buffer_plan = "buffer-plan"
    mlf = "mlf"
    executorch = "executorch"
    triples = "triples"


def export(
    problem_file: ProblemFile,
    plan_file: PlanFile,
    target: Annotated[Target, typer.Option("--to", help="What to write.")],
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="FILE", help="The file to write, or -; for C, a header is beside it."),
    ],
    capacity: Capacities = None,
    inclusive: Inclusive = None,
    dim: Dims = None,
    views: ViewsOfModel = None,
    alignment: AlignmentOfModel = None,
    scratch: ScratchOfModel = None,
) -> None:
    """Write a plan for C, a linker, or another runtime, after it is verified.

    The name of FILE begins the names in it. Exit status: 0 it is written, 2 wrong input, or a plan that is not valid.
    """
    refuse_standard_twice(problem_file, plan_file)
    options = model_options(dim, views, alignment, scratch)
    found, model = read_as(problem_file, partial(_with_model, name=problem_file, options=options, inclusive=inclusive))
    problem = with_capacities(found, capacity or ())
    layout = lay_out(problem, read_plan(plan_file, problem), model, options.scratch)
    path = Path(output)
    files = EXPORTERS[target.value](layout, "memplan" if output == STANDARD else path.stem)
    if "" in files:
        write(output, files[""])
        return
    if output == STANDARD:
        raise OptionError(f"output: must be a file for {target.value}, which is several, got -")
    if path.suffix not in files:
        raise OptionError(f"output: must end in {' or '.join(files)} for {target.value}, got {shown(output)}")
    for suffix in files:
        refuse_unwritable(str(path.with_suffix(suffix)))
    for suffix, data in files.items():
        write(str(path.with_suffix(suffix)), data)


def _with_model(data: bytes, name: str, options: ImportOptions, inclusive: bool | None) -> tuple[Problem, bytes | None]:
    """Return a problem, with the bytes of the model that poses it, if one does."""
    problem, imported = problem_in(data, name, options, inclusive)
    return problem, None if imported is None else data
