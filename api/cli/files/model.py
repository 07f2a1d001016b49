"""`memplan model`: write the integer program of a problem, to be read, or solved elsewhere."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from memplan.api.cli.arguments import ProblemFile
from memplan.api.cli.flags import flag, flags_of, options_given, signed
from memplan.api.cli.streams import read_as, refuse_unwritable, write
from memplan.capabilities.reading import Reader, ReadOptions
from memplan.planner.errors import OptionError, shown

_SUFFIXES = (".lp", ".mps")


def _write(**given: Any) -> None:
    """Write the integer program of a problem, with names that can be read."""
    source, output = given["problem"], given["output"]
    suffix = Path(output).suffix.lower()
    if suffix not in _SUFFIXES:
        raise OptionError(f"--output: must end in {' or '.join(_SUFFIXES)}, got {shown(output)}")
    refuse_unwritable(output)
    reader = Reader(options_given(ReadOptions, given))
    problem = read_as(source, lambda data: reader.problem(data, source))
    # The libraries behind it take longer to import than most commands take to run.
    from memplan.solvers.mip.model_file import write_model

    write(output, write_model(problem, suffix))


model = signed(
    _write,
    [
        inspect.Parameter("problem", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=ProblemFile),
        flag(
            "output",
            str,
            inspect.Parameter.empty,
            *("--output", "-o"),
            metavar="FILE",
            help="What to write: .lp or .mps.",
        ),
        *flags_of(ReadOptions),
    ],
)
