"""Flags and files that only `memplan export` has: the files that it writes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memplan.api.cli.flags import flag
from memplan.api.cli.from_capability import Given, Local
from memplan.api.cli.streams import STANDARD, refuse_unwritable, write
from memplan.planner.errors import OptionError, shown

_OUTPUT = "The file to write, or -; for C, a header is beside it. Its name begins the names in it."


def _prepare(given: Given) -> None:
    output = given.flags["output"]
    if output is not None and output != STANDARD:
        given.change(name=Path(output).stem or output)


def _shows(given: Given, answer: Any) -> bool:
    output, target = given.flags["output"], str(given.flags["to"])
    files = {file.suffix: file.data for file in answer.files}
    if output is None:
        return False
    if "" in files:
        write(output, files[""])
        return True
    if output == STANDARD:
        raise OptionError(f"output: must be a file for {target}, which is several, got -")
    path = Path(output)
    if path.suffix not in files:
        raise OptionError(f"output: must end in {' or '.join(files)} for {target}, got {shown(output)}")
    for suffix in files:
        refuse_unwritable(str(path.with_suffix(suffix)))
    for suffix, data in files.items():
        write(str(path.with_suffix(suffix)), data)
    return True


def _finish(given: Given, answer: Any) -> Sequence[str]:
    """Say what the runtime's whole arena takes with the plan, where that is known."""
    if answer.arena is None:
        return ()
    # Imported here: few plans are for TFLite Micro.
    from memplan.systems.tflite.interpreter import measured

    gain = "as large as" if answer.arena.used == answer.given.used else "instead of"
    whole = f"{answer.arena.text}, {gain} {answer.given.used:,} without the plan"
    return (f"TFLite Micro's whole arena takes {whole}; {measured(answer.files[0].data, answer.arena.least)}",)


LOCAL = Local(
    flags=(flag("output", str | None, None, "--output", "-o", metavar="FILE", help=_OUTPUT),),
    prepare=_prepare,
    finish=_finish,
    shows=_shows,
    owns_output=True,
)
