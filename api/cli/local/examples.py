"""`memplan examples`: copy the files that the documents use into a folder."""

import shutil
from pathlib import Path

import click

from memplan.api.cli.flags import Flag
from memplan.api.cli.help import SectionedCommand
from memplan.api.cli.streams import print_message
from memplan.files import os_errors_named

_PLACES = tuple(Path(__file__).parents[k] / "examples" for k in (3, 4))
"""Where the examples may be: in an installed package (without the problems), or in a checkout."""


@click.command(
    cls=SectionedCommand,
    params=[
        Flag(
            *("output", "--output", "-o"),
            default="examples",
            metavar="FOLDER",
            help="Write the examples into this folder.",
        )
    ],
)
def examples(output: str) -> None:
    """Write the examples that the documents name into a folder.

    Exit status: 0 the files are written, 2 wrong input.
    """
    source = next(place for place in _PLACES if place.is_dir())
    with os_errors_named(output):
        shutil.copytree(source, output, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
    print_message(f"memplan: wrote {output}")
