"""Arenas of runtimes: the total memory that a runtime needs for a model, by the runtime's own rules.

If a runtime has an arena, its row `System` names the module with these rules in the field `arena`.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from memplan.planner.foreign.reading import detect
from memplan.planner.systems import system_of

if TYPE_CHECKING:
    from memplan.planner.foreign.model_options import ModelOptions

HOST = "host (64-bit, reference kernels)"
"""The processor and the kernels for which the numbers of TFLite Micro hold, unless a target is named."""


@dataclass(frozen=True)
class ModelArena:
    """The arena that a model needs in a runtime, in bytes: `head` for tensors and scratch, `tail` for lasting data.

    `least`: the smallest arena in which the model starts. It may exceed head + tail, because the runtime needs up to
    `temporary` further bytes while it plans its tensors. `unknown`: the operators whose kernels may need an unknown
    number of bytes. `said`: the operators whose scratch bytes the user states. `target`: the processor for which the
    numbers are valid. It is empty if that is the host (`is_host`), or if the numbers do not depend on a processor.
    `flash`: the size of the model itself. `scratch`: the maximum number of bytes of the head that one kernel uses as
    scratch.
    """

    head: int
    tail: int
    least: int
    unknown: tuple[str, ...] = ()
    temporary: int = 0
    target: str = ""
    said: tuple[str, ...] = ()
    flash: int = 0
    scratch: int = 0
    is_host: bool = False

    @property
    def used(self) -> int:
        """The number of bytes in use once the model has started."""
        return self.head + self.tail

    def is_smaller(self, other: ModelArena) -> bool:
        """Return True if this arena uses fewer bytes than `other` and needs at most as many bytes at the start."""
        return self.used < other.used and self.least <= other.least

    def __str__(self) -> str:
        """Return the arena as text: its size, head and tail, its processor, and the operators of unknown size."""
        more = f", {self.least:,} to start" if self.least > self.used else ""
        kernels = f"; without what kernels of {', '.join(self.unknown)} keep" if self.unknown else ""
        kernels += f"; kernels of {', '.join(self.said)} as is said" if self.said else ""
        least = "at least " if self.said else ""
        where = f" on {self.target or HOST}" if self.target or self.is_host else ""
        return f"{least}{self.used:,} bytes{where} (head {self.head:,}, tail {self.tail:,}{more}{kernels})"


class ArenaRules(Protocol):
    """The interface of a module with the rules of a runtime's arena; it can also run the runtime, if installed."""

    def arena_of(self, data: bytes, options: ModelOptions | None = None) -> ModelArena:
        """Return the arena of a model for the kernels and the processor that the options name."""

    def compiler(self, options: ModelOptions) -> str:
        """Return the command of the C compiler for the processor that the options name."""

    def form_options(self, given: bytes, form: bytes, options: ModelOptions | None) -> ModelOptions | None:
        """Return the options for a rewritten form of a model, in which the operators are numbered differently.

        `given` and `form` are the bytes of both models. Raises OptionError if the form lacks an operator that the
        options name.
        """

    def runtime_verdict(self, data: bytes, options: ModelOptions | None = None) -> str:
        """Run a model in its smallest arena with the installed runtime; return the outcome as part of a sentence."""

    def compare_forms(
        self, given: bytes, form: bytes, options: ModelOptions | None = None, limit_s: float = ...
    ) -> tuple[bool | None, str]:
        """Return whether a rewritten model computes the same as the original, and the runtime's outcome as text.

        Each model runs in its smallest arena. The first value is None if `limit_s` seconds were too short to decide.
        """


def rules_of(data: bytes) -> ArenaRules | None:
    """Return the arena rules of the system that a model's file belongs to; None if that system has no arena."""
    system = system_of(detect(data))
    return None if system is None or system.arena is None else cast(ArenaRules, import_module(system.arena))


def scratch_flags(operators: Iterable[str], size: str) -> str:
    """Return a flag `--scratch OPERATOR=SIZE` per operator, as shell text; the remark after a name is left out."""
    names = dict.fromkeys(name.partition(" (")[0] for name in operators)
    return " ".join(f"--scratch {shlex.quote(f'{name}={size}')}" for name in names if " " not in name)
