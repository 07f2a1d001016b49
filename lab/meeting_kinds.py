"""Check answers about problems with several constraint kinds by brute force: `python -m lab.meeting_kinds [N [SEED]]`.

The program counts how often each pair of kinds was combined, and prints only the smallest of these counts.
"""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser
from collections import Counter

from lab.support.cases import exit_status
from tests.support.meeting_answers import faults
from tests.support.meeting_kinds import PAIRS, problems
from tests.support.meeting_questions import posted_to
from tests.support.server import run_server


def main() -> int:
    """Draw problems, check all answers about them, print faults and counts, and return 1 if there are faults."""
    parser = ArgumentParser(prog="python -m lab.meeting_kinds", description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=2000, help="how many problems")
    parser.add_argument("seed", type=int, nargs="?", default=0, help="what they are drawn by")
    given = parser.parse_args()
    tally, met, n_faults, began = Counter[str](), Counter[tuple[str, str]](), 0, time.monotonic()
    with run_server() as service:
        for number, (name, problem, kinds) in enumerate(problems(given.seed, given.count)):
            met.update(pair for pair in PAIRS if {*pair} <= {*kinds})
            for fault in faults(number, problem, tally, posted_to(service)):
                n_faults += 1
                print(f"{name} ({', '.join(kinds)}): {fault}", flush=True)
            if number % 1000 == 999:  # Show the progress of long runs.
                print(f"{number + 1:,} of {given.count:,}, {n_faults} faults", file=sys.stderr, flush=True)
    least = min(PAIRS, key=lambda pair: met[pair])
    print(f"{met[least]:>8,}  times at the least two kinds met ({' and '.join(least)}), of {len(PAIRS)} pairs")
    print(f"{given.count:>8,}  problems, seed {given.seed}, {time.monotonic() - began:.0f} s")
    return exit_status(tally, n_faults)


if __name__ == "__main__":
    sys.exit(main())
