"""What a search of orders may spend: the time of its control, or so much work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from memplan.planner.model.buffer_table import I64
from memplan.solvers.search.control import Control
from memplan.solvers.search.meanwhile import polled

WORK_PER_S = 20_000_000
"""Work units that may be spent for each second of a limit where work is counted: about one macro that is run."""


@dataclass(eq=False)
class Allowance:
    """`flag[0]` turns 1 when the search must end; kernels look at it. `work_left` binds where no clock decides."""

    control: Control
    flag: I64
    work_left: int

    @property
    def is_over(self) -> bool:
        """True if the search must end."""
        # The thread that raises the flag may not have run yet on a busy machine, so the clock is read as well.
        return self.control.is_over or bool(self.flag[0] != 0) or self.work_left <= 0

    def spend(self, work: int) -> None:
        """Count work."""
        if self.control.counts_work:
            self.work_left -= work


@contextmanager
def allowance(control: Control) -> Iterator[Allowance]:
    """Watch the control while a search goes on, and raise the flag for it."""
    # 2^62 is more than a clock ever lets pass.
    work = 2**62 if control.counted_s is None else int(control.counted_s * WORK_PER_S)
    with polled(lambda: control.is_over) as flag:
        yield Allowance(control, flag, work)
