"""Arenas of runtimes: the total memory that a runtime takes for the file of a model, by its own rules.

A system whose runtime has an arena names the module with these rules, as `arena` of its row.
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


@dataclass(frozen=True)
class ModelArena:
    """A runtime's arena for a model: `head` has tensors and scratch, `tail` persistent bytes.

    `least` is the smallest arena that the model starts in: while tensors are planned, data about them uses their part
    of the arena, and may need more; `temporary` is the most that such data takes. `unknown` are the operators whose
    kernels may keep or require unknown bytes, `said` the operators whose scratch the user states. `target` names the
    processor that the numbers hold for, and `flash` is the size of the model itself, in bytes.
    """

    head: int
    tail: int
    least: int
    unknown: tuple[str, ...] = ()
    temporary: int = 0
    target: str = ""
    said: tuple[str, ...] = ()
    flash: int = 0

    @property
    def used(self) -> int:
        """The bytes that are in use once the model has started."""
        return self.head + self.tail

    def is_smaller(self, other: ModelArena) -> bool:
        """Return True if less is in use than in another arena, and no larger one is needed to start."""
        return self.used < other.used and self.least <= other.least

    def __str__(self) -> str:
        more = f", {self.least:,} to start" if self.least > self.used else ""
        kernels = f"; without what kernels of {', '.join(self.unknown)} keep" if self.unknown else ""
        kernels += f"; kernels of {', '.join(self.said)} as is said" if self.said else ""
        least = "at least " if self.said else ""
        where = f" on {self.target}" if self.target else ""
        return f"{least}{self.used:,} bytes{where} (head {self.head:,}, tail {self.tail:,}{more}{kernels})"


class ArenaRules(Protocol):
    """The module with the rules of a runtime's arena, and with the runtime itself where it is installed."""

    def arena_of(self, data: bytes, options: ModelOptions | None = None) -> ModelArena:
        """Return the arena of a model's file, for the kernels and the processor that the options say."""

    def runtime_verdict(self, data: bytes, options: ModelOptions | None = None) -> str:
        """Return what the runtime that is here says of a model in its least arena, as a part of a sentence."""

    def compare_forms(
        self, given: bytes, form: bytes, options: ModelOptions | None = None, limit_s: float = ...
    ) -> tuple[bool | None, str]:
        """Return if a form of a model computes what the model as given does, each in its least arena; None where that
        is not known; and what the runtime says of the form.
        """


def rules_of(data: bytes) -> ArenaRules | None:
    """Return the rules of the arena that the file of a model is run in; None where its system has none."""
    system = system_of(detect(data))
    return None if system is None or system.arena is None else cast(ArenaRules, import_module(system.arena))


def scratch_flags(operators: Iterable[str], size: str) -> str:
    """Return the `--scratch` flags for operators with unknown scratch; a name with a space is no operator."""
    return " ".join(f"--scratch {shlex.quote(f'{name}={size}')}" for name in operators if " " not in name)
