"""Plans made again, of many problems: `python -m lab.replays PROBLEMS [SEED]`.

Each problem is planned by the command with `--deterministic`, every second one with a certificate, and solved again by
`memplan verify --again` in another process with another hash seed; about a third do not fit. Prints a line for each
that is not the same to the byte, and counts. Too long for the test run, which tries a few.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from memplan.planner.formats import FORMATS
from memplan.planner.model.problem import Problem
from tests.support import oracle
from tests.support.random_problems import random_problem
from tests.support.tied_problems import tied_problem
from tests.support.tight_problems import FEATURES, full_load, mixed_alignments, tight_problem

_SEVERAL = ("alignment", "conflicts", "cost", "holes", "reserved", "")


def draw(seed: int) -> Problem:
    """Draw a problem: of one pool, of several, with all rules, or hard for its size; of each, some do not fit."""
    kind = seed % 5
    if kind == 0:
        return random_problem(seed, 5, frozenset({"pools", _SEVERAL[seed // 5 % 6]} - {""}), 12 if seed % 3 else None)
    if kind == 1:
        return tied_problem(seed, 5)
    if kind == 2:
        problem = full_load(seed, 14, 48) if seed % 2 else mixed_alignments(seed, 12)
        spans = [(span, row.size) for i, row in enumerate(problem.buffers) for span in problem.buffers.intervals(i)]
        load = max(sum(size for (start, end), size in spans if start <= t < end) for t in range(60))
        return problem.with_capacity(load)
    feature = FEATURES[seed % len(FEATURES)]
    best = oracle.best_score(tight_problem(seed, feature))
    return tight_problem(seed, feature, max(0, int(best[0]) - (kind == 3)) if best else 8)


def replayed(problem: Problem, folder: Path, *, with_certificate: bool) -> tuple[str, str]:
    """Return the status of the plan of a problem, and what is the same when it is solved again."""
    file, output = folder / "problem.json", folder / "plan.json"
    file.write_bytes(FORMATS["json"].write_problem(problem))
    more = ["--certificate", str(folder / "plan.lemmas")] if with_certificate else []
    _run("1", "plan", str(file), "--deterministic", "-q", "-o", str(output), *more)
    found = json.loads(_run("2", "verify", str(file), str(output), "--again", "-q"))
    return json.loads(output.read_bytes())["status"], str(found["again"]["same"])


def _run(hash_seed: str, *words: str) -> bytes:
    command = [sys.executable, "-m", "memplan.api.cli.main", *words]
    return subprocess.run(
        command, env=os.environ | {"PYTHONHASHSEED": hash_seed}, capture_output=True, check=False
    ).stdout


def main() -> int:
    """Make so many plans again, from a first seed on; the exit status is 1 where one is another."""
    count, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    tally: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            status, same = replayed(draw(seed), Path(folder), with_certificate=seed % 2 == 1)
            tally[f"{status}: {same}"] += 1
            if same != "bytes":
                print(f"seed {seed}: {status}, {same}", flush=True)
    print(dict(sorted(tally.items())))
    return int(any(not key.endswith(": bytes") for key in tally))


if __name__ == "__main__":
    sys.exit(main())
