"""Add memplan to a checkout of a runtime: `python edit.py ggml|nntrainer CHECKOUT`.

For `ggml`, CHECKOUT is ggml itself or the folder `ggml` of a project that contains it. The program inserts the lines of
EDITS into source files, and writes the adapter, `memplan.h` and `memplan.cpp` next to the sources. If the text before
an inserted line does not occur exactly once, the program stops and changes no file. The texts match ggml d99724f2,
whisper.cpp 233fe1fc, llama.cpp of llama-cpp-python 0.3.36, and nntrainer 65dccdec.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FLAGS = ("-std=c++20", "-O2", "-ffp-contract=off", "-fno-math-errno", "-fno-exceptions", "-fno-rtti")
EDITS = {
    "ggml": (
        ("src/ggml-alloc.c", "    int n_leafs;\n};\n", '#include "ggml_memplan.h"\n'),
        (
            "src/ggml-alloc.c",
            "    ggml_gallocr_alloc_graph_impl(galloc, graph, node_buffer_ids, leaf_buffer_ids);\n",
            "    memplan_finish(galloc);\n",
        ),
        ("src/CMakeLists.txt", "            ggml-alloc.c\n", "            memplan.cpp\n"),
    ),
    "nntrainer": (
        ("nntrainer/tensor/manager.cpp", "#include <optimized_v3_planner.h>\n", "#include <memplan_planner.h>\n"),
        (
            "nntrainer/tensor/manager.cpp",
            "void Manager::finalizeTensorPool(TensorPool &pool, unsigned int start,\n"
            "                                 unsigned int end) {\n",
            "  if (enable_optimizations && !enable_fsu) return pool.finalize(MemplanPlanner(), start, end);\n",
        ),
        (
            "nntrainer/meson.build",
            "  thread_dep,\n]\n",
            "nntrainer_base_deps += declare_dependency(link_with: static_library('memplan', 'tensor/memplan.cpp', "
            f"cpp_args: {list(FLAGS)}, pic: true))\n",
        ),
    ),
}
"""Maps a runtime to its edits: (file, text that must occur in it exactly once, line to insert after that text)."""
ADAPTERS = {"ggml": "src/ggml_memplan.h", "nntrainer": "nntrainer/tensor/memplan_planner.h"}
_OPTIONS = f'\nset_source_files_properties(memplan.cpp PROPERTIES COMPILE_OPTIONS "{";".join(FLAGS)}")\n'


def main() -> None:
    """Insert the lines of a runtime's edits into a checkout, and add the adapter and memplan's C++ core."""
    runtime, checkout = sys.argv[1], Path(sys.argv[2])
    texts: dict[str, str] = {}
    for name, place, line in EDITS[runtime]:
        text = texts.setdefault(name, (checkout / name).read_text())
        if line in text:
            raise SystemExit(f"{checkout / name}: must not contain memplan already")
        if text.count(place) != 1:
            raise SystemExit(f"{checkout / name}: must contain {place!r} once, got it {text.count(place)} times")
        texts[name] = text.replace(place, place + line)
    if runtime == "ggml":
        texts["src/CMakeLists.txt"] += _OPTIONS
    for name, text in texts.items():
        (checkout / name).write_text(text)
    adapter = checkout / ADAPTERS[runtime]
    adapter.write_text((Path(__file__).parent / runtime / adapter.name).read_text())
    subprocess.run([sys.executable, "-m", "memplan.api.cli.main", "core", "-o", str(adapter.parent)], check=True)


if __name__ == "__main__":
    main()
