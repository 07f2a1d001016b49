"""The questions of the ledger: each problem of the library as its kind asks it, and those that it has no room for."""

from __future__ import annotations

from collections.abc import Iterator

from lab.ledger.answers import ROOT, WORK_PER_S
from lab.ledger.rows import Row
from lab.support.hard_suite import GENERATED, MINIMALLOC, NODES
from lab.support.library_answers import WAYS
from memplan.api.library.entries import Entry, ProblemLibrary

_MOST_S = {"order": 2, "peak": 4, "fit": 4, "pools": 0.4}
"""Seconds that the problems of a kind are given at most, as counted work; others get one."""
_BY_CLOCK = ("symbols", "cascade")
"""The kinds whose commands know no `--deterministic`."""
_LARGE = (
    ("S_1", "given:training_traces/S_1.csv", 5),
    ("G_1", "given:training_traces/G_1.csv", 5),
    ("resnet50", "given:training_traces/somas_resnet50.csv", 5),
    ("pangu", "given:training_traces/somas_pangu_2.6B.csv", 5),
    ("random 100,000", "generated:100000,7,.01,.7", 10),
    ("dense 100,000", "generated:100000,7,.0002,2", 10),
    ("random 1,000,000", "generated:1000000,7,.01,.7", 20),
)
_TIED = "drawn-conflicts-relative-sharing-28"
"""A problem for engines: the exact search does not honour its ties."""
_HEAVY_TAILED = ("peak/minimalloc-d", "peak/minimalloc-j")
"""The problems that are asked with three seeds."""


def questions() -> Iterator[Row]:
    """Yield all questions of the ledger, which have no answers yet."""
    library = ProblemLibrary(ROOT / "library")
    for kind in library.kinds():
        for entry in library.entries(kind):
            yield from _of_entry(entry)
    for name, problem, seconds in _LARGE:
        yield Row(f"large/{name}", f"plan {problem}", seconds * WORK_PER_S)
    for solver in ("cp-sat", "highs", "cbc"):
        yield Row(f"solver/{solver}", f"plan library:rules/problems/{_TIED}.json --solver {solver}", WORK_PER_S)
    yield Row("solver/few", "plan own:prices-in-two-pools.json", WORK_PER_S)
    for letter in "acdefhk":
        file = f"library:peak/problems/minimalloc-{letter}.csv"
        yield Row(f"capacity/{letter}", f"plan {file} --capacity 1048576 --accept fit", 2 * WORK_PER_S)
        old = f"library:peak/plans/minimalloc-{letter}.csv"
        yield Row(f"keep/{letter}", f"plan 'hard:{letter.upper()} shrunk 5@1' --keep {old}", WORK_PER_S)
    for name in (*MINIMALLOC, *GENERATED):
        yield Row(f"hard/{name}", f"hard-suite {name}", NODES)


def _of_entry(entry: Entry) -> Iterator[Row]:
    """Yield the questions about a problem of the library."""
    words, _ = WAYS[entry.kind]
    words = words if entry.limit else words.replace(" --capacity LIMIT", "")
    file = f"library:{entry.kind}/problems/{entry.name}.{entry.problem}"
    name, command = f"{entry.kind}/{entry.name}", words.replace("FILE", file).replace("LIMIT", str(entry.limit))
    most = None if entry.kind in _BY_CLOCK else int(_MOST_S.get(entry.kind, 1) * WORK_PER_S)
    yield Row(name, command, most)
    for seed in (1, 2) if name in _HEAVY_TAILED else ():
        yield Row(f"{name}#{seed}", f"{command} --seed {seed}", most)
    if entry.kind == "reuse":
        yield Row(f"plans/{entry.name}", f"{command} --plans 3@1", WORK_PER_S)
