"""`memplan core`: the C++ sources of the planner, for programs that link it through memplan.h."""

import re
from pathlib import Path

import click

from memplan.api.cli.flags import Flag
from memplan.api.cli.help import SectionedCommand
from memplan.api.cli.streams import write_output
from memplan.planner.errors import OptionError
from memplan.solvers.core.build import HERE

SOURCES = ("memplan.cpp", "search.cpp", "prices.cpp", "check.cpp", "certify.cpp", "choose.cpp")
HEADER = "memplan.h"
_INCLUDE = re.compile(r'^#include ([<"])(.+)[>"]\n', re.MULTILINE)


def amalgamate(folder: Path) -> str:
    """Return all sources in a folder as one C++ file that includes only memplan.h and system headers."""
    system, own, parts = set[str](), {HEADER}, list[str]()

    def append_source(name: str) -> None:
        """Append a source file's text to `parts`; before it, append its headers that are not yet included."""
        text = (folder / name).read_text(encoding="utf-8")
        for kind, included in _INCLUDE.findall(text):
            if kind == "<":
                system.add(included)
            elif included not in own:
                own.add(included)
                append_source(included)
        rest = _INCLUDE.sub("", text).replace("#pragma once\n", "")
        parts.append(f"// ---- {name}\n{rest.strip()}\n")

    for name in SOURCES:
        append_source(name)
    includes = "".join(f"#include <{name}>\n" for name in sorted(system))
    head = "// SPDX-License-Identifier: Apache-2.0\n"
    head += f"// memplan in one file, made by `memplan core -o`; beside it {HEADER}. C++20, -ffp-contract=off.\n"
    return f'{head}{includes}\n#include "{HEADER}"\n\n' + "\n".join(parts)


@click.command(
    cls=SectionedCommand,
    params=[
        Flag("where", is_flag=True, help="Print the folder of the sources, which has a CMakeLists.txt."),
        Flag(
            *("output", "--output", "-o"),
            metavar="FOLDER",
            help="Write memplan.h and a single memplan.cpp into this folder.",
        ),
    ],
)
def core(where: bool, output: str | None) -> None:
    """Get the planner for a program in C, C++, Rust or Zig that links it: the folder of its sources, or two files.

    Exit status: 0 done, 2 wrong input.
    """
    if not where and output is None:
        raise OptionError("core: must be given --where, which prints a folder, or -o FOLDER, which writes two files")
    if where:
        write_output(None, f"{HERE}\n".encode())
    if output is not None:
        folder = Path(output)
        write_output(str(folder / "memplan.cpp"), amalgamate(HERE).encode())
        write_output(str(folder / HEADER), (HERE / HEADER).read_bytes())
