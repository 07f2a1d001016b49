"""The inner loops, compiled by numba: int64 arrays in, arrays out. Nothing else imports numba."""

from __future__ import annotations

from numba import config

_OTHERS = "UserProvidedCacheLocator,InTreeCacheLocator,UserWideCacheLocator,IPythonCacheLocator,ZipCacheLocator"
"""Where numba looks by default, for functions that are not ours."""

config.CACHE_LOCATOR_CLASSES = ",".join(
    ("solvers.kernels.cache_locator.KernelCacheLocator", config.CACHE_LOCATOR_CLASSES or _OTHERS)
)
