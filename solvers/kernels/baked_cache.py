"""The kernels of an image: compiled when it was built, and read where nothing can be written."""

from __future__ import annotations

from pathlib import Path

from numba.core.caching import UserProvidedCacheLocator


class BakedCache(UserProvidedCacheLocator):  # type: ignore[misc]  # numba has no types
    """The folder NUMBA_CACHE_DIR, whether it can be written or not; numba's own locators pass by one that cannot.

    For NUMBA_CACHE_LOCATOR_CLASSES, which names this class. Only a folder that holds every kernel may be read-only.
    """

    def ensure_cache_path(self) -> None:
        """Make the folder where there is none."""
        Path(self.get_cache_path()).mkdir(parents=True, exist_ok=True)
