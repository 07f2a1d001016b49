"""memplan for TVM: make one memory plan for all tensors of a Relax function. Imports tvm."""

from memplan.extensions.tvm.public import *  # noqa: F403
