"""Arguments and options that several commands have."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

Problem = Annotated[
    str, typer.Argument(metavar="PROBLEM", help="A file: JSON, CSV or a model, or - for standard input.")
]
Capacities = Annotated[
    list[str] | None,
    typer.Option(
        "--capacity",
        metavar="[NAME=]SIZE",
        help="The size of the pool: bytes, 64kB or 1MiB. With names, one for each pool, in order of preference.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors to people.")]


class FileFormat(StrEnum):
    """What a problem or a plan is written as."""

    json = "json"
    csv = "csv"


class Shown(StrEnum):
    """What a plan is shown as: for programs, for people, or as users of other compilers know it."""

    json = "json"
    csv = "csv"
    table = "table"
    tables = "tables"
    triples = "triples"
    exir = "exir"


class ListShown(StrEnum):
    """What a list is shown as: for programs, or for people."""

    json = "json"
    table = "table"
