"""The options of commands for reading a model file."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

import typer

from memplan.capabilities.reading import validated
from memplan.planner.importers.imported import ImportOptions


class ViewsOption(StrEnum):
    """The choice for views of other buffers: aliases, or buffers of their own."""

    alias = "alias"
    separate = "separate"


Dims = Annotated[
    list[str] | None,
    typer.Option("--dim", metavar="NAME=SIZE", help="The size of a dimension that a model only names."),
]
ViewsOfModel = Annotated[
    ViewsOption | None,
    typer.Option("--views", help="Views in the place of what they look at, where that is safe (alias), or never."),
]
AlignmentOfModel = Annotated[
    int | None,
    typer.Option("--alignment", help="Align the buffers of a model to so many bytes; 16 for TFLite, 64 for ONNX."),
]


ScratchOfModel = Annotated[
    list[str] | None,
    typer.Option(
        "--scratch",
        metavar="OPERATOR=BYTES",
        help="The bytes that the kernel of an operator asks for while it runs, for TFLite models.",
    ),
]


def model_options(
    dims: Sequence[str] | None,
    views: ViewsOption | None,
    alignment: int | None,
    scratch: Sequence[str] | None = None,
) -> ImportOptions:
    """Return the options for reading a model; raises OptionError."""
    given = {"dims": list(dims or ()), "scratch": list(scratch or ()), "alignment": alignment}
    return validated(ImportOptions, given if views is None else given | {"views": views.value})
