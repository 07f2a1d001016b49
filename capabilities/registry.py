"""The capabilities by name; the module of each is imported when it is first asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from memplan.capabilities import MODULES
from memplan.capabilities.capability import Capability


class Registry(Mapping[str, Capability[Any]]):
    """The capabilities by name."""

    def __getitem__(self, name: str) -> Capability[Any]:
        found: Capability[Any] = import_module(f"{__package__}.{MODULES[name]}").CAPABILITY
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(MODULES)

    def __len__(self) -> int:
        return len(MODULES)


CAPABILITIES = Registry()
