"""The rules of TFLite Micro's arena, and the runtime, as `memplan.systems.arena` takes them of a system."""

from memplan_models.tflite.interpreter import compared as compared
from memplan_models.tflite.interpreter import measured as measured
from memplan_models.tflite.tflm_tail import arena_of as arena_of
