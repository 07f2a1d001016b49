"""Rigid groups as a whole, as parts of instances want them."""

from __future__ import annotations

import numpy as np

from memplan.planner.instance.instance import Bool, Instance


def whole_groups(instance: Instance, kept: Bool) -> Bool:
    """Return True for the buffers kept, each rigid group as soon as one of its members is."""
    some = np.zeros(len(instance), dtype=np.bool_)
    some[instance.anchor[kept]] = True
    grown: Bool = some[instance.anchor]
    return grown
