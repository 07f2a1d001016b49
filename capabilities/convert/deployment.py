"""A model brought into the arena of TFLite Micro."""

from __future__ import annotations

from pathlib import PurePath

from memplan.capabilities.capability import Control
from memplan.capabilities.convert.answer import RUNTIME, Converted, Deployment, RuntimeArena, WrittenFile
from memplan.capabilities.convert.device_forms import FormSearch
from memplan.capabilities.convert.options import TFLITE, ConvertOptions
from memplan.capabilities.convert.source import warnings_of
from memplan.planner.errors import FormatError
from memplan.systems import reading as importers
from memplan.systems.arena import rules_of


def deployed(file: bytes, options: ConvertOptions, running: Control) -> Converted:
    """Return a model of TensorFlow Lite in its best form; raises FormatError for another file."""
    is_json = file.lstrip()[:1] == b"{"
    if is_json or (rules := rules_of(file)) is None:
        got = "JSON" if is_json else importers.detect(file, None) or f"{file[:8]!r}"
        way = "--to c writes its plan" if got == "JSON" else "convert it first"
        raise FormatError(f"must be a TensorFlow Lite model (.tflite) for {RUNTIME}, got {got}; {way}")
    search = FormSearch(file, rules, options, running)
    best, given = search.run(), search.given
    sizes, limit_s = (given.arena.least, best.arena.least), min(rules.LIMIT_S, running.left_s / 2)
    runs, measured = rules.compared(given.data, best.data, sizes, limit_s)
    if runs is False:
        search.notes.append(f"{best.kind}: {measured}")
        best, (runs, measured) = given, rules.compared(given.data, given.data, (sizes[0], sizes[0]), limit_s)
    files = {"": best.data}
    if options.c_array:
        stem = options.prefix or PurePath(options.name or "model").stem
        files |= rules.write_c_model(best.data, best.arena, stem, options.section)
    return Converted(
        to=TFLITE,
        format=TFLITE,
        warnings=warnings_of(importers.read_model(file, options=options)),
        files=tuple(WrittenFile.with_data(suffix, data) for suffix, data in files.items()),
        deployment=Deployment(
            fits=None if options.fit is None else best.arena.least <= options.fit,
            fit=options.fit,
            form=best.kind,
            planned=best.planned,
            macs_ratio=round(best.macs_ratio, 6),
            notes=tuple(search.notes),
            runs=runs,
            measured=measured,
        ),
        arena=RuntimeArena.of(best.arena),
        given=RuntimeArena.of(given.arena),
    )
