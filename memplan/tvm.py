"""memplan for Apache TVM: one plan for all tensors of a Relax function, in place of its own. Imports tvm.

Its names are those of the module that a distribution hands out by the entry point `tvm` of `memplan.modules`.
"""

from functools import partial

from memplan.planner.extensions import handed_out

__getattr__ = partial(handed_out, "tvm")
