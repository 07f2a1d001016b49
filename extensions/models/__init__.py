"""Models of TensorFlow Lite and ONNX, programs of ExecuTorch: read, planned as by their runtimes, written back.

And cascades of networks as programs in C.
"""

from memplan.questions import Writer

CASCADE_C = Writer(where="memplan.extensions.cascade.c_program:write_cascade")
