"""Compile the core and what capabilities and distributions add to it: `python -m memplan.solvers.core.build [PACKAGE]`.

Each folder `core` with C++ in it becomes one shared library, in its own folder `built`; one whose sources have not
changed stays. Without PACKAGE these are memplan and the distributions of its checkout. They need no more than the C
library, so any compiler of C++20 makes them for every Python: where there is none, the one of the package `ziglang`
does. It needs the standard library alone, since it runs before anything is installed.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
FLAGS = (
    *("-std=c++20", "-O2", "-g0", "-ffp-contract=off", "-fno-math-errno", "-fno-exceptions", "-fno-rtti"),
    *("-fno-unwind-tables", "-fno-asynchronous-unwind-tables"),
)
"""Compiler flags; fused multiply-add is off, so that answers are identical on all machines. Nothing unwinds."""
_PLACES = ("core", "solvers/core", "extensions/*/core", "extensions/*/*/core")
"""Where a package has C++ sources."""
_SOURCES = ("*.cpp", "*.hpp", "*.h")


def folders(package: Path) -> list[Path]:
    """Return the folders of a package that become libraries, the solvers' first."""
    return [folder for place in _PLACES for folder in sorted({path.parent for path in package.glob(f"{place}/*.cpp")})]


def library_of(folder: Path) -> Path:
    """Return the library file of a folder."""
    holder = folder.parent.name
    return folder / "built" / f"memplan{'' if holder == 'solvers' else '_' + holder}{SUFFIX}"


def digest_of(folder: Path, flags: Sequence[str] = FLAGS) -> str:
    """Return a digest of everything that a folder's library is made from."""
    sources = {path for place in (HERE, folder) for kind in _SOURCES for path in place.glob(kind)}
    content = [path.read_bytes() for path in (Path(__file__), *sorted(sources))]
    return hashlib.sha256(b"\0".join([*content, " ".join((sys.platform, *flags)).encode()])).hexdigest()


def is_built(folder: Path, flags: Sequence[str] = FLAGS) -> bool:
    """Return True if the library of a folder matches its sources."""
    note = folder / "built" / "sources.txt"
    return library_of(folder).exists() and note.exists() and note.read_text() == digest_of(folder, flags)


def build(package: Path, flags: Sequence[str] = FLAGS) -> None:
    """Compile the libraries of a package whose sources have changed.

    Raises RuntimeError without a compiler, CalledProcessError if it fails, and OSError if nothing can be written.
    """
    for folder in folders(package):
        if is_built(folder, flags):
            continue
        library = library_of(folder)
        library.parent.mkdir(exist_ok=True)
        # Imported here, and below: what loads the core needs no more of this module than the path of its file.
        from tempfile import TemporaryDirectory

        # In the same folder, so that the library is put in the place of another one at once.
        with TemporaryDirectory(dir=library.parent) as made:
            compile_library(sorted(folder.glob("*.cpp")), Path(made) / library.name, flags)
            (Path(made) / library.name).replace(library)
        (library.parent / "sources.txt").write_text(digest_of(folder, flags))


def compile_library(sources: Sequence[Path], library: Path, flags: Sequence[str] = FLAGS) -> None:
    """Compile sources into a shared library."""
    compiler = compiler_command()
    shared = "-DMEMPLAN_SHARED" if sys.platform == "win32" else "-fPIC"
    common = [*compiler, *flags, shared, "-fvisibility=hidden", f"-I{HERE}", "-c"]
    objects = [library.parent / f"{source.stem}.o" for source in sources]

    import subprocess
    from concurrent.futures import ThreadPoolExecutor

    def run(source: Path, made: Path) -> None:
        subprocess.run([*common, str(source), "-o", str(made)], check=True)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(run, sources, objects))
    # The driver of C: nothing of the library of C++ is left to link, and so none has to be there.
    linker = [*compiler[:-1], "cc"] if compiler[-1] == "c++" and "ziglang" in compiler else compiler
    alone = ["-nodefaultlibs", "-lc", "-lgcc"] if linker is compiler and sys.platform == "linux" else []
    sanitizers = [flag for flag in flags if flag.startswith("-fsanitize")]
    command = [*linker, *sanitizers, "-shared", "-o", str(library), *map(str, objects)]
    stripped = [] if sanitizers or sys.platform == "darwin" else ["-s"]
    subprocess.run([*command, *stripped, *([] if sanitizers else alone)], check=True)


def compiler_command() -> list[str]:
    """Return the command of a C++ compiler: the one in CXX, one that is installed, or one from a package."""
    if installed := installed_compiler():
        return installed
    if find_spec("ziglang") is not None:
        return [sys.executable, "-m", "ziglang", "c++"]
    raise RuntimeError("no compiler of C++20: install g++ or clang++, or `pip install ziglang`, or name one in CXX")


def installed_compiler() -> list[str] | None:
    """Return the compiler command in CXX, or that of an installed compiler; None if there is none."""
    # Imported here: what is built needs no compiler.
    import shlex
    import shutil

    if compiler := os.environ.get("CXX"):
        return shlex.split(compiler)
    places = (shutil.which(name) for name in ("c++", "g++", "clang++"))
    return next(([place] for place in places if place), None)


if __name__ == "__main__":
    for each in map(Path, sys.argv[1:]) if sys.argv[1:] else [HERE.parents[1]]:
        build(each)
