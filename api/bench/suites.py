"""Suites: what `memplan bench` runs on, written as text.

```
suite     = { change ":" } source
source    = a folder | a file | family [ ":" parameter "=" value { "," … } ]
change    = "shuffled" | "mirrored"         the buffers in another order; time backwards
          | "window" N                      N buffers that start one after the other
```

`seeds=8` among a family's parameters stands for the seeds 1 to 8, `seed=3` for one; `shuffled*5:` for five orders,
`shuffled@2:` for one of them, and so for windows. Each instance of a suite has a name in the same language, so that it
can be run alone.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, TypeAdapter, ValidationError

from memplan.api.bench.generators import FAMILIES, Family, GeneratedProblem
from memplan.files import read_problem
from memplan.planner.errors import FormatError, OptionError, ProblemError, sentences, shown
from memplan.planner.model.problem import Pool, Problem

_CHANGE = re.compile(
    r"(?P<kind>shuffled|mirrored|window(?P<size>[1-9][0-9]{0,5}))(?:(?P<how>[*@])(?P<count>[0-9]{1,6}))?:(?P<rest>.*)",
    re.DOTALL,
)
_SUFFIXES = (".csv", ".json")
_LISTING = "index.json"
"""A file that lists what is known of a folder's others: objects with `file`, and perhaps `peer_peaks` and `pools`."""


def instances(suite: str) -> list[str]:
    """Return the names of a suite's instances, in a fixed order; raises OptionError for what is none."""
    if change := _CHANGE.fullmatch(suite):
        kind, count = change["kind"], int(change["count"] or 1)
        one = change["how"] == "@" or kind == "mirrored"
        if (kind == "mirrored" and change["how"]) or count < 1:
            raise OptionError(f"suite: must be shuffled:, shuffled*N:, shuffled@SEED: or mirrored:, got {shown(suite)}")
        heads = [kind if kind == "mirrored" else f"{kind}@{seed}" for seed in ([count] if one else range(1, count + 1))]
        return [f"{head}:{name}" for name in instances(change["rest"]) for head in heads]
    name, _, text = suite.partition(":")
    if name in FAMILIES and not Path(suite).exists():
        return _members(FAMILIES[name], text)
    return _files(suite)


def pose(name: str) -> GeneratedProblem:
    """Make or read the instance of that name; raises InputError."""
    if change := _CHANGE.fullmatch(name):
        generated = pose(change["rest"])
        if change["kind"] == "mirrored":
            return GeneratedProblem(mirrored(generated.problem), generated.known_peak)
        seed = int(change["count"] or 1)
        if change["size"]:
            return GeneratedProblem(window(generated.problem, int(change["size"]), seed))
        return GeneratedProblem(shuffled(generated.problem, seed), generated.known_peak)
    family, _, text = name.partition(":")
    if family in FAMILIES and not Path(name).exists():
        return FAMILIES[family].make(**_arguments(FAMILIES[family], text))
    return _read(Path(name))


def _members(family: Family, text: str) -> list[str]:
    given = _pairs(family, text)
    seeds = range(1, _seed(family, "seeds", given.pop("seeds")) + 1) if "seeds" in given else None
    if seeds is not None and "seed" in given:
        raise OptionError(f"{family.name}: must have seed or seeds, got both")
    if seeds is None:
        seeds = range(start := _seed(family, "seed", given.pop("seed", "1")), start + 1)
    spelled = [f"{key}={family.parameters[key].read(f'{family.name}.{key}', value)}" for key, value in given.items()]
    return [f"{family.name}:{','.join([*spelled, f'seed={seed}'])}" for seed in seeds]


def _arguments(family: Family, text: str) -> dict[str, int | float | str]:
    """Return the arguments of one instance: what is given, and the defaults."""
    given = _pairs(family, text)
    values: dict[str, int | float | str] = {"seed": _seed(family, "seed", given.pop("seed", "1"))}
    for key, parameter in family.parameters.items():
        where = f"{family.name}.{key}"
        values[key] = parameter.read(where, given[key]) if key in given else parameter.default
    return values


def _pairs(family: Family, text: str) -> dict[str, str]:
    given: dict[str, str] = {}
    for part in filter(None, text.split(",")):
        key, is_pair, value = part.partition("=")
        known = (*family.parameters, "seed", "seeds")
        if not is_pair or key not in known or key in given:
            raise OptionError(f"{family.name}: must have parameters {', '.join(known)}, once each, got {shown(part)}")
        given[key] = value
    return given


def _seed(family: Family, key: str, text: str) -> int:
    if not text.isdecimal() or len(text) > 9 or (key == "seeds" and int(text) == 0):
        raise OptionError(f"{family.name}.{key}: must be a positive integer, got {shown(text)}")
    return int(text)


def _files(location: str) -> list[str]:
    path = Path(location)
    if path.is_file():
        return [location]
    if not path.is_dir():
        families = ", ".join(FAMILIES)
        raise OptionError(f"suite: must be a folder, a file or one of the families {families}, got {shown(location)}")
    found = [file for file in path.iterdir() if file.suffix in _SUFFIXES and file.name != _LISTING]
    if not found:
        raise OptionError(f"suite: must hold files that end with {' or '.join(_SUFFIXES)}, got {shown(location)}")
    return [str(file) for file in sorted(found)]


def _read(path: Path) -> GeneratedProblem:
    problem = read_problem(path)
    listed = next((entry for entry in _listing(path.parent / _LISTING) if entry.file == path.name), _Listed(file=""))
    if listed.pools:
        return GeneratedProblem(with_changes(problem, pools=listed.pools))
    return GeneratedProblem(
        problem, min((peak for peak in listed.peer_peaks.values() if isinstance(peak, int)), default=None)
    )


class _Listed(BaseModel):
    """One file in a folder's listing; peaks count where they are numbers, of plans with one pool."""

    file: str
    peer_peaks: dict[str, Any] = {}
    pools: tuple[Pool, ...] = ()


def _listing(path: Path) -> list[_Listed]:
    if not path.is_file():
        return []
    try:
        return TypeAdapter(list[_Listed]).validate_json(path.read_bytes())
    except ValidationError as error:
        raise FormatError(*(f"{path}: {sentence}" for sentence in sentences(error))) from error


def shuffled(problem: Problem, seed: int) -> Problem:
    """Return the problem with its buffers in another order."""
    order = np.random.default_rng(seed).permutation(len(problem.buffers)).tolist()
    return with_changes(problem, buffers=[problem.buffers.fields(i) for i in order])


def mirrored(problem: Problem) -> Problem:
    """Return the problem with time backwards."""
    rows = [problem.buffers.fields(i) for i in range(len(problem.buffers))]
    for row in rows:
        if "start" in row:
            row["start"], row["end"] = _backwards(row["start"], row["end"])
        if "lifetimes" in row:
            row["lifetimes"] = tuple(_backwards(start, end) for start, end in reversed(row["lifetimes"]))
    return with_changes(problem, buffers=rows)


def window(problem: Problem, n: int, seed: int) -> Problem:
    """Return the problem with `n` of its buffers (all, if it has no more) that start one after the other.

    Conflicts among them stay. Raises ProblemError where one of them is an alias of, or tied to, what is left out.
    """
    table = problem.buffers
    first = np.full(len(table), np.iinfo(np.int64).max)
    np.minimum.at(first, np.repeat(np.arange(len(table)), np.diff(table.first)), table.start)
    n = min(n, len(table))
    low = int(np.random.default_rng(seed).integers(0, len(table) - n + 1))
    chosen = np.sort(np.argsort(first, kind="stable")[low : low + n]).tolist()
    ids = {table.ids[i] for i in chosen}
    conflicts = [pair for pair in problem.conflicts if ids.issuperset(pair)]
    try:
        return with_changes(problem, buffers=[table.fields(i) for i in chosen], conflicts=conflicts)
    except ProblemError as error:
        raise ProblemError(*(f"window{n}@{seed}: {sentence}" for sentence in error.sentences)) from error


def _backwards(start: int, end: int) -> tuple[int, int]:
    # From -1 and not from 0, so that every 64-bit time has its mirror image.
    return -1 - end, -1 - start


def with_changes(problem: Problem, **changes: Any) -> Problem:
    """Return the problem with some fields replaced, validated anew."""
    fields = {name: getattr(problem, name) for name in problem.model_fields_set}
    return Problem.model_validate({**fields, **changes})
