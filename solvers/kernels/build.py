"""Compile and link all kernels into a folder, as a package is built: `python -m memplan.solvers.kernels.build FOLDER`.

They are made for a baseline that every processor of the last ten years has. They link against nothing but memory
functions of libc, so any compiler driver can link them; where there is none, the one of the package `ziglang` does.
"""

from __future__ import annotations

import gc
import hashlib
import os
import shutil
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic_core import to_json

from memplan.solvers.kernels import abi, built
from memplan.solvers.kernels.cache import GROUPS, KernelGroup, source_digest
from memplan.solvers.kernels.warm_up import kernel_named

BASELINES = {"x86_64": "x86-64-v2", "AMD64": "x86-64-v2"}
"""The processor to compile for, by the machine's name; "generic" for others."""


def build(folder: Path) -> None:
    """Fill the folder with a library and a manifest for each group.

    Raises OSError where it cannot be written, RuntimeError where there is no linker, CalledProcessError where it fails.
    """
    folder.mkdir(parents=True, exist_ok=True)
    left = [group for group in GROUPS if not _copied(group, folder)]
    if not left:
        return
    linker = _linker()
    processor = BASELINES.get(built.machine().rpartition("-")[2], "generic")
    names = [name for group in left for name in group.kernels]
    with TemporaryDirectory() as objects:
        with ProcessPoolExecutor(mp_context=get_context("spawn"), initializer=_choose, initargs=(processor,)) as pool:
            entries = dict(zip(names, pool.map(_emit, names, [objects] * len(names)), strict=True))
        for group in left:
            _link(group, entries, Path(objects), folder, linker, processor)


def _copied(group: KernelGroup, folder: Path) -> bool:
    """Take the group's library from this checkout, if one was built here of the same sources; return True if so."""
    found = built.find(group)
    if found is None or folder.resolve() == built.FOLDER.resolve():
        return found is not None
    for file in (found.library, built.FOLDER / f"{group.name}.json"):
        shutil.copy2(file, folder)
    return True


def _choose(processor: str) -> None:
    os.environ.update(NUMBA_CPU_NAME=processor, NUMBA_CPU_FEATURES="")
    gc.disable()  # which takes a tenth of the time, and frees little before the process ends


def _emit(name: str, objects: str) -> str:
    """Compile a kernel into an object file; return the symbol of its entry."""
    code, entry = abi.position_independent(kernel_named(name).function, os.environ["NUMBA_CPU_NAME"])
    (Path(objects) / f"{name}.o").write_bytes(code)
    return entry


def _link(
    group: KernelGroup, entries: dict[str, str], objects: Path, folder: Path, linker: list[str], processor: str
) -> None:
    library = folder / f"{group.name}.so"
    loose = ["-undefined", "dynamic_lookup"] if sys.platform == "darwin" else ["-nostdlib", "-Wl,-z,noexecstack"]
    files = [str(objects / f"{name}.o") for name in group.kernels]
    subprocess.run([*linker, "-shared", *loose, "-o", str(library), *files], check=True)
    manifest = {
        "sources": source_digest(group),
        "machine": built.machine(),
        "processor": processor,
        "library": library.name,
        "digest": hashlib.sha256(library.read_bytes()).hexdigest(),
        "entries": {name.rpartition(".")[2]: entries[name] for name in group.kernels},
        "made_by": abi.made_by(),
    }
    (folder / f"{group.name}.json").write_bytes(to_json(manifest, indent=1) + b"\n")


def _linker() -> list[str]:
    """Return the command of a compiler driver that links."""
    for name in ("cc", "gcc", "clang"):
        if found := shutil.which(name):
            return [found]
    if find_spec("ziglang") is not None:
        return [sys.executable, "-m", "ziglang", "cc"]
    raise RuntimeError("no linker: neither cc, gcc, clang nor the package ziglang")


if __name__ == "__main__":
    build(Path(sys.argv[1]))
