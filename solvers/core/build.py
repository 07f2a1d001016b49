"""Compilation of the core and of the extensions' kernels: `python -m memplan.solvers.core.build [PACKAGE]`.

Each folder `core` with C++ sources becomes one shared library in its subfolder `built`. Each source becomes an object
file in `built/objects`, which is reused while its inputs are unchanged. Without PACKAGE, memplan's own folders are
compiled. The libraries need only the C library, so one build works with every Python. If no compiler is installed,
the package `ziglang` provides one. This module uses only the standard library, as it runs before any installation.
"""

import hashlib
import os
import re
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
TARGET = os.environ.get("MEMPLAN_TARGET", "")
"""The platform that zig cross-compiles for, such as `aarch64-linux-gnu.2.17`; empty for this machine."""
SYSTEM = next(
    (name for word, name in {"windows": "win32", "macos": "darwin", "linux": "linux"}.items() if word in TARGET),
    sys.platform,
)
SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(SYSTEM, ".so")
FLAGS = (
    *("-std=c++20", "-O2", "-g0", "-ffp-contract=off", "-fno-math-errno", "-fno-exceptions", "-fno-rtti"),
    *("-fno-unwind-tables", "-fno-asynchronous-unwind-tables"),
)
"""The compiler flags. Fused multiply-add is off, so that results are identical on all machines."""
_PLACES = ("core", "solvers/core", "programs/*/core", "extensions/*/core")
"""The folders of a package that may contain C++ sources."""
_SOURCES = ("*.cpp", "*.hpp", "*.h")


def folders(package: Path) -> list[Path]:
    """Return the folders with C++ sources in a package, each the source of one shared library; extensions come last."""
    return [folder for place in _PLACES for folder in sorted({path.parent for path in package.glob(f"{place}/*.cpp")})]


def library_of(folder: Path) -> Path:
    """Return the path of the shared library that a folder is compiled to."""
    holder = folder.parent.name
    return folder / "built" / f"memplan{'' if holder == 'solvers' else '_' + holder}{SUFFIX}"


def digest_of(folder: Path, flags: Sequence[str] = FLAGS) -> str:
    """Return a digest of everything that a folder's library depends on: sources, headers, flags and platform."""
    sources = {path for place in (HERE, folder) for kind in _SOURCES for path in place.glob(kind)}
    content = [path.read_bytes() for path in (Path(__file__), *sorted(sources))]
    return hashlib.sha256(b"\0".join([*content, " ".join((SYSTEM, *flags)).encode()])).hexdigest()


def is_built(folder: Path, flags: Sequence[str] = FLAGS) -> bool:
    """Return True if a folder's library exists and its recorded digest matches the sources."""
    note = folder / "built" / "sources.txt"
    return library_of(folder).exists() and note.exists() and note.read_text() == digest_of(folder, flags)


def build(package: Path, flags: Sequence[str] = FLAGS) -> None:
    """Compile the libraries of a package whose sources or flags have changed.

    Raises RuntimeError without a compiler, CalledProcessError if the compiler fails, and OSError if a file cannot be
    written.
    """
    stale = {folder: digest_of(folder, flags) for folder in folders(package) if not is_built(folder, flags)}
    if not stale:
        return
    from concurrent.futures import ThreadPoolExecutor

    compiler = compiler_command()
    sources = sorted(source for folder in stale for source in folder.glob("*.cpp"))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(lambda source: _compile(compiler, flags, source), sources))
    for folder, digest in stale.items():
        _link(compiler, flags, sorted(made for made in objects if folder in made.parents), library_of(folder))
        (folder / "built" / "sources.txt").write_text(digest)


def _compile(compiler: Sequence[str], flags: Sequence[str], source: Path) -> Path:
    """Compile a source file and return its object file, reused if the command, source and headers are unchanged."""
    import subprocess

    made = source.parent / "built" / "objects" / f"{source.stem}.o"
    shared = "-DMEMPLAN_SHARED" if SYSTEM == "win32" else "-fPIC"
    command = [*compiler, *flags, shared, "-fvisibility=hidden", f"-I{HERE}", "-c", str(source)]
    read, key = made.with_suffix(".d"), made.with_suffix(".txt")
    if not (made.exists() and key.exists() and key.read_text() == _command_digest(command, read)):
        made.parent.mkdir(parents=True, exist_ok=True)
        key.unlink(missing_ok=True)
        before = digest_of(source.parent, command)
        subprocess.run([*command, "-MMD", "-MF", str(read), "-o", str(made)], check=True)
        if digest_of(source.parent, command) == before:  # If no source changed meanwhile, the object is reusable.
            key.write_text(_command_digest(command, read))
    return made


def _command_digest(command: Sequence[str], read: Path) -> str:
    listed = read.read_text(encoding="utf-8").replace("\\\n", " ").partition(": ")[2]
    files = [Path(name.replace("\\ ", " ")) for name in re.split(r"(?<!\\)\s+", listed.strip())]
    if not all(file.exists() for file in files):
        return ""
    return hashlib.sha256(b"\0".join([" ".join(command).encode(), *(file.read_bytes() for file in files)])).hexdigest()


def _link(compiler: Sequence[str], flags: Sequence[str], objects: Sequence[Path], library: Path) -> None:
    """Link object files into a shared library, and replace an older library atomically."""
    import subprocess

    # The core uses no symbol of the C++ library, so link with the C driver, which does not need that library.
    linker = ["cc" if word == "c++" else word for word in compiler] if "ziglang" in compiler else compiler
    alone = ["-nodefaultlibs", "-lc", "-lgcc"] if linker is compiler and SYSTEM == "linux" else []
    sanitizers = [flag for flag in flags if flag.startswith("-fsanitize")]
    made = library.parent / "objects" / library.name
    # On macOS, a library without an install name records the path at which it was linked, so its bytes would differ.
    named = [f"-Wl,-install_name,@rpath/{library.name}"] if SYSTEM == "darwin" else []
    command = [*linker, *sanitizers, *named, "-shared", "-o", str(made), *map(str, objects)]
    stripped = [] if sanitizers or SYSTEM == "darwin" else ["-s"]
    subprocess.run([*command, *stripped, *([] if sanitizers else alone)], check=True)
    made.replace(library)


def compiler_command() -> list[str]:
    """Return the command of a C++ compiler: from CXX, or an installed compiler, or that of the package `ziglang`.

    Raises RuntimeError if there is no compiler.
    """
    if installed := installed_compiler():
        return installed
    if find_spec("ziglang") is not None:
        return [sys.executable, "-m", "ziglang", "c++", *(("-target", TARGET) if TARGET else ())]
    if TARGET:
        raise RuntimeError(f"MEMPLAN_TARGET: compiling for {TARGET} requires zig; run `pip install ziglang`")
    raise RuntimeError("CXX: must name a C++20 compiler if none is installed; or install g++, clang++ or ziglang")


def installed_compiler() -> list[str] | None:
    """Return the compiler command from CXX or on PATH; None if there is none, or if MEMPLAN_TARGET is set."""
    import shlex
    import shutil

    if TARGET:
        return None
    if compiler := os.environ.get("CXX"):
        return shlex.split(compiler)
    places = (shutil.which(name) for name in ("c++", "g++", "clang++"))
    return next(([place] for place in places if place), None)


if __name__ == "__main__":
    for each in map(Path, sys.argv[1:]) if sys.argv[1:] else [HERE.parents[1]]:
        build(each)
