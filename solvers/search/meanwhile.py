"""A look taken again and again, in a thread of its own, while something else runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def meanwhile(look: Callable[[], object], every_s: float, name: str) -> Iterator[None]:
    """Call `look` every so many seconds, in a thread of that name, until the block ends."""
    ended = threading.Event()

    def go_on() -> None:
        while not ended.wait(every_s):
            look()

    thread = threading.Thread(target=go_on, name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
