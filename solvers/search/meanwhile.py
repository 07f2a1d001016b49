"""Background threads for periodic calls, and for stop flags that kernels poll."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from memplan.planner.model.buffer_table import I64

_LOOK_EVERY_S = 0.02


@contextmanager
def call_periodically(look: Callable[[], object], every_s: float, name: str) -> Iterator[None]:
    """Call `look` every `every_s` seconds in a background thread for as long as the block runs."""
    ended = threading.Event()

    def repeat_calls() -> None:
        while not ended.wait(every_s):
            look()

    thread = threading.Thread(target=repeat_calls, name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextmanager
def polling_flag(is_over: Callable[[], bool]) -> Iterator[I64]:
    """Yield a flag array (1,) for compiled loops, whose entry becomes 1 once `is_over()` returns True."""
    flag = np.zeros(1, dtype=np.int64)

    def update_flag() -> None:
        if is_over():
            flag[0] = 1

    update_flag()
    with call_periodically(update_flag, _LOOK_EVERY_S, "memplan-flag"):
        yield flag
