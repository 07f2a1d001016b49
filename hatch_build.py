"""The build hook: the core is compiled when the package is built or installed, by a compiler of C++ that is there or is
taken from a package."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_COMPILER = "ziglang>=0.13"
"""Compiles where the machine has no compiler of C++."""


class CoreBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Compile the core into the wheel, or into the checkout that is installed as editable."""

    def dependencies(self) -> list[str]:
        """Return what compiling needs beside the project's own build requirements."""
        has_compiler = os.environ.get("CXX") or any(map(shutil.which, ("c++", "g++", "clang++")))
        return [] if has_compiler else [_COMPILER]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and add the libraries to what is built."""
        if self.target_name != "wheel":
            return
        package = Path(self.root, "memplan")
        sources = [package / "solvers" / "core", *package.glob("solvers/*/core"), *package.glob("capabilities/*/core")]
        if version != "editable":  # in a copy, which leaves the checkout as it is
            copied = Path(mkdtemp()) / "memplan"
            for folder in sources:
                shutil.copytree(folder, copied / folder.relative_to(package), ignore=shutil.ignore_patterns("built"))
            package = copied
        subprocess.run([sys.executable, str(package / "solvers" / "core" / "build.py"), str(package)], check=True)
        if version != "editable":
            made = [file for file in package.glob("**/core/built/*") if file.is_file()]
            build_data["force_include"] |= {str(file): str("memplan" / file.relative_to(package)) for file in made}
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{_platform()}"


def _platform() -> str:
    """Return the platform's tag: libraries that link to libc's oldest functions alone run on any glibc since 2.17."""
    if sys.platform == "linux" and platform.libc_ver()[0] == "glibc":
        return f"manylinux_2_17_{platform.machine()}"
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")
