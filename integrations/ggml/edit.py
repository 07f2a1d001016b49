"""Put memplan into a checkout of ggml: `python edit.py GGML`, for ggml itself, or the folder `ggml` of a project.

Two lines of `src/ggml-alloc.c` and one of `src/CMakeLists.txt` are added; `ggml_memplan.h`, `memplan.h` and
`memplan.cpp` are written beside them. A file in which a line's place is not there exactly once is refused, and nothing
is changed. Places as in ggml at d99724f2, in whisper.cpp at 233fe1fc, and in llama.cpp of llama-cpp-python 0.3.36.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

EDITS = (
    ("ggml-alloc.c", "    int n_leafs;\n};\n", '#include "ggml_memplan.h"\n'),
    (
        "ggml-alloc.c",
        "    ggml_gallocr_alloc_graph_impl(galloc, graph, node_buffer_ids, leaf_buffer_ids);\n",
        "    memplan_finish(galloc);\n",
    ),
    (
        "CMakeLists.txt",
        "            ggml-alloc.c\n",
        "            memplan.cpp\n",
    ),
)
"""The file in `src`, the text that must be in it exactly once, and the line that goes behind it."""
FLAGS = "-std=c++20;-O2;-ffp-contract=off;-fno-math-errno;-fno-exceptions;-fno-rtti"


def main() -> None:
    source = Path(sys.argv[1]) / "src"
    texts: dict[str, str] = {}
    for name, place, line in EDITS:
        text = texts.setdefault(name, (source / name).read_text())
        if line in text:
            raise SystemExit(f"{source / name}: has memplan already")
        if text.count(place) != 1:
            raise SystemExit(f"{source / name}: must have {place!r} once, has it {text.count(place)} times")
        texts[name] = text.replace(place, place + line)
    texts["CMakeLists.txt"] += f'\nset_source_files_properties(memplan.cpp PROPERTIES COMPILE_OPTIONS "{FLAGS}")\n'
    for name, text in texts.items():
        (source / name).write_text(text)
    header = Path(__file__).with_name("ggml_memplan.h")
    (source / header.name).write_text(header.read_text())
    subprocess.run([sys.executable, "-m", "memplan.api.cli.main", "core", "-o", str(source)], check=True)


if __name__ == "__main__":
    main()
