"""The keys that came lately, to any process of a server."""

from __future__ import annotations

import time
from hashlib import sha256
from pathlib import Path

_LATELY_S, _NOTE_EVERY_S = 30.0, 5.0


class RecentKeys:
    """The keys that came in the last half minute; processes of one server note them in a `folder` they have in common.

    For one event loop.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._noted: dict[str, float] = {}
        self._came: dict[str, float] = {}
        self._looked_at = 0.0

    def note(self, key: str) -> None:
        """Note that a key came."""
        now, name = time.time(), sha256(key.encode()).hexdigest()[:16]
        if now - self._noted.get(name, 0.0) >= _NOTE_EVERY_S:
            self._noted = {name: at for name, at in self._noted.items() if now - at < _LATELY_S} | {name: now}
            if self._folder is not None:
                (self._folder / f"key-{name}").touch()

    def has_others(self, key: str) -> bool:
        """Return True if another key than this one came lately."""
        now, name = time.time(), sha256(key.encode()).hexdigest()[:16]
        if self._folder is not None and now - self._looked_at >= _NOTE_EVERY_S / 5:
            self._looked_at = now
            self._came = {path.name.removeprefix("key-"): path.stat().st_mtime for path in self._folder.glob("key-*")}
        return any(now - at < _LATELY_S and other != name for other, at in (self._came | self._noted).items())
