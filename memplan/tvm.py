"""memplan for TVM: plan the memory of all tensors of a Relax function together. Imports tvm."""

from memplan.extensions.tvm.public import *  # noqa: F403
