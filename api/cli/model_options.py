"""The options of commands for reading a model file."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

import typer
from pydantic import ValidationError

from memplan.planner.errors import OptionError, sentences, shown
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
    given: dict[str, object] = {"dims": _sizes(dims or ()), "alignment": alignment}
    if scratch:
        given["scratch"] = _sizes(scratch, "scratch", "OPERATOR=BYTES, as in my_op=1024")
    if views is not None:
        given["views"] = views.value
    try:
        return ImportOptions.model_validate(given)
    except ValidationError as error:
        raise OptionError(*sentences(error)) from error


def _sizes(dims: Sequence[str], option: str = "dim", form: str = "NAME=SIZE, as in batch=1") -> dict[str, int]:
    found: dict[str, int] = {}
    for text in dims:
        name, _, size = text.rpartition("=")
        if not name or not size.isdecimal() or len(size) > 18:
            raise OptionError(f"{option}: must be {form}, got {shown(text)}")
        if name in found:
            raise OptionError(f"{option}: must be given once for each name, got {shown(name)} again")
        found[name] = int(size)
    return found
