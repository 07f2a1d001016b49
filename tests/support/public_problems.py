"""The real problems in `examples/problems` with their recorded results, and the problems of the library."""

import json
from pathlib import Path
from typing import Any

from memplan.planner.formats import read_problem
from memplan.planner.model.problem import Problem

FOLDER = Path(__file__).parents[2] / "examples" / "problems"


def files(folder: str) -> list[Path]:
    return sorted((FOLDER / folder).glob("*.csv"))


def problem(name: str) -> Problem:
    return read_problem((FOLDER / name).read_bytes(), name)


def library_file(name: str) -> Path:
    """Return the file of a library problem, such as `reuse/lift_a.json`, unpacked from the archive of its kind."""
    from memplan.extensions.library.archives import unpack

    kind, _, file = name.partition("/")
    folder = FOLDER.parents[1] / "library" / kind
    unpack(folder)
    return folder / "problems" / file


def read_index(folder: str) -> list[dict[str, Any]]:
    """Return the recorded results of the problems in a folder: an object with `file` for each."""
    return list(json.loads((FOLDER / folder / "index.json").read_text()))
