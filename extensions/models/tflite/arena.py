"""The rules of TFLite Micro's arena, and its runtime, in the form of `memplan.planner.foreign.arena`.

The runtime that is here is that of the host, so a trial is in the arena that is least there, whatever the target.
"""

from memplan.extensions.models.tflite import interpreter
from memplan.extensions.models.tflite.interpreter import LIMIT_S
from memplan.extensions.models.tflite.tflm_tail import arena_of as arena_of
from memplan.extensions.models.tflite.tflm_tail import host_options
from memplan.planner.foreign.model_options import ModelOptions


def runtime_verdict(data: bytes, options: ModelOptions | None = None) -> str:
    """Return the runtime's report on a model in its least arena, as part of a sentence."""
    return interpreter.measure(data, arena_of(data, host_options(options)).least)


def compare_forms(
    given: bytes, form: bytes, options: ModelOptions | None = None, limit_s: float = LIMIT_S
) -> tuple[bool | None, str]:
    """Return if a form of a model computes the same as the original, each in its least arena, and the report on it."""
    before, now = (arena_of(data, host_options(options)).least for data in (given, form))
    return interpreter.compare(given, form, (before, now), limit_s)
