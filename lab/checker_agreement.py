"""Both checkers beside each other: `python -m lab.checker_agreement PROBLEMS [SEED [MUTANTS]]`.

Certificates of random problems, and mutants of their words, of their bytes, and of the bytes of the problems, are given
to the checker in Python and to that in C, which is compiled to stop at each wrong index and each overflow. Both must
answer with the same status but for the kind of what is wrong, and with the same sentence where something is proved.
Prints a line for each difference, and counts. Too long for the test run, which tries a few.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

from lab.certificate_agreement import PROFILES, draw
from memplan.planner.formats import FORMATS
from memplan.solvers.certificates.certify import certify
from memplan.solvers.portfolio.solve import solve
from tests.support.certificate_mutants import mutant
from tests.support.checkers import both, compiled

PIECES = [*'01-+_., :@$!"[]{}\n\t\x00\u0664', "  ", "e5", "\\u0061", "null", "true", "1e400", "time", "of", "\r\n"]
PIECES += ["9223372036854775808", "18446744073709551616"]


def bent(text: str, rng: random.Random) -> str:
    """Return a text with one to three of its places changed."""
    for _ in range(rng.randint(1, 3)):
        k = rng.randrange(len(text) + 1)
        kind = rng.randrange(4)
        if kind == 0:
            text = text[:k] + rng.choice(PIECES) + text[k:]
        elif kind == 1:
            text = text[:k] + text[k + rng.randint(1, 4) :]
        elif kind == 2:
            text = text[:k] + rng.choice(PIECES) + text[k + 1 :]
        else:
            j, size = rng.randrange(len(text) + 1), rng.randint(1, 12)
            text = text[:k] + text[j : j + size] + text[k:]
    return text


def main() -> int:
    """Compare so many certificates and their mutants; the exit status is 1 where one differs."""
    count, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    mutants = int(sys.argv[3]) if len(sys.argv) > 3 else 10
    tally: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = compiled(folder)
        files = folder / "problem", folder / "proof"
        for seed in range(first, first + count):
            problem, rng = draw(seed), random.Random(seed)
            profile = PROFILES[seed // 7 % len(PROFILES)] if len(problem.pools) > 1 else None
            proof = certify(problem, solve(problem, time_limit_s=5, profile=profile), time_limit_s=5).text
            text = FORMATS["json"].write_problem(problem).decode()
            cases = [(text, proof)] if proof else []
            for _ in range(mutants if proof else 0):
                cases.append((text, "\n".join([*mutant(proof.splitlines(), rng), ""])))
                cases += [(text, bent(proof, rng)), (bent(text, rng), proof)]
            for case in cases:
                for file, part in zip(files, case, strict=True):
                    file.write_bytes(part.encode())
                python, c = both(program, files)
                tally[f"status {python[0]}"] += 1
                if (python[0] == 0) != (c[0] == 0) or (python[0] == 0 and python != c) or c[0] not in (0, 2, 3):
                    tally["differences"] += 1
                    print(f"seed {seed}: {python} in Python, {c} in C\n{case[0]!r}\n{case[1]!r}", flush=True)
    print(dict(sorted(tally.items())))
    return 1 if tally["differences"] else 0


if __name__ == "__main__":
    sys.exit(main())
