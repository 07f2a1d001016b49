"""The rules of TFLite Micro's arena, and its runtime, in the form of `memplan.systems.arena`."""

from memplan_models.tflite.interpreter import compared as compared
from memplan_models.tflite.interpreter import measured as measured
from memplan_models.tflite.tflm_tail import arena_of as arena_of
