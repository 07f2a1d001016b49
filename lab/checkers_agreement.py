"""Compare the certificate checkers with each other and with enumeration: `python -m lab.checkers_agreement N [SEED]`.

The certificate of each random problem must claim the result of brute force. The checkers read it with memplan's file of
the problem, and with other files of the same problem: with escapes, with closed lifetimes, as a table, and with sizes
as arguments. Then they read mutants (random changes) of the certificate and of the problem, forgeries of the problem,
and certificates that claim one byte too much. The Python checker and the Coq-verified checker must accept the same
files. Enumeration must confirm each accepted claim, and no forgery or false claim may be accepted. `--mutants 2` sets
the number of mutants of each kind.
"""

import atexit
import json
import random
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from lab.support.cases import run_cases
from lab.support.certified import PROFILES, draw, wrong_claims
from lab.support.kept_checkers import proved_checker, python_verdict
from memplan.planner.errors import InputError
from memplan.planner.formats import FORMATS
from memplan.planner.model.problem import Problem
from memplan.solvers.certificates.certify import certify
from memplan.solvers.portfolio.solve import solve
from tests.checkers.best_claims import best_goals, false_claims, set_capacities
from tests.checkers.certificate_mutants import mutant
from tests.support import oracle

PIECES = [*'01-+_., :@$!"[]{}\n\t\x00\u0664', "  ", "e5", "\\u0061", "null", "true", "1e400", "time", "of", "\r\n"]
PIECES += ["9223372036854775808", "18446744073709551616"]
Data = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A test case: the texts of a problem file and of a certificate (`proof`), and further arguments of the checker.

    `must` is True if the certificate must be accepted, False if it must be refused, and None if that is unknown.
    `problem` is the parsed file, if it is known.
    """

    kind: str
    text: str
    proof: str
    must: bool | None = None
    problem: Problem | None = None
    flags: tuple[str, ...] = ()
    sizes: tuple[str, ...] = ()


def corrupt(text: str, rng: random.Random) -> str:
    """Return a copy of a text with one to three random changes."""
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


def _replace_number(text: str, rng: random.Random) -> str:
    found = rng.choice([*re.finditer(r"(?<![\w.\"])\d+", text)])
    number = int(found[0])
    other = rng.choice([number + 1, max(0, number - 1), number // 2, 2 * number, 0, 1, rng.randrange(20)])
    return text[: found.start()] + str(other) + text[found.end() :]


def escape_strings(text: str) -> str:
    """Return equal JSON text, in which every second string has one character written as an escape."""
    pieces = text.split('"')
    for k in range(1, len(pieces), 4):
        if pieces[k] and "\\" not in pieces[k]:
            at = len(pieces[k]) // 2
            pieces[k] = f"{pieces[k][:at]}\\u{ord(pieces[k][at]):04x}{pieces[k][at + 1 :]}"
    return '"'.join(pieces)


def close_lifetimes(data: Data) -> Data:
    """Return the same problem with closed lifetimes: an end is the last step in which the buffer is alive."""
    rows = []
    for row in data["buffers"]:
        spans = [[a, b - 1] for a, b in row.get("lifetimes", ())]
        rows.append(
            row
            | ({"end": row["end"] - 1} if row.get("end") is not None else {})
            | ({"lifetimes": spans} if spans else {})
        )
    return data | {"buffers": rows, "interval": "closed"}


def table(data: Data, head: str) -> str | None:
    """Return a problem as a CSV table, or None if a table cannot express it; `head` names the lifetime columns."""
    ends, rows = head.split(","), []
    if {*data} - {"buffers", "pools", "format"} or any({*pool} - {"name", "size"} for pool in data.get("pools", ())):
        return None
    for row in data["buffers"]:
        if {*row} - {"id", "size", "start", "end", "alignment", "offset"} or row.get("start") is None:
            return None
        less = ends[1] == "end"
        rows.append(
            [row["id"], row["start"], row["end"] - less, row["size"], row.get("alignment", ""), row.get("offset", "")]
        )
    words = [["id", *ends, "size", "alignment", "offset"], *rows]
    return "".join(",".join(map(str, row)) + "\n" for row in words)


def forgeries(data: Data, text: str, rng: random.Random) -> Iterator[tuple[str, str]]:
    """Yield (name of the mistake, text) for malformed versions of a problem file, which no checker may accept."""
    row = rng.choice(data["buffers"])

    def text_with(**fields: Any) -> str:
        return json.dumps(data | {"buffers": [one | fields if one is row else one for one in data["buffers"]]})

    plain = json.dumps(data)
    yield "a key twice", plain.replace('"size"', '"size": 1, "size"', 1)
    yield "a key twice by an escape", plain.replace('"size"', '"\\u0073ize": 1, "size"', 1)
    yield "a field that is none", text_with(aligment=8)
    yield "alignment 0", text_with(alignment=0)
    yield "modulus 0", text_with(offset_mod={"modulus": 0, "remainder": 0})
    yield "a size beyond the range", text_with(size=2**62 + 1)
    yield "a size with an exponent", plain.replace('"size": ', '"size": 1e0', 1).replace("1e01", "1e0")
    yield "a size with a zero before it", plain.replace('"size": ', '"size": 0', 1)
    yield "a lone surrogate", plain.replace('"id"', '"\\ud800d"', 1)
    yield "an id twice", json.dumps(data | {"buffers": [*data["buffers"], row]})
    circle = [{"id": f"circle {k}", "size": 1, "alias_of": f"circle {1 - k}"} for k in (0, 1)]
    yield "a circle of aliases", json.dumps(data | {"buffers": [*data["buffers"], *circle]})
    yield "a word for the lifetimes", json.dumps(data | {"interval": "open"})
    yield "two texts", text + text


def is_true(problem: Problem, said: str) -> bool:
    """Return True if an enumeration of all plans confirms the claim `said` (a certificate's third line)."""
    kind, *words = said.split()
    if kind in ("used", "infeasible"):
        score = oracle.best_score(problem.model_copy(update={"objective": "peak"}))
        return score is None or (kind == "used" and tuple(score) >= tuple(int(word) for word in reversed(words)))
    priced = problem.model_copy(update={"objective": "cost"}) if kind == "cost" else problem
    best = best_goals(priced, None if kind == "cost" else "speed" if kind == "speed" else "balanced")
    if best is None or best[0] is None:
        return best is None
    claimed, found = Fraction(int(words[0]), int(words[1])), Fraction(best[0])
    # Enumeration sums costs as floats, which may differ in the last digits, so compare with a tolerance.
    found = claimed if abs(found - claimed) <= abs(claimed) / 10**9 else found
    used = [(word, end) for word, end in zip(words[2:], best[1], strict=False) if word != "-"][::-1]
    first = 1 if kind == "balanced" else 0
    pairs = [(Fraction(int(word)), Fraction(end)) for word, end in used]
    pairs.insert(min(first, len(pairs)), (claimed, found))
    return [end for _, end in pairs] >= [word for word, _ in pairs]


class Checkers:
    """The Python checker and, if it can be built, the Coq-verified checker."""

    def __init__(self, folder: Path) -> None:
        """Build and start the Coq-verified checker in `folder`."""
        self._proved = proved_checker(folder)

    def faults(self, case: Case, tally: Counter[str]) -> Iterator[str]:
        """Run all checkers on a case; yield a line for each false verdict and each disagreement between them."""
        files = (case.text.encode(errors="surrogatepass"), case.proof.encode(errors="surrogatepass"))
        asked = case.flags, *files, case.sizes
        found = {"Python": python_verdict(*asked), "proved": self._proved.answer(*asked)}
        taken = {status == 0 for status, _ in found.values()}
        tally[f"{case.kind}, {'taken' if True in taken else 'not taken'}"] += 1
        wrong = []
        if len(taken) > 1 or any(status not in (0, 2, 3) for status, _ in found.values()):
            wrong.append("they differ")
        if case.must is not None and case.must not in taken:
            wrong.append(f"it must be {'taken' if case.must else 'refused'}")
        if True in taken and not case.must:
            problem = case.problem or self._problem(case)
            if problem is not None and not is_true(problem, case.proof.split("\n")[2]):
                wrong.append("what is taken is false")
            tally["taken, not enumerated" if problem is None else "taken, enumerated"] += 1
        yield from (f"{case.kind}: {line}: {found}\n{case.text!r}\n{case.proof!r}" for line in wrong)

    @staticmethod
    def _problem(case: Case) -> Problem | None:
        """Return a case's problem for enumeration; None if it is unreadable, too large or has checker arguments."""
        try:
            read = FORMATS["json" if case.text.lstrip().startswith("{") else "csv"].read_problem
            found = read(case.text.encode())
        except (InputError, ValueError):
            return None
        return found if len(found.buffers) < 9 and not case.sizes and not case.flags else None


def cases(seed: int, problem: Problem, proof: str, mutants: int) -> Iterator[Case]:
    """Yield the test cases from a problem and its certificate: both unchanged, and `mutants` mutants of each kind."""
    rng = random.Random(seed)
    text = FORMATS["json"].write_problem(problem).decode()
    data, lines = json.loads(text), proof.splitlines()
    sizes = tuple(lines[1].split()[1:])
    yield Case("certificate", text, proof, must=True)
    yield Case("certificate with escapes", escape_strings(text), proof, must=True)
    yield Case("certificate of closed lifetimes", json.dumps(close_lifetimes(data)), proof, must=True)
    bare = data | {"pools": [{key: v for key, v in pool.items() if key != "size"} for pool in data["pools"]]}
    bases = [pool.get("base_address", 0) for pool in data["pools"]]
    given = tuple(f"{size}@{base}" if base else size for size, base in zip(sizes, bases, strict=True))
    yield Case("certificate with sizes given", json.dumps(bare), proof, must=True, sizes=given)
    if seed % 4 == 0:
        yield Case("forged: sizes of others", text, proof, must=False, sizes=(*sizes[:-1], "12345678"))
        yield Case("forged: a pool too many", text, proof, must=False, sizes=("5", *sizes))
    if (rows := table(data, "lower,upper")) is not None:
        yield Case("certificate of a table", rows, proof, must=True, sizes=sizes)
        yield Case("certificate of a closed table", str(table(data, "start,end")), proof, must=True, sizes=sizes)
        yield Case("forged: another pool", rows, proof, must=False, sizes=(*sizes, "9"))
        if all(row["end"] - row["start"] > 1 for row in data["buffers"]):
            ends = [row | {"end": row["end"] - 1} for row in data["buffers"]]
            shorter = Problem.model_validate(data | {"buffers": ends})
            short = str(table(data, "start,end"))
            yield Case("ends read as half-open", short, proof, problem=shorter, flags=("--half-open",), sizes=sizes)
    for _ in range(mutants):
        yield Case("mutant of words", text, "\n".join([*mutant(lines, rng), ""]), problem=problem)
        yield Case("mutant of bytes", text, corrupt(proof, rng), problem=problem)
        yield Case("mutant of the problem", corrupt(text, rng), proof)
        yield Case("mutant of a number", _replace_number(text, rng), proof)
    for name, file in rng.sample([*forgeries(data, text, rng)], 2):
        yield Case(f"forged: {name}", file, proof, must=False)
    for false in false_claims(lines) if "-" not in lines[2] else []:
        right = set_capacities(false, [pool.size for pool in problem.pools])
        yield Case("false claim", text, "\n".join([*right, ""]), must=False)
        yield Case("mutant of a false claim", text, "\n".join([*mutant(right, rng), ""]), must=False)


@cache
def _checkers() -> Checkers:
    """Return the checkers, which are created once per process."""
    folder = tempfile.mkdtemp(prefix="memplan-checkers-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Checkers(Path(folder))


def faults(seed: int, tally: Counter[str], mutants: int = 2) -> Iterator[str]:
    """Yield a line for each fault of a random problem's certificate, and of the checkers' verdicts on test cases."""
    problem = draw(seed)
    profile = PROFILES[seed // 7 % len(PROFILES)] if len(problem.pools) > 1 else None
    plan = solve(problem, time_limit_s=10, profile=profile)
    certificate = certify(problem, plan, time_limit_s=10)
    yield from wrong_claims(problem, plan, certificate, tally)
    for case in cases(seed, problem, certificate.text, mutants) if certificate.text else ():
        yield from _checkers().faults(case, tally)


if __name__ == "__main__":
    sys.exit(run_cases("checkers_agreement", faults, mutants=2))
