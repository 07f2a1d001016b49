"""Results of long measurements in a file of JSON lines, so that a measurement that was stopped goes on."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Any

from lab.support.engine_alone import ROOT


class KeptResults:
    """What was measured, by its key; of other sources of the solvers nothing is taken."""

    def __init__(self, file: Path) -> None:
        self.file, self._lock = file, Lock()
        asked = subprocess.run(["git", "rev-parse", "HEAD:solvers"], cwd=ROOT, capture_output=True, text=True)
        self.tree = asked.stdout.strip()
        rows = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
        self._values = {json.dumps(row["key"]): row["value"] for row in rows if row["tree"] == self.tree}

    def value_of(self, key: list[str | float], measure: Callable[[], Any]) -> Any:
        """Return what is kept of a key; else measure it, and keep it."""
        name = json.dumps(key)
        if name not in self._values:
            value = measure()
            with self._lock, self.file.open("a") as rows:
                rows.write(json.dumps({"tree": self.tree, "key": key, "value": value}) + "\n")
                self._values[name] = value
        return self._values[name]
