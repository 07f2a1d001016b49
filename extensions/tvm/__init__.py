"""memplan inside Apache TVM: one plan for all tensors of a Relax function, in place of TVM's plan."""

MODULE = "memplan.extensions.tvm.public"
"""The module that provides the names of `memplan.tvm`."""
