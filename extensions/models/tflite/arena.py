"""The rules of TFLite Micro's arena, and its runtime, in the form of `memplan.planner.foreign.arena`."""

from memplan.extensions.models.tflite.interpreter import compared as compared
from memplan.extensions.models.tflite.interpreter import measured as measured
from memplan.extensions.models.tflite.tflm_tail import arena_of as arena_of
