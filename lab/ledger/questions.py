"""The questions of the ledger: one about each problem of the library, and some about other problems."""

from collections.abc import Iterator
from itertools import combinations, product

from lab.ledger.answers import FOLDERS
from lab.ledger.rows import WORK_PER_S, Row
from lab.support.hard_suite import GENERATED, MINIMALLOC, SCRATCHPADS, STEPS
from lab.support.library_answers import WAYS
from lab.support.memory_rules import RULES
from memplan.extensions.library.entries import Entry, ProblemLibrary

_MOST_S = {
    "reuse/dsa-solver-lift": 2,
    "peak": 4,
    "fit": 4,
    "order/graphs-layered_layered1000w30": 10,
    "order/graphs-layered_layered200w20": 10,
    "order": 2,
    "pools": 0.4,
    "symbols": 20,
    "cascade": 20,
    "": 1,
}
"""Maps the prefix of a problem's name to the work limit, in seconds of counted work."""
_LARGE = {
    "S_1": ("given:training_traces/S_1.csv", 20),
    "G_1": ("given:training_traces/G_1.csv", 5),
    "resnet50": ("given:training_traces/somas_resnet50.csv", 5),
    "pangu": ("given:training_traces/somas_pangu_2.6B.csv", 5),
    "random 100,000": ("generated:100000,7,.01,.7", 10),
    "random 100,000, by lab.families": ("drawn:random:n=100000,seed=7", 10),
    "dense 100,000": ("generated:100000,7,.0002,2", 20),
    "random 1,000,000": ("generated:1000000,7,.01,.7", 20),
}
_MEMORIES = {
    **{f"{n} buffers, seed {seed}": (f"n={n},seed={seed}", 80) for n in (500, 1000) for seed in (1, 2)},
    **{f"3,000 buffers, seed {seed}": (f"n=3000,seed={seed}", 80) for seed in (1, 2)},
    **{f"500 buffers, half aligned to 4,096, seed {seed}": (f"n=500,coarse=50,seed={seed}", 80) for seed in (1, 2)},
    "1,000 buffers, half aligned to 4,096": ("n=1000,coarse=50", 80),
    "1,000 buffers, four memories": ("n=1000,slower=2", 80),
    "3,000 buffers, half aligned to 4,096": ("n=3000,coarse=50", 80),
    "3,000 buffers, four memories": ("n=3000,slower=2", 80),
    "10,000 buffers": ("n=10000", 80),
}
"""The drawn problems of several memories: their family's parameters, and their work limits in seconds."""
_SCRATCHPAD_S = {"A 80": 240, "H 50": 240, "H 80": 240, "convnext_tiny_b4 20": 80, "": 80, "step": 1}
"""Work limits of memory-choice problems in seconds of counted work; 240 and 80 take about 15 and 7 s of CPU time, and 1
takes 5 to 13 s for a training step (`step`)."""
_JOIN_S = {500: 1, 3000: 2}
"""The work limits of problems of several memories with one rule, or two together, by their numbers of buffers."""
_OF_ENGINES = "library:rules/problems/drawn-conflicts-relative-sharing-28.json"
"""A problem with constraint kinds that the exact search does not support, so that engines must solve it."""
_OF_ONE = {"few": "prices-in-two-pools", "lemmas": "mixed-alignments", "parts": "models-in-turns"}
"""Maps a search to a problem that only this search proves."""
_HEAVY_TAILED = ("peak/minimalloc-d", "peak/minimalloc-j")
"""Problems that are planned with three seeds, because the needed work varies widely with the seed."""


def questions() -> Iterator[Row]:
    """Yield all questions of the ledger as rows that have no answers yet."""
    library = ProblemLibrary(FOLDERS["library"])
    for kind in library.kinds():
        for entry in library.entries(kind):
            yield from _entry_questions(entry)
    for name, (problem, seconds) in _LARGE.items():
        yield Row(f"large/{name}", f"plan '{problem}'", seconds * WORK_PER_S)
    for solver in ("cp-sat", "highs", "cbc"):
        yield Row(f"solver/{solver}", f"plan {_OF_ENGINES} --solver {solver}", WORK_PER_S)
    for solver, problem in _OF_ONE.items():
        yield Row(f"solver/{solver}", f"plan own:{problem}.json", WORK_PER_S)
    for letter in "acdhjk":
        old = f"library:peak/plans/minimalloc-{letter}.csv"
        yield Row(f"keep/{letter}", f"plan 'drawn:{letter.upper()} shrunk 5@1' --keep {old}", WORK_PER_S)
    for name in SCRATCHPADS:
        seconds = _SCRATCHPAD_S.get(name, _SCRATCHPAD_S["step" if name.startswith(STEPS) else ""])
        yield Row(f"scratchpad/{name}", f"plan 'scratchpad:{name}'", seconds * WORK_PER_S)
    for name, (parameters, seconds) in _MEMORIES.items():
        yield Row(f"memories/{name}", f"plan 'drawn:memories:{parameters}'", seconds * WORK_PER_S)
    for n, rules in product(_JOIN_S, (*RULES, *map("+".join, combinations(RULES, 2)))):
        yield Row(f"joins/{n} {rules}", f"plan 'drawn:memories:n={n},rules={rules}'", _JOIN_S[n] * WORK_PER_S)
    for name in (*MINIMALLOC, *GENERATED):
        yield Row(f"hard/{name}", f"plan 'drawn:{name}' --solver exact", 4 * WORK_PER_S)


def _entry_questions(entry: Entry) -> Iterator[Row]:
    """Yield the questions about one problem of the library."""
    words, _ = WAYS[entry.kind]
    words = words if entry.limit else words.replace(" --capacity LIMIT", "")
    file = f"library:{entry.kind}/problems/{entry.name}.{entry.problem}"
    name, command = f"{entry.kind}/{entry.name}", words.replace("FILE", file).replace("LIMIT", str(entry.limit))
    most = int(WORK_PER_S * next(seconds for begin, seconds in _MOST_S.items() if name.startswith(begin)))
    yield Row(name, command, most)
    for seed in (1, 2) if name in _HEAVY_TAILED else ():
        yield Row(f"{name}#{seed}", f"{command} --seed {seed}", most)
    if name.startswith("peak/minimalloc-"):
        yield Row(f"capacity/{entry.name}", f"{command} --capacity {entry.best}", 4 * WORK_PER_S)
