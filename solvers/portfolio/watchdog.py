"""A thread that stops searches at their deadlines or when they are cancelled.

All searches share one thread, because starting one per search would cost more than solving a small problem.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from memplan.solvers.search.incumbent import Search

_LOOK_EVERY_S = 0.05
"""The seconds between two checks of the running searches. Searches that check the time themselves stop sooner."""
_LINGER_S = 1.0
"""The seconds for which an idle thread keeps running, as starting it again costs more."""


class _Watcher:
    """The running searches of this process, and the one thread that checks all of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[Search, threading.Event | None] = {}
        self._thread: threading.Thread | None = None

    @contextmanager
    def watch(self, search: Search, cancelled: threading.Event | None) -> Iterator[None]:
        """Stop the search at its deadline or when it is cancelled, for as long as the block runs."""
        check_search(search, cancelled)  # A search may be cancelled before it starts, so check it at once.
        with self._lock:
            self._running[search] = cancelled
            # Threads do not survive a fork, so a forked process must start a new watchdog thread.
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._check_repeatedly, name="memplan-watch", daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                del self._running[search]

    def _check_repeatedly(self) -> None:
        """Check the running searches regularly, and end the thread once no search has been running for a while."""
        idle_since = time.monotonic()
        while True:
            time.sleep(_LOOK_EVERY_S)
            with self._lock:
                now = time.monotonic()
                if self._running:
                    idle_since = now
                elif now - idle_since >= _LINGER_S:
                    self._thread = None
                    return
                running = list(self._running.items())
            for search, cancelled in running:
                check_search(search, cancelled)


def check_search(search: Search, cancelled: threading.Event | None) -> None:
    """Stop a search that was cancelled or whose deadline has passed."""
    if cancelled is not None and cancelled.is_set():
        search.stop("cancelled")
    _ = search.is_over


watched = _Watcher().watch
