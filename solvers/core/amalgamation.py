"""One memplan.cpp with all that it includes: two files that any build takes, `memplan.h` and this one.

`memplan core -o FOLDER` writes them.
"""

from __future__ import annotations

import re
from pathlib import Path

SOURCES = ("memplan.cpp", "check.cpp", "certify.cpp")
HEADER = "memplan.h"
_INCLUDE = re.compile(r'^#include ([<"])(.+)[>"]\n', re.MULTILINE)


def amalgamated(folder: Path) -> str:
    """Return the sources of the planner behind memplan.h as one, made of those in a folder."""
    system, own, parts = set[str](), {HEADER}, list[str]()

    def take(name: str) -> None:
        text = (folder / name).read_text(encoding="utf-8")
        for kind, included in _INCLUDE.findall(text):
            if kind == "<":
                system.add(included)
            elif included not in own:
                own.add(included)
                take(included)
        rest = _INCLUDE.sub("", text).replace("#pragma once\n", "")
        parts.append(f"// ---- {name}\n{rest.strip()}\n")

    for name in SOURCES:
        take(name)
    includes = "".join(f"#include <{name}>\n" for name in sorted(system))
    head = "// SPDX-License-Identifier: Apache-2.0\n"
    head += f"// memplan in one file, made by `memplan core -o`; beside it {HEADER}. C++20, -ffp-contract=off.\n"
    return f'{head}{includes}\n#include "{HEADER}"\n\n' + "\n".join(parts)
