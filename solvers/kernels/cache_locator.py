"""Tells numba where the kernels of this package are kept: whole and sound, in a folder that need not be writable."""

from __future__ import annotations

from pathlib import Path

from numba.core.caching import InTreeCacheLocator

from solvers import kernel_cache


class KernelCacheLocator(InTreeCacheLocator):  # type: ignore[misc]  # numba has no types
    """The folder of solvers.kernel_cache, for the functions of this package and no others."""

    @classmethod
    def from_function(cls, py_func: object, py_file: str) -> KernelCacheLocator | None:
        """Return a locator for a function of this package, None for one of another."""
        return cls(py_func, py_file) if Path(py_file).parent == Path(__file__).parent else None

    def get_cache_path(self) -> str:
        """Return the folder, which is there."""
        return str(kernel_cache.folder_for_numba())

    def ensure_cache_path(self) -> None:
        """Make the folder if it was removed meanwhile; one that is kept is only read."""
        Path(self.get_cache_path()).mkdir(parents=True, exist_ok=True)
