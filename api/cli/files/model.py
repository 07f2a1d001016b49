"""`memplan model`: write the integer program of a problem, to be read, or solved elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from memplan.api.cli.arguments import Capacities, Inclusive, ProblemFile
from memplan.api.cli.model_options import AlignmentOfModel, Dims, ScratchOfModel, ViewsOfModel, model_options
from memplan.api.cli.streams import read_problem, refuse_unwritable, write
from memplan.capabilities.sizes import with_capacities
from memplan.planner.errors import OptionError, shown

_SUFFIXES = (".lp", ".mps")


def model(
    problem_file: ProblemFile,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="What to write: .lp or .mps.")],
    capacity: Capacities = None,
    inclusive: Inclusive = None,
    dim: Dims = None,
    views: ViewsOfModel = None,
    alignment: AlignmentOfModel = None,
    scratch: ScratchOfModel = None,
) -> None:
    """Write the integer program of a problem, with names that can be read."""
    suffix = Path(output).suffix.lower()
    if suffix not in _SUFFIXES:
        raise OptionError(f"--output: must end in {' or '.join(_SUFFIXES)}, got {shown(output)}")
    refuse_unwritable(output)
    options = model_options(dim, views, alignment, scratch)
    problem = with_capacities(read_problem(problem_file, options, inclusive), capacity or ())
    # The libraries behind it take longer to import than most commands take to run.
    from memplan.solvers.mip.model_file import write_model

    write(output, write_model(problem, suffix))
