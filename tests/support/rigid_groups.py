"""Buffer masks extended to whole rigid groups, as subinstances require."""

import numpy as np

from memplan.planner.instance.instance import Bool, Instance


def whole_groups(instance: Instance, kept: Bool) -> Bool:
    """Return the mask of the kept buffers, extended to each rigid group with a kept member."""
    some = np.zeros(len(instance), dtype=np.bool_)
    some[instance.anchor[kept]] = True
    grown: Bool = some[instance.anchor]
    return grown
