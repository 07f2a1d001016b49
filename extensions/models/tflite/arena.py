"""TFLite Micro's implementation of `memplan.planner.foreign.arena`: arena sizes by the runtime's rules, and trial runs.

Whatever the target, trials use the installed runtime, which is built for the host, with the smallest arena that
suffices on the host.
"""

from memplan.extensions.models.tflite import interpreter
from memplan.extensions.models.tflite.interpreter import LIMIT_S
from memplan.extensions.models.tflite.tflm_tail import arena_of as arena_of
from memplan.extensions.models.tflite.tflm_tail import host_options
from memplan.planner.foreign.model_options import ModelOptions


def runtime_verdict(data: bytes, options: ModelOptions | None = None) -> str:
    """Run a model in its smallest arena, and return the runtime's report as a part of a sentence."""
    return interpreter.measure(data, arena_of(data, host_options(options)).least)


def compare_forms(
    given: bytes, form: bytes, options: ModelOptions | None = None, limit_s: float = LIMIT_S
) -> tuple[bool | None, str]:
    """Return whether a form computes the same outputs as the given model (None: unknown), and the runtime's report."""
    before, now = (arena_of(data, host_options(options)).least for data in (given, form))
    return interpreter.compare(given, form, (before, now), limit_s)
