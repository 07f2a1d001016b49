"""Compile and link all kernels, as a package is built: `python -m memplan.solvers.kernels.build [FOLDER]`.

They are made for a baseline that every processor of the last ten years has. They link against nothing but memory
functions of libc, so any compiler driver can link them; where there is none, the one of the package `ziglang` does.
Without a folder they are built in the package's own. With `--check-bounds`, each index is checked.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic_core import to_json

from memplan.solvers.kernels import abi, built
from memplan.solvers.kernels.groups import KernelGroup, kernel_groups, source_digest
from memplan.solvers.kernels.kernel import kernel_named

BASELINES = {"x86_64": "x86-64-v2", "AMD64": "x86-64-v2"}
"""The processor to compile for, by the machine's name; "generic" for others."""


def build(folder: Path, checks_bounds: bool = False) -> None:
    """Fill the folder with a library and a manifest for each group that it lacks.

    Raises OSError where it cannot be written, ModuleNotFoundError where there is no numba, RuntimeError where there is
    no linker, CalledProcessError where it fails.
    """
    folder.mkdir(parents=True, exist_ok=True)
    left = [group for group in kernel_groups() if checks_bounds or not _is_there(group, folder)]
    if not left:
        return
    made_by, linker = abi.made_by(), compiler_driver()
    processor = BASELINES.get(built.machine().rpartition("-")[2], "generic")
    names = [name for group in left for name in group.kernels]
    # In the same folder, so that each library can be put in the place of another one at once.
    with TemporaryDirectory(dir=folder) as objects:
        choice = processor, checks_bounds
        with ProcessPoolExecutor(mp_context=get_context("spawn"), initializer=_choose, initargs=choice) as pool:
            entries = dict(zip(names, pool.map(_emit, names, [objects] * len(names)), strict=True))
        for group in left:
            library = Path(objects) / f"{group.name}.so"
            link([Path(objects) / f"{name}.o" for name in group.kernels], library, linker)
            manifest = {
                "sources": source_digest(group),
                "machine": built.machine(),
                "processor": processor,
                "library": library.name,
                "digest": hashlib.sha256(library.read_bytes()).hexdigest(),
                "entries": {name.rpartition(".")[2]: entries[name] for name in group.kernels},
                "made_by": made_by + (", checks bounds" if checks_bounds else ""),
            }
            library.replace(folder / library.name)
            (folder / f"{group.name}.json").write_bytes(to_json(manifest, indent=1) + b"\n")
    built.look.cache_clear()


def _is_there(group: KernelGroup, folder: Path) -> bool:
    """Return True if the folder has the group's library, a copy of the package's own where that is of these sources."""
    if built.look(group, folder)[1] is None:
        if built.look(group, built.OF_PACKAGE)[1] is None:
            return False
        for name in (f"{group.name}.so", f"{group.name}.json"):
            shutil.copy2(built.OF_PACKAGE / name, folder)
    return True


def _choose(processor: str, checks_bounds: bool) -> None:
    os.environ.update(NUMBA_CPU_NAME=processor, NUMBA_CPU_FEATURES="", NUMBA_BOUNDSCHECK=str(int(checks_bounds)))
    gc.disable()  # which takes a tenth of the time, and frees little before the process ends


def _emit(name: str, objects: str) -> str:
    """Compile a kernel into an object file; return the symbol of its entry."""
    code, entry = abi.compiled(kernel_named(name).function, os.environ["NUMBA_CPU_NAME"])
    (Path(objects) / f"{name}.o").write_bytes(code)
    return entry


def link(objects: Sequence[Path], library: Path, driver: Sequence[str]) -> None:
    """Link object files into a library, by a compiler driver."""
    loose = ["-undefined", "dynamic_lookup"] if sys.platform == "darwin" else ["-nostdlib", "-Wl,-z,noexecstack"]
    subprocess.run([*driver, "-shared", *loose, "-o", str(library), *map(str, objects)], check=True)


def compiler_driver() -> list[str]:
    """Return the command of a compiler driver that links."""
    for name in ("cc", "gcc", "clang"):
        if found := shutil.which(name):
            return [found]
    if find_spec("ziglang") is not None:
        return [sys.executable, "-m", "ziglang", "cc"]
    raise RuntimeError("no linker: neither cc, gcc, clang nor the package ziglang")


def main() -> None:
    """Build the kernels that the command line requires."""
    parser = argparse.ArgumentParser(prog="python -m memplan.solvers.kernels.build", description="Build the kernels.")
    parser.add_argument("folder", nargs="?", type=Path, help="where, the package's own folder by default")
    parser.add_argument("--check-bounds", action="store_true", help="have each index checked; needs a folder")
    given = parser.parse_args()
    if given.check_bounds and given.folder is None:
        parser.error("--check-bounds: needs a folder, lest the package's own kernels become slow")
    build(given.folder or built.OF_PACKAGE, given.check_bounds)


if __name__ == "__main__":
    main()
