"""The starts of the command and of a script: no import comes back unseen, counted in modules and in instructions."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from lab import starts

OF_THE_RECORD = pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the record is of Python 3.11")
_SPARE = 1.02
"""How many more or fewer modules other versions of the packages may import than those of the lock file."""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with everything compiled that the starts import; the first counting test makes it."""
    return tmp_path_factory.mktemp("compiled")


@OF_THE_RECORD
@pytest.mark.parametrize("name", starts.STARTS)
def test_a_start_imports_no_more_modules_than_on_record(name: str, compiled: Path) -> None:
    assert starts.modules(name, compiled) <= _SPARE * starts.recorded()[name]["modules"]


@pytest.mark.slow
@pytest.mark.skipif(starts.COUNTER is None, reason="needs valgrind, which counts instructions")
@OF_THE_RECORD
@pytest.mark.parametrize("name", starts.STARTS)
def test_the_start_of_the_command_stays_within_its_instruction_limit(name: str, compiled: Path) -> None:
    starts.modules(name, compiled)  # compiles what it imports
    millions = starts.instructions(name, compiled)
    row = starts.recorded()[name]
    assert millions <= row["most"], f"{row['millions']} were on record: python -m lab.starts"
    assert row["millions"] <= row["most"]
