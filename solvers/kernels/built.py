"""The kernels that came with the package: linked when it was built, one library a group, called without numba.

A library is used only where its manifest names these sources and this kind of machine, and its bytes are those of the
manifest's digest. So a checkout whose kernels were edited compiles them, as does one that was never built.
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pydantic_core import from_json

from memplan.solvers.kernels.cache import SETTINGS, KernelGroup, source_digest

FOLDER = Path(__file__).parent / "built"
SWITCH = "MEMPLAN_KERNELS"
"""The environment variable that, as `host`, asks for kernels that are compiled for this very processor."""


@dataclass(frozen=True)
class BuiltGroup:
    """A library on disk, the symbol of each kernel in it, the least processor it runs on, and what made it."""

    library: Path
    entries: Mapping[str, str]
    processor: str
    made_by: str


def find(group: KernelGroup) -> BuiltGroup | None:
    """Return the group's library, or None where there is none for these sources, this machine and these settings."""
    return None if reason_against(group) else _manifest(group)[1]


def reason_against(group: KernelGroup) -> str:
    """Return the reason that the group's library is not used, in a few words; empty where it is."""
    if asked := next((name for name in SETTINGS if os.environ.get(name)), None):
        return f"{asked} asks for kernels of its own"
    if os.environ.get(SWITCH) == "host":
        return f"{SWITCH} asks for those of this processor"
    return _manifest(group)[0]


@cache
def _manifest(group: KernelGroup) -> tuple[str, BuiltGroup | None]:
    """Return the reason against a library, empty where it is sound, and the library."""
    try:
        told = from_json((FOLDER / f"{group.name}.json").read_bytes())
        library = FOLDER / told["library"]
        if told["sources"] != source_digest(group):
            return "the kernels' sources were changed since it was built", None
        if told["machine"] != machine():
            return f"it is for {told['machine']}, this is {machine()}", None
        if not _runs(told["processor"]):
            return f"this processor is older than {told['processor']}", None
        if hashlib.sha256(library.read_bytes()).hexdigest() != told["digest"]:
            return "its file is damaged", None
        return "", BuiltGroup(library, told["entries"], told["processor"], told["made_by"])
    except FileNotFoundError:
        return "the package was installed without compiling them", None
    except (OSError, ValueError, KeyError, TypeError):
        return "its manifest cannot be read", None


def machine() -> str:
    """Return the system and the processor's family, for which machine code is made: linux-x86_64."""
    return f"{sys.platform}-{platform.machine()}"


def _runs(processor: str) -> bool:
    """Return True if this processor has what a baseline asks for; True where that cannot be known."""
    needed = _NEEDED.get(processor, frozenset())
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return True
    flags = next((line.partition(":")[2].split() for line in lines if line.startswith("flags")), None)
    return flags is None or needed <= set(flags)


_NEEDED = {"x86-64-v2": frozenset({"cx16", "lahf_lm", "popcnt", "sse4_1", "sse4_2", "ssse3"})}
"""What Linux calls the features of a baseline."""
