"""Late imports: packages that take seconds to import are imported only in the tests that use them."""

import warnings
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest


class LateModule:
    """A module that is imported when its first attribute is read; if its package is missing, the tests are skipped."""

    def __init__(self, name: str) -> None:
        if find_spec(name.partition(".")[0]) is None:
            pytest.skip(f"needs the extra {name.partition('.')[0]}", allow_module_level=True)
        self._name = name

    def __getattr__(self, name: str) -> Any:
        # Such names are read without need by pytest at collection, and by copy and inspect.
        if name.startswith("_"):
            raise AttributeError(name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # modules of other packages warn when they are imported
            return getattr(import_module(self._name), name)
