"""Packages of others that take seconds to import, in each process that collects tests: imported where they are used."""

from __future__ import annotations

import warnings
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest


class LateModule:
    """A module that is imported as a name of it is asked for; where it is missing, tests that name it are skipped."""

    def __init__(self, name: str) -> None:
        if find_spec(name.partition(".")[0]) is None:
            pytest.skip(f"needs the extra {name.partition('.')[0]}", allow_module_level=True)
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # asked for by pytest as it collects, and by copy and inspect
            raise AttributeError(name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of others' modules, as they are loaded
            return getattr(import_module(self._name), name)
