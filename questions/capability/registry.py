"""The capabilities by name, including extensions; each module is imported on first use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from memplan.questions import questions
from memplan.questions.capability import Capability


class Registry(Mapping[str, Capability[Any]]):
    """The capabilities by name."""

    def __getitem__(self, name: str) -> Capability[Any]:
        capability: Capability[Any] = import_module(questions()[name].where).CAPABILITY
        return capability

    def __iter__(self) -> Iterator[str]:
        return iter(questions())

    def __len__(self) -> int:
        return len(questions())


CAPABILITIES = Registry()
