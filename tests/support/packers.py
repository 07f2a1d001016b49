"""Packers with a chosen block width and index (flat or tree), which affect speed but never the offsets."""

from collections.abc import Iterable

from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import column
from memplan.solvers.core.pack import PackRules
from memplan.solvers.packing.packer import Packer


class PackerOfBlocks(Packer):
    """A packer whose rules have another block width, in live sets, and are flat or not."""

    def __init__(self, instance: Instance, width: int, is_flat: bool, glued: Iterable[tuple[int, int]] = ()) -> None:
        super().__init__(instance, column([0]), glued)
        self.width, self.is_flat = width, is_flat

    def _pack_rules(self, q: int) -> PackRules:
        return super()._pack_rules(q)._replace(width=self.width, is_flat=self.is_flat)
