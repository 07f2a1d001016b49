"""The build hook: kernels are compiled when the package is built or installed, so that no search has to wait for them.

MEMPLAN_BUILD_KERNELS=0 leaves them out; then the package is one of Python alone, a hundred times slower, and says so.
"""

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

_NEEDS = ["llvmlite>=0.43,<0.51", "numba>=0.60,<0.69", "numpy>=2.0", "pydantic>=2.9"]
_LINKER = "ziglang>=0.13"
"""Links where the machine has no compiler driver of its own."""


class KernelBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Compile and link the kernels into the wheel, or into the checkout that is installed as editable."""

    def dependencies(self) -> list[str]:
        """Return what compiling and linking need beside the project's own build requirements."""
        if not _is_wanted():
            return [] if any(map(shutil.which, ("c++", "g++", "clang++"))) else [_LINKER]
        return _NEEDS if any(map(shutil.which, ("c++", "g++", "clang++"))) else [*_NEEDS, _LINKER]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, link, and add the libraries to what is built."""
        if self.target_name != "wheel":
            return
        self._compile_core(version, build_data)
        if not _is_wanted():
            return
        inside = Path("memplan", "solvers", "kernels", "built")
        folder = Path(self.root) / inside if version == "editable" else Path(mkdtemp())
        # What pip isolates a build with is found by this path, too.
        path = os.pathsep.join(filter(None, (self.root, os.environ.get("PYTHONPATH"))))
        environment = os.environ | {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-m", "memplan.solvers.kernels.build", str(folder)]
        subprocess.run(command, check=True, cwd=self.root, env=environment)
        if version != "editable":
            build_data["force_include"] |= {str(file): str(inside / file.name) for file in folder.iterdir()}
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{_platform()}"

    def _compile_core(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the libraries of C++ in a copy of their sources, or in the checkout that is installed as editable."""
        package = Path(self.root, "memplan")
        if version != "editable":
            copied = Path(mkdtemp()) / "memplan"
            for folder in [package / "solvers" / "core", *package.glob("capabilities/*/core")]:
                shutil.copytree(folder, copied / folder.relative_to(package), ignore=shutil.ignore_patterns("built"))
            package = copied
        subprocess.run([sys.executable, str(package / "solvers" / "core" / "build.py"), str(package)], check=True)
        if version != "editable":
            made = [file for file in package.glob("**/core/built/*") if file.suffix in {".so", ".dylib", ".dll"}]
            build_data["force_include"] |= {str(file): str("memplan" / file.relative_to(package)) for file in made}
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{_platform()}"


def _is_wanted() -> bool:
    return os.environ.get("MEMPLAN_BUILD_KERNELS", "1") != "0"


def _platform() -> str:
    """Return the platform's tag: libraries that link to libc's oldest functions alone run on any glibc since 2.17."""
    if sys.platform == "linux" and platform.libc_ver()[0] == "glibc":
        return f"manylinux_2_17_{platform.machine()}"
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")
