"""Suites: folders of problem files for `memplan bench`, with peaks and pools from a listing in the folder."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from memplan.files import read_problem
from memplan.planner.errors import FormatError, OptionError, excerpt, prefix_sentence, sentences
from memplan.planner.model.problem import Pool, Problem, replace_fields

_SUFFIXES = (".csv", ".json")
LISTING = "index.json"
"""The listing of a folder's problem files: a list of JSON objects with `file` and optional `peer_peaks` and `pools`."""


@dataclass(frozen=True, eq=False)
class SuiteProblem:
    """A problem, and the peak of a known plan for it in bytes, or None if no plan is known."""

    problem: Problem
    known_peak: int | None = None


class _ListedFile(BaseModel):
    """An entry of a folder's listing; `peer_peaks` has peaks, in bytes, of other planners' plans with one pool."""

    file: str
    peer_peaks: dict[str, Any] = {}
    pools: tuple[Pool, ...] = ()


def instances(suite: str) -> list[str]:
    """Return a suite's problem files, sorted, or the suite itself if it is a file; raises OptionError for no files."""
    path = Path(suite)
    if path.is_file():
        with path.open("rb") as file:
            head = file.readline(200)
        if head.startswith((b'{"instance":', b"instance,solver,")):
            rule = f"must be a problem or a folder of problems, got rows of results in {excerpt(suite)}"
            raise OptionError(f"suite: {rule}: give them as -o, or two of them as --compare")
        return [suite]
    if not path.is_dir():
        raise OptionError(f"suite: must be a folder or a file that exists, got {excerpt(suite)}")
    files = [file for file in path.iterdir() if file.suffix in _SUFFIXES and file.name != LISTING]
    if not files:
        raise OptionError(f"suite: must contain files that end with {' or '.join(_SUFFIXES)}, got {excerpt(suite)}")
    return [str(file) for file in sorted(files)]


def pose(name: str) -> SuiteProblem:
    """Return the problem in a file, with pools or known peak from its folder's listing; raises InputError if broken."""
    path = Path(name)
    problem = read_problem(path)
    listed = next(
        (entry for entry in _listed_files(path.parent / LISTING) if entry.file == path.name), _ListedFile(file="")
    )
    if listed.pools:
        return SuiteProblem(replace_fields(problem, pools=listed.pools))
    peaks = [peak for peak in listed.peer_peaks.values() if isinstance(peak, int)]
    return SuiteProblem(problem, min(peaks, default=None))


def files_of(name: str) -> dict[str, bytes]:
    """Return the files that another machine needs for a problem: its file and a listing with its entry, by name.

    Raises FormatError if the file cannot be read.
    """
    path = Path(name)
    listed = [entry for entry in _listed_files(path.parent / LISTING) if entry.file == path.name]
    try:
        return {path.name: path.read_bytes(), LISTING: TypeAdapter(list[_ListedFile]).dump_json(listed)}
    except OSError as error:
        raise FormatError(f"{path}: {error.strerror}") from error


def _listed_files(path: Path) -> list[_ListedFile]:
    """Return the entries of a folder's listing; empty without a listing. Raises FormatError for an invalid entry."""
    if not path.is_file():
        return []
    try:
        return TypeAdapter(list[_ListedFile]).validate_json(path.read_bytes())
    except ValidationError as error:
        raise FormatError(*(prefix_sentence(f"{path}: ", sentence) for sentence in sentences(error))) from error
