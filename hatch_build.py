"""The build backend: that of hatchling, with a hook that compiles the C++ core when the package is built or installed.

It uses an installed C++ compiler, or else one from the package `ziglang`.
"""

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

os.environ.pop("PIP_BUILD_TRACKER", None)  # With a tracker, hatchling builds twice to get metadata.
from hatchling.build import *  # noqa: F403
from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

ROOT = Path(__file__).parent
_CORE = ROOT / "memplan" / "solvers" / "core"
_COMPILER = "ziglang>=0.13"
"""The package with the compiler for machines without a C++ compiler, and for building wheels for other machines."""
TARGETS = {
    "x86_64-linux-gnu.2.17": "manylinux_2_17_x86_64",
    "aarch64-linux-gnu.2.17": "manylinux_2_17_aarch64",
    "x86_64-linux-musl": "musllinux_1_2_x86_64",
    "aarch64-linux-musl": "musllinux_1_2_aarch64",
    "x86_64-macos.11.0": "macosx_11_0_x86_64",
    "aarch64-macos.11.0": "macosx_11_0_arm64",
    "x86_64-windows-gnu": "win_amd64",
}
"""The targets for which wheels can be built, by their names in zig and in MEMPLAN_TARGET, with their wheel tags."""


class CoreBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """The hook that compiles the core into a wheel, or into the checkout for an editable installation."""

    def dependencies(self) -> list[str]:
        """Return the packages that compiling requires in addition: a compiler, if none is installed."""
        return [] if self._compiling()["installed_compiler"]() else [_COMPILER]

    def _compiling(self) -> dict[str, Any]:
        _make_links(ROOT / "memplan")
        return run_path(str(_CORE / "build.py"))

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the core and add its libraries to a wheel; to a source archive, add the sources instead."""
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
    """The hook that sets the package's description: the README with links to the files of the released version."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the field `readme` of the package's metadata."""
        home = f"{metadata['urls']['Source']}/blob/v{version()}/"
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        linked = re.sub(r"\]\((?![a-z]+:|#)([^)\s]+)\)", rf"]({home}\1)", text)
        metadata["readme"] = {"content-type": "text/markdown", "text": linked.replace(".svg)", ".svg?raw=true)")}


def version() -> str:
    """Return the package's version, read from `planner` in a checkout, or `memplan/planner` in a source archive."""
    found = next(ROOT.glob("planner/__init__.py"), ROOT / "memplan" / "planner" / "__init__.py")
    return str(run_path(str(found))["__version__"])


def _make_links(package: Path) -> None:
    """Replace text files that contain a link's target by links; Git writes such files on Windows instead of links."""
    for file in package.iterdir():
        target = package / file.read_text(encoding="utf-8") if file.is_file() and not file.suffix else None
        if target is None or not target.is_dir():
            continue
        file.unlink()
        if sys.platform == "win32":
            # On Windows, links require special rights but junctions do not, so create a junction.
            import _winapi

            _winapi.CreateJunction(str(target.resolve()), str(file))
        else:
            file.symlink_to(target.resolve())


def _platform() -> str:
    if target := os.environ.get("MEMPLAN_TARGET"):
        if target not in TARGETS:
            raise ValueError(f"MEMPLAN_TARGET: must be one of {', '.join(TARGETS)}, got {target}")
        return TARGETS[target]
    if sys.platform == "linux" and platform.libc_ver()[0] == "glibc":
        return f"manylinux_2_17_{platform.machine()}"
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")
