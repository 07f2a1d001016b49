"""The interface of `memplan.planner.foreign.arena` for TFLite Micro: arena sizes by its rules, and trial runs.

Trials run in the installed runtime, which is built for the host, with the smallest arena that suffices there, whatever
the target.
"""

from memplan.extensions.models.tflite import interpreter
from memplan.extensions.models.tflite.interpreter import LIMIT_S
from memplan.extensions.models.tflite.tflm_tail import arena_of as arena_of
from memplan.extensions.models.tflite.tflm_tail import host_options
from memplan.planner.foreign.model_options import ModelOptions


def runtime_verdict(data: bytes, options: ModelOptions | None = None) -> str:
    """Return the runtime's report on a run of a model in its least arena, as part of a sentence."""
    return interpreter.measure(data, arena_of(data, host_options(options)).least)


def compare_forms(
    given: bytes, form: bytes, options: ModelOptions | None = None, limit_s: float = LIMIT_S
) -> tuple[bool | None, str]:
    """Return whether a form of a model computes the same outputs, and the runtime's report; None if unknown."""
    before, now = (arena_of(data, host_options(options)).least for data in (given, form))
    return interpreter.compare(given, form, (before, now), limit_s)
