"""`memplan warm-up`: compile the kernels ahead, so that no search has to wait for them."""

from __future__ import annotations

import time

from memplan.api.cli.streams import say


def warm_up() -> None:
    """Compile the kernels, and name the folders that keep them; a second call only loads them.

    They are kept beside the sources, or else in the user's cache; in NUMBA_CACHE_DIR, if that is set.
    """
    from memplan.solvers.kernels import cache
    from memplan.solvers.kernels.warm_up import warm_up as load_kernels

    for group in cache.GROUPS:
        started = time.monotonic()
        was_kept = cache.find(group) is not None
        folder = load_kernels(group)
        done = "loaded" if was_kept else "compiled"
        place = "kept nowhere: no folder can be written" if folder is None else f"kept in {folder}"
        say(f"memplan: {group.name} kernels {done} in {time.monotonic() - started:.1f} s, {place}")
