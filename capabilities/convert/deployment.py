"""A model brought into the arena of a runtime, by the system whose runtime has one."""

from __future__ import annotations

from memplan.capabilities.capability import Control
from memplan.capabilities.convert.answer import RUNTIME, Converted
from memplan.capabilities.convert.options import ConvertOptions
from memplan.planner.errors import FormatError
from memplan.planner.extensions import imported
from memplan.planner.systems import system_of
from memplan.systems import reading as importers


def deployed(file: bytes, options: ConvertOptions, running: Control) -> Converted:
    """Return a model in its best form for the runtime of its system; raises FormatError for another file."""
    is_json = file.lstrip()[:1] == b"{"
    system = None if is_json else system_of(importers.detect(file))
    if system is None or system.deploys is None:
        got = "JSON" if is_json else importers.detect(file) or f"{file[:8]!r}"
        way = "--to c writes its plan" if got == "JSON" else "convert it first"
        raise FormatError(f"must be a TensorFlow Lite model (.tflite) for {RUNTIME}, got {got}; {way}")
    found: Converted = imported(system.deploys)(file, options, running)
    return found
