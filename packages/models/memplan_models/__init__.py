"""Models of TensorFlow Lite and ONNX, programs of ExecuTorch: read, planned as by their runtimes, written back.

And cascades of networks as programs in C.
"""

from memplan.capabilities import Writer

CASCADE_C = Writer(where="memplan_models.cascade_c:write_cascade")
