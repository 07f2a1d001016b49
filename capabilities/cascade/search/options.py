"""The options of a search for cascades."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from memplan.planner.errors import OptionError
from memplan.planner.model.rows import MAX_BYTES

Delivery = Literal["resident", "streamed"]
Objective = Literal["peak", "macs", "traffic"]
FRONTS: tuple[tuple[Objective, ...], ...] = (("peak", "macs"), ("peak", "macs", "traffic"))
"""The objectives of which there is a front."""

LONGEST = 60
"""The most operations of a region."""
WORST = 4.0
"""The most multiplications of a region, as a multiple of its own layer by layer."""


@dataclass(frozen=True)
class CascadeOptions:
    """Options of a search for cascades.

    `input` and `output`: whether those of the network lie whole in memory, or come and go in pieces. `sliding`: outputs
    may grow into inputs that die. `alignment`: bytes that buffers are rounded up to. `fit`: the most bytes, `macs`: the
    most multiplications as a multiple of those layer by layer; points outside are left out. `channels`: whether regions
    are cut along channels, too, and in steps that are parts of a row or a column, for which a runtime that has a price
    for each run pays dearly.
    `pools`: none, or the name and bytes of a fast memory and of a slow one. What lives in a region only is in the fast
    one, whole tensors are in either; `peak` is then that of the fast one. `barriers`: operations that run
    whole, whatever they are, by their positions, their names or what they make.
    `objectives`: a point is shown if no other is as good in all of them: peak and multiplications, traffic if
    requested; with two memories that of the slow one counts, requested or not. `stripe`: the rows and columns of all
    stripes, instead of those that the search tries; 0 columns for whole rows. `checked`: the one point to be executed
    by value, where not all are, from the end below 0.
    """

    input: Delivery = "resident"
    output: Delivery = "resident"
    sliding: bool = False
    alignment: int = 1
    fit: int | None = None
    macs: float | None = None
    channels: bool = True
    objectives: tuple[Objective, ...] = FRONTS[0]
    pools: tuple[tuple[str, int], ...] = ()
    barriers: tuple[str, ...] = ()
    stripe: tuple[int, int] | None = None
    checked: int | None = None

    def __post_init__(self) -> None:
        for name in ("input", "output"):
            if getattr(self, name) not in ("resident", "streamed"):
                raise OptionError(f"{name}: must be resident or streamed, got {getattr(self, name)!r}")
        if self.stripe is not None and not (1 <= self.stripe[0] <= 1 << 20 and 0 <= self.stripe[1] <= 1 << 20):
            raise OptionError(
                f"stripe: must be at least 1 row, and at most {1 << 20} rows or columns, got {self.stripe}"
            )
        if self.objectives not in FRONTS:
            raise OptionError(f"objectives: must be peak,macs or peak,macs,traffic, got {','.join(self.objectives)!r}")
        if not 1 <= self.alignment <= 1 << 30 or self.alignment & (self.alignment - 1):
            raise OptionError(f"alignment: must be a power of two of at most 2^30, got {self.alignment}")
        if self.fit is not None and not 0 <= self.fit <= MAX_BYTES:
            raise OptionError(f"fit: must be from 0 to {MAX_BYTES} bytes, got {self.fit}")
        if self.macs is not None and not 1 <= self.macs <= 1000:
            raise OptionError(f"macs: must be from 1 to 1000 times those layer by layer, got {self.macs}")
        if self.pools:
            self._check_pools()

    def _check_pools(self) -> None:
        if len(self.pools) != 2 or len(dict(self.pools)) != 2:
            raise OptionError(f"pools: must be two with different names, fast and slow, got {len(self.pools)}")
        for name, size in self.pools:
            if not 0 <= size <= MAX_BYTES:
                raise OptionError(f"pools: {name} must have from 0 to {MAX_BYTES} bytes, got {size}")
        if self.sliding:
            raise OptionError("pools: must not be given beside sliding, which knows one memory")

    def most_macs(self, once: int) -> int:
        """Return the most multiplications that are requested, of `once` layer by layer; 2^62 for any number."""
        return 2**62 if self.macs is None else int(once * self.macs + 0.5)
