"""A line that shows how far a command is."""

from __future__ import annotations

import shutil
import time
from typing import TextIO

_ERASE = "\r\033[K"


class ProgressLine:
    """One line on a terminal, drawn over and over: the time, and how far the work is."""

    def __init__(self, terminal: TextIO) -> None:
        self.terminal = terminal
        self.latest: str | None = None
        self._began = time.monotonic()

    def take(self, text: str) -> None:
        """Remember how far the search is; called from its threads."""
        self.latest = text

    def draw(self) -> None:
        """Draw what is known."""
        if self.latest is None:
            return
        width = shutil.get_terminal_size().columns - 1  # the last column stays free: some terminals wrap after it
        self.terminal.write(f"{_ERASE}{f'{time.monotonic() - self._began:6.1f} s  {self.latest}'[:width]}")
        self.terminal.flush()

    def erase(self) -> None:
        """Make room for what comes after."""
        self.terminal.write(_ERASE)
        self.terminal.flush()
