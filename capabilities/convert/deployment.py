"""A model in the best form for a runtime, made by the system that the runtime belongs to."""

from __future__ import annotations

from memplan.capabilities.capability import Control
from memplan.capabilities.convert.answer import RUNTIME, Converted
from memplan.capabilities.convert.options import ConvertOptions
from memplan.planner.errors import FormatError, shown
from memplan.planner.extensions import imported
from memplan.planner.systems import system_of
from memplan.systems import reading as importers


def deployed(file: bytes, options: ConvertOptions, running: Control) -> Converted:
    """Return a model in its best form for its system's runtime; raises FormatError for another file."""
    is_json = file.lstrip()[:1] == b"{"
    system = None if is_json else system_of(importers.detect(file))
    if system is None or system.deploys is None:
        got = "JSON" if is_json else importers.detect(file) or f"a file that begins with {shown(file[:8])}"
        way = "--to c writes a plan of it" if system is None else "convert it to one first"
        raise FormatError(f"must be a TensorFlow Lite model (.tflite) for {RUNTIME}, got {got}; {way}")
    found: Converted = imported(system.deploys)(file, options, running)
    return found
