"""The capabilities by name, those of others included; the module of each is imported when it is first needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from memplan.capabilities import QUESTIONS
from memplan.capabilities.capability import Capability
from memplan.planner.extensions import extensions


class Registry(Mapping[str, Capability[Any]]):
    """The capabilities by name."""

    def __getitem__(self, name: str) -> Capability[Any]:
        if name not in QUESTIONS:
            of_others: Capability[Any] = extensions("questions")[name]
            return of_others
        capability: Capability[Any] = import_module(f"{__package__}.{QUESTIONS[name].module}").CAPABILITY
        return capability

    def __iter__(self) -> Iterator[str]:
        yield from QUESTIONS
        yield from (name for name in extensions("questions") if name not in QUESTIONS)

    def __len__(self) -> int:
        return len(list(iter(self)))


CAPABILITIES = Registry()
