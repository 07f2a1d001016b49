"""Run all tests and programs that draw cases, for a release: `python -m lab.deep [NAME ...] [--share 0.01]`.

The tests of each commit draw few cases, always the same ones. This program runs these tests with more and other cases.
Then it runs each program that compares memplan with brute force, breaks files, or draws requests. NAME selects some of
these. `--share` is the fraction of a release's number of cases. A failed program does not stop the later ones, but
makes the exit status 1.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from lab.fuzz_importers import SEEDS

ROOT = Path(__file__).parents[1]
_DEPTH = 50
"""For a release, tests draw this multiple of the number of cases that they draw for each commit."""

PROGRAMS: Mapping[str, tuple[str | int, ...]] = {
    "tests": ("pytest", "--numprocesses=logical", "--hypothesis-profile=explore", "-m", "hypothesis or drawn or deep"),
    "agreement": ("lab.agreement", 200_000),
    "constraints": ("lab.agreement", 20_000, "--constraints"),
    "pairs": ("lab.agreement", 20_000, "--pairs"),
    "joins": ("lab.joins", 1_000),
    "known plans": ("lab.known_plans", 20_000, "--every", 10),
    "checkers": ("lab.checkers_agreement", 20_000),
    "orders": ("lab.order_agreement", 10_000),
    "moves": ("lab.moves_agreement", 2_000),
    "recompute": ("lab.recompute_agreement", 250),
    "liveness": ("lab.liveness_agreement", 10_000),
    "files": ("lab.file_invariants", 3_000),
    **{name: ("lab.fuzz_importers", name, 100_000) for name in SEEDS},
    "expansion": ("lab.fuzz_expansion", 2_000),
    "stops": ("lab.stops", "--count", 20_000),
    "service": ("lab.fuzz_service", "--count", 20_000),
    "clients": ("lab.clients",),
    "places": ("lab.places", 5_000),
    "shapes": ("lab.shapes", "plans", 2_000),
    "limits": ("lab.shapes", "limits", 2_000),
    "all values": ("lab.shapes", "certificates", 1_000),
    "soak": ("lab.soak", 100),
}
"""Maps a program's name to its module and arguments; an integer is the number of cases for a release."""


def main() -> int:
    """Run the programs that the arguments name, or all of them; return 1 if one of them failed, else 0."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PROGRAMS))
    parser.add_argument("--share", type=float, default=1.0, help="the part of the cases that a release wants")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.names) - set(PROGRAMS))
    if unknown:
        parser.error(f"no such program: {', '.join(unknown)}")
    environment = os.environ | {"MEMPLAN_TESTS_DEPTH": str(max(1, round(_DEPTH * arguments.share)))}
    failed = []
    for name in arguments.names or PROGRAMS:
        scaled = (max(1, round(part * arguments.share)) if isinstance(part, int) else part for part in PROGRAMS[name])
        command = [sys.executable, "-m", *map(str, scaled)]
        if name == "tests" and environment["MEMPLAN_TESTS_DEPTH"] == "1":  # Those that draw would repeat the gate's.
            command[-1] = "deep"
        print(f"== {name}: {' '.join(command[1:])}", flush=True)
        began = time.monotonic()
        status = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
        print(f"== {name}: {'ok' if status == 0 else f'failed (status {status})'}, {time.monotonic() - began:.0f} s")
        if status:
            failed.append(name)
    print(f"{len(failed)} failed: {', '.join(failed)}" if failed else "all agree")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
