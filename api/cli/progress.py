"""Work in a thread, so that signals are heard meanwhile, and a line that shows how far it is."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TextIO, TypeVar

from memplan.solvers.search.result import Progress

Result = TypeVar("Result")
_DRAW_EVERY_S = 0.1
_ERASE = "\r\033[K"


class ProgressLine:
    """One line on a terminal, drawn over and over: time, best peak, bound and gap."""

    def __init__(self, terminal: TextIO | None) -> None:
        self.terminal = terminal
        self.latest: Progress | None = None

    def take(self, progress: Progress) -> None:
        """Remember how far the search is; called from its threads."""
        self.latest = progress

    def draw(self, elapsed_s: float) -> None:
        """Draw what is known, if there is a terminal."""
        if self.terminal is None or self.latest is None:
            return
        width = shutil.get_terminal_size().columns - 1  # the last column stays free: some terminals wrap after it
        self.terminal.write(f"{_ERASE}{f'{elapsed_s:6.1f} s  {sentence(self.latest)}'[:width]}")
        self.terminal.flush()

    def erase(self) -> None:
        """Make room for what comes after."""
        if self.terminal is not None:
            self.terminal.write(_ERASE)
            self.terminal.flush()


def sentence(progress: Progress) -> str:
    """Say best peak, bound and gap."""
    peak = "none yet" if progress.peak is None else f"{progress.peak:,}"
    gap = "" if progress.gap is None else f"  gap {progress.gap:.2%}"
    return f"best peak {peak}  bound {progress.lower_bound:,}{gap}  {progress.by}"


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
