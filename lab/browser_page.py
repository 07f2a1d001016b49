"""Write the page that plans in a browser, without an installation, as one HTML file: `python -m lab.browser_page FILE`.

zig (`pip install ziglang`) compiles the core to WebAssembly, and esbuild 0.28 on the path bundles the page's modules.
The file contains both, so it loads nothing from a network. This program needs no other package than ziglang.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from lab.page_bundles import build_bundle, esbuild_path
from memplan.extensions.page.one_file import one_file
from memplan.solvers.core.build import FLAGS

ROOT = Path(__file__).resolve().parents[1]
CORE = ROOT / "solvers" / "core"
_EXPORTS = "-Wl,--export=plan_rows,--export=memplan_rule_text,--export=malloc"


def main(words: Sequence[str] | None = None) -> None:
    """Write the page to the file that the command's argument names."""
    parser = argparse.ArgumentParser(prog="python -m lab.browser_page", description=__doc__)
    parser.add_argument("file", type=Path, help="where the page goes")
    file = parser.parse_args(words).file
    bundle = build_bundle("browser/main.js", esbuild_path())
    # The page compiles WebAssembly only from its own file, so its security policy may allow compiling.
    page = one_file("memplan", bundle, {"core": compiled_core()}, allowed="'wasm-unsafe-eval'")
    sys.stdout.write(f"{file.write_bytes(page):,} bytes {file}\n")


def compiled_core() -> bytes:
    """Return memplan's core compiled to WebAssembly. Raises SystemExit if the compiler is not installed."""
    if find_spec("ziglang") is None:
        raise SystemExit("ziglang: must be installed; run pip install ziglang")
    target = ("-target", "wasm32-wasi", "-mexec-model=reactor", "-s", "-Wl,-z,stack-size=1048576", _EXPORTS)
    needed = ("memplan", "check", "search", "exact", "prices")
    sources = [*(f"{CORE / name}.cpp" for name in needed), f"{ROOT}/extensions/page/browser/plan_rows.cpp"]
    with tempfile.NamedTemporaryFile(suffix=".wasm") as made:
        command = [sys.executable, "-m", "ziglang", "c++", *target, *FLAGS, f"-I{CORE}", *sources, "-o", made.name]
        subprocess.run(command, check=True)
        return Path(made.name).read_bytes()


if __name__ == "__main__":
    main()
