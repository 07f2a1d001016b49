"""The groups of kernels: what is compiled together, into one library, and the digest of what it depends on."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

_HERE = Path(__file__).parent
_PACKAGE = _HERE.parents[1]
_COMMON = ("abi.py", "build.py", "groups.py", "tables.py")
"""The modules that all machine code depends on, beside those in the folders of a group."""


@dataclass(frozen=True)
class KernelGroup:
    """Kernels, each a `module.function` below memplan, that are compiled together and kept in one library."""

    name: str
    kernels: tuple[str, ...]

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders with all the sources of its kernels."""
        return tuple(sorted({_PACKAGE.joinpath(*name.split(".")[:-2]) for name in self.kernels}))


PLANNING = KernelGroup(
    "planning",
)


@cache
def kernel_groups() -> tuple[KernelGroup, ...]:
    """Return the groups of the package: those here, and the one of each question with a folder `kernels`."""
    folders = sorted(_PACKAGE.glob("capabilities/*/kernels/__init__.py"))
    modules = (import_module(f"memplan.capabilities.{path.parts[-3]}.kernels") for path in folders)
    return (PLANNING, *(module.GROUP for module in modules))


def source_digest(group: KernelGroup) -> str:
    """Return a digest of all the sources that a group's machine code depends on."""
    sources = [_HERE / name for name in _COMMON]
    sources += sorted(source for folder in group.folders for source in folder.glob("*.py"))
    return hashlib.sha256(b"\0".join(source.read_bytes() for source in sources)).hexdigest()
