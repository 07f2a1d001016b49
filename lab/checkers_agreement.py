"""The three checkers of certificates beside each other: `python -m lab.checkers_agreement PROBLEMS [SEED [MUTANTS]]`.

Of each random problem, as in `certificate_agreement`, the certificate and so many mutants of it, of the problem's file,
and of the certificate with a claim that is false are read by the checkers in Python, in C and proved in Coq. All must
take the same texts and none a false claim. Prints a line for each fault, and counts.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from lab.certificate_agreement import PROFILES, draw, is_accepted
from memplan.planner.formats import FORMATS
from memplan.solvers.certificates.certify import certify
from memplan.solvers.portfolio.solve import solve
from tests.support.best_claims import false_claims, with_right_capacities
from tests.support.certificate_mutants import mutant
from tests.support.checkers import CHECKERS
from tests.support.proved_checker import built


def changed(text: str, rng: random.Random) -> str:
    """Change one character of a problem, or one of its numbers, or leave one out."""
    k = rng.randrange(len(text))
    return text[:k] + rng.choice(["", text[k] * 2, "0", "1", "-", ",", '"', " ", "e", ".", "\\"]) + text[k + 1 :]


class Checkers:
    """The three, each of which takes a text or not."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.tally, self.faults = folder, Counter[str](), 0
        in_c = str(folder / "in_c")
        subprocess.run(["cc", "-O2", "-o", in_c, str(CHECKERS / "check.c")], check=True)
        self.programs = {"C": in_c, "proved": built()}

    def taken(self, kind: str, seed: int, text: str, lines: list[str]) -> bool:
        """Say whether a certificate is taken, by all or by one at least; print where they differ."""
        problem, proof = self.folder / "problem", self.folder / "plan.lemmas"
        problem.write_text(text)
        proof.write_text("\n".join(lines) + "\n")
        found = {"Python": is_accepted(text, lines)}
        for name, program in self.programs.items():
            status = subprocess.run([program, problem, proof], capture_output=True, check=False).returncode
            found[name] = status == 0
            if status not in (0, 2, 3):
                self.fault(f"seed {seed}: {name} ends with {status} at a {kind}: {text} {lines}")
        self.tally[f"{kind}, {'taken' if all(found.values()) else 'not taken'}"] += 1
        if len({*found.values()}) > 1:
            self.fault(f"seed {seed}: {found} of a {kind}: {text} {lines}")
        return any(found.values())

    def fault(self, line: str) -> None:
        """Print what is wrong."""
        self.faults += 1
        print(line, flush=True)


def compare(checkers: Checkers, seed: int, mutants: int) -> None:
    """Let the three read the certificate of a problem, and what is made of it."""
    rng, problem = random.Random(seed), draw(seed)
    profile = PROFILES[seed // 7 % len(PROFILES)] if len(problem.pools) > 1 else None
    certificate = certify(problem, solve(problem, time_limit_s=10, profile=profile), time_limit_s=10)
    if certificate.kind == "none":
        return
    text, lines = FORMATS["json"].write_problem(problem).decode(), certificate.text.splitlines()
    if not checkers.taken("certificate", seed, text, lines):
        checkers.fault(f"seed {seed}: the certificate is refused")
    for _ in range(mutants):
        checkers.taken("mutant", seed, text, mutant(lines, rng))
        checkers.taken("mutant problem", seed, changed(text, rng), lines)
    for false in false_claims(lines) if "-" not in lines[2] else []:
        right = with_right_capacities(false, [pool.size for pool in problem.pools])
        for k in range(mutants):
            if checkers.taken("false claim", seed, text, mutant(right, rng) if k else right):
                checkers.fault(f"seed {seed}: {right[2]} is accepted")


def main() -> int:
    """Compare so many problems, from a first seed on; the exit status tells whether all was right."""
    words = [*map(int, sys.argv[1:])]
    count, first, mutants = [*words, *(0, 2)[len(words) - 1 :]]
    with tempfile.TemporaryDirectory() as folder:
        checkers = Checkers(Path(folder))
        for seed in range(first, first + count):
            compare(checkers, seed, mutants)
            if (seed - first) % 1000 == 999:
                print(dict(sorted(checkers.tally.items())), f"{time.process_time():.0f} s of CPU", flush=True)
        print(dict(sorted(checkers.tally.items())), f"{checkers.faults} faults")
    return 1 if checkers.faults else 0


if __name__ == "__main__":
    sys.exit(main())
