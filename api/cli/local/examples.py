"""`memplan examples`: the files that the pages name, in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from memplan.api.cli.streams import say, write
from memplan.files import os_errors_named

_PLACES = tuple(Path(__file__).parents[k] / "examples" for k in (3, 4))
"""Where examples lie: in an installed memplan, which has all but the problems, or in a checkout."""


def examples(
    output: Annotated[str, typer.Option("--output", "-o", metavar="FOLDER", help="The folder.")] = "examples",
) -> None:
    """Write the examples that the documents name into a folder, where there is no clone.

    Exit status: 0 they are written, 2 wrong input.
    """
    source = next(place for place in _PLACES if place.is_dir())
    files = [path for path in sorted(source.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
    for file in files:
        path = Path(output, file.relative_to(source))
        with os_errors_named(str(path)):
            path.parent.mkdir(parents=True, exist_ok=True)
        write(str(path), file.read_bytes())
    say(f"memplan: wrote {len(files)} files into {output}")
