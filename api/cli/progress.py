"""Work in a thread, so that signals are heard meanwhile, and a line that shows how far it is."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TextIO, TypeVar

Result = TypeVar("Result")
_DRAW_EVERY_S = 0.1
_ERASE = "\r\033[K"


class ProgressLine:
    """One line on a terminal, drawn over and over: the time, and how far the work is."""

    def __init__(self, terminal: TextIO | None) -> None:
        self.terminal = terminal
        self.latest: str | None = None

    def take(self, text: str) -> None:
        """Remember how far the search is; called from its threads."""
        self.latest = text

    def draw(self, elapsed_s: float) -> None:
        """Draw what is known, if there is a terminal."""
        if self.terminal is None or self.latest is None:
            return
        width = shutil.get_terminal_size().columns - 1  # the last column stays free: some terminals wrap after it
        self.terminal.write(f"{_ERASE}{f'{elapsed_s:6.1f} s  {self.latest}'[:width]}")
        self.terminal.flush()

    def erase(self) -> None:
        """Make room for what comes after."""
        if self.terminal is not None:
            self.terminal.write(_ERASE)
            self.terminal.flush()


def run_in_thread(work: Callable[[], Result], meanwhile: Callable[[], None]) -> Result:
    """Run `work` to its end, and `meanwhile` several times a second; return or raise what it does.

    A signal's handler runs in the main thread, which must not be inside a kernel when the signal comes.
    """
    done: Future[Result] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:  # noqa: BLE001 - it is raised again, in the thread that waits
            done.set_exception(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(_DRAW_EVERY_S)
    while thread.is_alive():
        meanwhile()
        thread.join(_DRAW_EVERY_S)
    return done.result()
