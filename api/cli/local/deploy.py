"""Flags and files that only `memplan deploy` has: the model that is written, and what its runtime measures of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memplan.api.cli.flags import flag
from memplan.api.cli.from_capability import Given, Local
from memplan.api.cli.streams import STANDARD, refuse_unwritable, write
from memplan.capabilities.convert.deploy import CAPABILITY
from memplan.planner.errors import OptionError, shown

_OUTPUT = "The model to write; with --c-array, a source and a header are beside it. Its name begins the names in them."


def _prepare(given: Given) -> None:
    output = given.flags["output"]
    if output is not None:
        if output == STANDARD:
            raise OptionError("output: must be a file, got -")
        if output == given.files["file"]:
            raise OptionError(f"output: must be another file than the model, got {shown(output)}")
        refuse_unwritable(output)
    if given.flags["name"] is None and (path := output or given.files["file"]) != STANDARD:
        given.change(name=path)


def _finish(given: Given, answer: Any) -> Sequence[str]:
    output = given.flags["output"]
    if output is None:
        return ()
    if answer.fits is False or (answer.form == "given" and not answer.planned and len(answer.files) == 1):
        why = "no form that was found fits" if answer.fits is False else "nothing is gained"
        return (f"{output}: not written, as {why}",)
    for file in answer.files:
        write(output if file.suffix == ".tflite" else str(Path(output).with_suffix(file.suffix)), file.data)
    # Imported here: few models are written.
    from memplan.systems.tflite.interpreter import measured

    return (f"{output}: {measured(answer.files[0].data, answer.arena.least)}",)


def _shows(given: Given, answer: Any) -> bool:
    """Write the lines for people where the model went to a file, as JSON has all of its bytes again."""
    is_shown = given.flags["output"] is not None and given.flags["display"] != "json"
    if is_shown:
        write(None, "".join(f"{line}\n" for line in CAPABILITY.lines(answer)).encode())
    return is_shown


LOCAL = Local(
    flags=(flag("output", str | None, None, "--output", "-o", metavar="FILE", help=_OUTPUT),),
    prepare=_prepare,
    finish=_finish,
    shows=_shows,
    owns_output=True,
)
