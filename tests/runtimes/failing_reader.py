"""A model reader for tests, which fails in the way that the first word of the file names."""

from typing import Any

from memplan.planner.foreign.imported import ImportedProblem
from memplan.planner.foreign.model_options import ModelOptions

FAULTS: dict[bytes, Any] = {
    b"fault:key": lambda: dict[str, int]()["nodes"],
    b"fault:deep": lambda: _deeper(0),
    b"fault:none": lambda: None.size,  # type: ignore[attr-defined]
    b"fault:memory": lambda: bytes(2**62),
}


def _deeper(depth: int) -> int:
    return _deeper(depth + 1) + 1


def read(data: bytes, _options: ModelOptions) -> ImportedProblem:
    """Fail at once or, if the file contains the word `later`, when its problem is first used."""
    name = data.split()[0]
    return ImportedProblem(FAULTS[name]) if b"later" in data else FAULTS[name]()
