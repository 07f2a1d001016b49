"""memplan for torch: does a step fit into memory, and what would have to change. Imports torch.

Its names are those of the module that a distribution hands out by the entry point `torch` of `memplan.modules`.
"""

from functools import partial

from memplan.planner.extensions import handed_out

__getattr__ = partial(handed_out, "torch")
