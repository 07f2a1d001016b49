"""The build backend, which is hatchling's, and its hook: the core is compiled when the package is built or installed,
by a compiler of C++ that is there or is taken from a package."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import sysconfig
from pathlib import Path
from runpy import run_path
from typing import Any

os.environ.pop("PIP_BUILD_TRACKER", None)  # under it, hatchling has no metadata without a build, and so compiles twice
from hatchling.build import *  # noqa: F403
from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

ROOT = Path(__file__).parent
_CORE = ROOT / "memplan" / "solvers" / "core"
_COMPILER = "ziglang>=0.13"
"""Compiles where the machine has no compiler of C++, and for other machines."""
TARGETS = {
    "x86_64-linux-gnu.2.17": "manylinux_2_17_x86_64",
    "aarch64-linux-gnu.2.17": "manylinux_2_17_aarch64",
    "x86_64-linux-musl": "musllinux_1_2_x86_64",
    "aarch64-linux-musl": "musllinux_1_2_aarch64",
    "x86_64-macos.11.0": "macosx_11_0_x86_64",
    "aarch64-macos.11.0": "macosx_11_0_arm64",
    "x86_64-windows-gnu": "win_amd64",
}
"""What a wheel can be built for where MEMPLAN_TARGET names it, in the words of zig, and its platform's tag."""


class CoreBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Compile the core into the wheel, or into the checkout that is installed as editable."""

    def dependencies(self) -> list[str]:
        """Return what compiling needs beside the project's own build requirements."""
        return [] if self._compiling()["installed_compiler"]() else [_COMPILER]

    def _compiling(self) -> dict[str, Any]:
        """Return what the program that compiles the core defines; it is run from its file, as nothing is installed."""
        _make_links(ROOT / "memplan")
        return run_path(str(_CORE / "build.py"))

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and add the libraries to what is built; to a source archive, what compiling needs of memplan."""
        if self.target_name == "sdist":
            _make_links(ROOT / "memplan")
            needed = [Path(__file__), *(file for file in _CORE.iterdir() if file.is_file())]
            build_data["force_include"] |= {str(file): str(file.relative_to(ROOT)) for file in needed}
            return
        build_data["tag"] = f"py3-none-{_platform()}"
        compiling = self._compiling()
        package = ROOT / "memplan"
        subprocess.run([sys.executable, str(_CORE / "build.py"), str(package)], check=True)
        if version != "editable":
            made = [compiling["library_of"](folder) for folder in compiling["folders"](package)]
            made += [library.with_name("sources.txt") for library in made]
            build_data["force_include"] |= {str(file): str(package.name / file.relative_to(package)) for file in made}
            build_data["force_include"] |= {
                str(file): str("memplan" / file.relative_to(self.root))
                for file in sorted(Path(self.root, "examples").glob("**/*"))
                if file.is_file() and not {"problems", "__pycache__"}.intersection(file.parts)
            }
        build_data["pure_python"] = False


class ReadmeHook(MetadataHookInterface):
    """Take README as an index shows it: links to files lead to those of the version."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the text to the metadata."""
        home = f"{metadata['urls']['Source']}/blob/v{version()}/"
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        linked = re.sub(r"\]\((?![a-z]+:|#)([^)\s]+)\)", rf"]({home}\1)", text)
        metadata["readme"] = {"content-type": "text/markdown", "text": linked.replace(".svg)", ".svg?raw=true)")}


def version() -> str:
    """Return the version of the package, which is in a source archive in place of the link to it."""
    found = next(ROOT.glob("planner/__init__.py"), ROOT / "memplan" / "planner" / "__init__.py")
    return str(run_path(str(found))["__version__"])


def _make_links(package: Path) -> None:
    """Make links of the files that hold their targets in a checkout without links, as Git makes them on Windows."""
    for file in package.iterdir():
        target = package / file.read_text(encoding="utf-8") if file.is_file() and not file.suffix else None
        if target is None or not target.is_dir():
            continue
        file.unlink()
        if sys.platform == "win32":
            # A junction needs no rights, as a link does.
            import _winapi

            _winapi.CreateJunction(str(target.resolve()), str(file))
        else:
            file.symlink_to(target.resolve())


def _platform() -> str:
    """Return the platform's tag: libraries that link to libc's oldest functions alone run on any glibc since 2.17."""
    if target := os.environ.get("MEMPLAN_TARGET"):
        if target not in TARGETS:
            raise ValueError(f"MEMPLAN_TARGET: must be one of {', '.join(TARGETS)}, got {target}")
        return TARGETS[target]
    if sys.platform == "linux" and platform.libc_ver()[0] == "glibc":
        return f"manylinux_2_17_{platform.machine()}"
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")
