"""`memplan core`: the planner as sources for programs that link it, behind memplan.h."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from memplan.api.cli.streams import write
from memplan.files import os_errors_named
from memplan.planner.errors import OptionError
from memplan.solvers.core.amalgamation import HEADER, amalgamated
from memplan.solvers.core.build import HERE


def core(
    where: Annotated[
        bool, typer.Option("--where", help="Print the folder of the sources, with CMakeLists.txt.")
    ] = False,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FOLDER", help="Write memplan.h and one memplan.cpp into a folder."),
    ] = None,
) -> None:
    """Give the planner to a program in C, C++, Rust or Zig that links it: the folder of its sources, or two files.

    Exit status: 0 done, 2 wrong input.
    """
    if not where and output is None:
        raise OptionError("core: needs --where, which prints the folder of the sources, or -o FOLDER, which writes two")
    if where:
        write(None, f"{HERE}\n".encode())
    if output is not None:
        folder = Path(output)
        with os_errors_named(output):
            folder.mkdir(parents=True, exist_ok=True)
        write(str(folder / "memplan.cpp"), amalgamated(HERE).encode())
        write(str(folder / HEADER), (HERE / HEADER).read_bytes())
