"""What forty hard problems cost: `python -m lab.hard_suite [--record] [--nodes 100000]`.

Each is searched in one thread, deterministically, for so many nodes at the most, after the quick orders. Nodes, and the
peak in millionths above the bound, are compared with `hard_suite.json`, a line each; `--record` writes that file anew.
The nodes of problems without a proof are the limit, so a total is a lower bound.

The forty are of those that took most nodes among some 200 drawn ones: problems of MiniMalloc, and full ones of the
generator, with a few percent of their buffers removed or shrunk; and tight ones, whose peak is above the bound.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from lab.families import pose
from memplan.planner.instance.compile import compile_problem
from memplan.planner.model.buffer_table import BufferTable
from memplan.planner.model.problem import Problem
from memplan.solvers.exact.branch_and_bound import Parts, SearchThread
from memplan.solvers.heuristics import greedy
from memplan.solvers.search.incumbent import Search

RECORD = Path(__file__).with_suffix(".json")
FOLDER = Path(__file__).parents[1] / "examples" / "problems" / "minimalloc"
NODES = 100_000
GRANULE = 512
"""Sizes of MiniMalloc's problems, shrunk ones too, are multiples of it."""
SLACK = {"removed": ("1@1", "2@1", "3@1", "5@1"), "shrunk": ("1@1", "2@1", "3@1", "5@1")}
MINIMALLOC = (
    "D",
    "J",
    *(f"{letter} {how} {slack}" for letter in "DJ" for how, slacks in SLACK.items() for slack in slacks),
    *("A shrunk 1@1", "C removed 3@1", "C shrunk 3@1", "C shrunk 5@1", "K removed 1@2"),
    *("K removed 2@1", "K removed 3@2", "K removed 5@1", "K removed 5@2", "K shrunk 5@1"),
)
"""A file; what became of so many percent of its buffers; the seed that they were drawn with."""
GENERATED = (
    "perfect:n=300,kind=pinwheel,slack=5.0,by=shrinking,seed=2",
    "perfect:n=300,kind=pinwheel,slack=5.0,by=shrinking,seed=1",
    "perfect:n=300,kind=pinwheel,slack=1.0,by=removal,seed=2",
    "perfect:n=300,kind=guillotine,slack=5.0,by=removal,seed=1",
    "tight:n=30,live=6,seed=2",
    *(f"tight:n=40,live=8,seed={seed}" for seed in range(4)),
    *(f"tight:n=60,live=8,seed={seed}" for seed in range(2)),
    "tight:n=100,live=10,seed=0",
)


class Cost(NamedTuple):
    """The nodes of a search, and its peak above the bound."""

    nodes: int
    ppm: int


def problem(name: str) -> Problem:
    """Return the problem of that name."""
    if name in GENERATED:
        return pose(name)
    letter, _, change = name.partition(" ")
    (file,) = FOLDER.glob(f"{letter}.*.csv")
    whole = pose(str(file))
    return loosened(whole, *change.split()) if change else whole


def loosened(whole: Problem, how: str, slack: str) -> Problem:
    """Return a problem with a few of its buffers removed or shrunk."""
    percent, _, seed = slack.partition("@")
    rng, table = np.random.default_rng(int(seed)), whole.buffers
    loose = rng.permutation(len(table))[: round(len(table) * int(percent) / 100)]
    size = np.array(table.size)
    if how == "removed":
        start, end, size = (np.delete(values, loose) for values in (table.start, table.end, size))
    else:
        start, end = table.start, table.end
        smaller = size[loose] * rng.uniform(0.5, 0.95, len(loose))
        size[loose] = np.maximum(GRANULE, smaller.astype(np.int64) // GRANULE * GRANULE)
    return Problem(buffers=BufferTable.from_columns(range(len(size)), size, start, end))


def cost(wanted: Problem, nodes: int = NODES, seed: int = 0) -> Cost:
    """Search a problem in one thread."""
    instance = compile_problem(wanted)
    search = Search(instance, math.inf, seed=seed, deterministic=True, trusted=frozenset(("exact",)))
    greedy.begin(instance, search)
    thread = SearchThread(Parts(instance, search))
    thread.run_nodes(nodes)
    assert search.best is not None
    return Cost(thread.nodes, round(1e6 * (search.best.score[0] / search.bound[0] - 1)))


def costs(names: tuple[str, ...], nodes: int) -> Iterator[tuple[str, Cost]]:
    """Yield what each problem costs, and print it beside what is on record."""
    known = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    for name in names:
        before, wanted = time.process_time(), problem(name)
        found = cost(wanted, nodes)
        print(f"{name:60} {time.process_time() - before:6.2f} s CPU {found}, before {known.get(name)}", flush=True)
        yield name, found


def main() -> None:
    """Run the suite."""
    parser = argparse.ArgumentParser(description="What forty hard problems cost.")
    parser.add_argument("--record", action="store_true", help="write the file anew")
    parser.add_argument("--nodes", type=int, default=NODES)
    given = parser.parse_args()
    found = dict(costs((*MINIMALLOC, *GENERATED), given.nodes))
    unproved = sum(each.nodes >= given.nodes for each in found.values())
    print(f"{sum(each.nodes for each in found.values())} nodes, {unproved} of {len(found)} not proved")
    if given.record:
        rows = [f"  {json.dumps(name)}: {json.dumps(each)}" for name, each in found.items()]
        RECORD.write_text("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    main()
