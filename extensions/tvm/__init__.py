"""memplan inside Apache TVM: one plan for all tensors of a Relax function, which replaces TVM's own plan."""

MODULE = "memplan.extensions.tvm.public"
"""The module whose names are the public names of `memplan.tvm`."""
