"""Models and dumps of other systems: bytes in, a problem out; one module a format.

Nothing here opens a file. A format's own parser is an extra, and is imported by the function that needs it. What cannot
be read raises an InputError.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from planner.errors import FormatError
from planner.importers import onnx, tflite
from planner.importers.imported import Imported, Options


class Importer(Protocol):
    """What the module of a format offers; `SUFFIXES` are how names of its files end."""

    SUFFIXES: tuple[str, ...]

    def recognises(self, data: bytes, /) -> bool:
        """Say whether the bytes begin as this format does, and no other."""

    def read(self, data: bytes, options: Options, /) -> Imported:
        """Read a model; raises InputError."""


IMPORTERS: Mapping[str, Importer] = {"tflite": tflite, "onnx": onnx}


def detect(data: bytes, name: str | None = None) -> str | None:
    """Return the importer for a file by what is in it, else by how its name ends; None where there is none."""
    for known, module in IMPORTERS.items():
        if module.recognises(data):
            return known
    ending = (name or "").lower()
    return next((known for known, module in IMPORTERS.items() if ending.endswith(module.SUFFIXES)), None)


def read_model(data: bytes, name: str | None = None, options: Options | None = None) -> Imported:
    """Read a model from the bytes of a file, and its name if it has one; raises InputError."""
    found = detect(data, name)
    if found is None:
        raise FormatError(f"must be of a known format ({', '.join(IMPORTERS)}), got {data[:20]!r}")
    return IMPORTERS[found].read(data, options or Options())
