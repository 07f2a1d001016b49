"""The kernels that came with the package: linked when it was built, one library a group, called without numba.

A library is used only where its manifest names these sources and this kind of machine, and its bytes are those of the
manifest's digest. Else kernels run as Python, until they are built anew: `python -m memplan.solvers.kernels.build`.
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Mapping
from ctypes import CDLL
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pydantic_core import from_json

from memplan.solvers.kernels.groups import KernelGroup, source_digest

OF_PACKAGE = Path(__file__).parent / "built"
SWITCH = "MEMPLAN_KERNELS_FOLDER"
"""The environment variable that names another folder to take kernels from."""
REMEDY = "pip install 'memplan[jit]' && python -m memplan.solvers.kernels.build"


@dataclass(frozen=True)
class BuiltGroup:
    """A library, loaded, the symbol of each kernel in it, the least processor it runs on, and what made it."""

    library: CDLL
    digest: str
    entries: Mapping[str, str]
    processor: str
    made_by: str


def folder() -> Path:
    """Return the folder that kernels are taken from: the package's, unless the environment names another one."""
    return Path(os.environ.get(SWITCH) or OF_PACKAGE)


def find(group: KernelGroup) -> BuiltGroup | None:
    """Return the group's library, or None where there is none for these sources and this machine."""
    return look(group, folder())[1]


def reason_against(group: KernelGroup) -> str:
    """Return the reason that the group's library is not used, in a few words; empty where it is."""
    return look(group, folder())[0]


@cache
def look(group: KernelGroup, place: Path) -> tuple[str, BuiltGroup | None]:
    """Return the reason against a library in a folder, empty where it is sound, and the library."""
    try:
        manifest = from_json((place / f"{group.name}.json").read_bytes())
        library = place / manifest["library"]
        if manifest["sources"] != source_digest(group):
            return "their sources were changed since they were built", None
        if manifest["machine"] != machine():
            return f"they are for {manifest['machine']}, this is {machine()}", None
        if not _runs(manifest["processor"]):
            return f"this processor is older than {manifest['processor']}", None
        digest = hashlib.sha256(library.read_bytes()).hexdigest()
        if digest != manifest["digest"]:
            return f"{library} is damaged", None
        return "", BuiltGroup(
            CDLL(str(library)), digest, manifest["entries"], manifest["processor"], manifest["made_by"]
        )
    except FileNotFoundError:
        return f"none were built in {place}", None
    except OSError as error:
        return f"they cannot be loaded: {error}", None
    except (ValueError, KeyError, TypeError):
        return f"the manifest in {place} cannot be read", None


def machine() -> str:
    """Return the system and the processor's family, for which machine code is made: linux-x86_64."""
    return f"{sys.platform}-{platform.machine()}"


def _runs(processor: str) -> bool:
    """Return True if this processor has what a baseline requires; True where that cannot be known."""
    needed = _NEEDED.get(processor, frozenset())
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return True
    flags = next((line.partition(":")[2].split() for line in lines if line.startswith("flags")), None)
    return flags is None or needed <= set(flags)


_NEEDED = {"x86-64-v2": frozenset({"cx16", "lahf_lm", "popcnt", "sse4_1", "sse4_2", "ssse3"})}
"""The features of a baseline, as Linux calls them."""
