"""Whole answers beside all plans of small problems, by their kind: `python -m lab.whole_answers KIND [3000 [SEED]]`.

Kinds are `pools` (several pools with prices of shared bytes), `costs` (the least cost in one to three pools), `at_peak`
(the least cost at the least peak), `others` (plans that differ, with banks), `forged` (lists of such plans that
`verify` must not pass without a word) and `what_if` (single changes to problems with views).
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from lab.support.cases import run_cases
from tests.support import whole_answers

Drawn = Callable[[int], list[str] | None]
KINDS: Mapping[str, Drawn] = {
    "pools": whole_answers.faults_of_pools,
    "costs": whole_answers.faults_of_costs,
    "at_peak": whole_answers.faults_at_peak,
    "others": whole_answers.faults_of_others,
    "what_if": whole_answers.faults_of_what_if,
}


def faults_of(seed: int, tally: Counter[str], kind: str) -> Iterator[str]:
    """Yield what is false of an answer of a kind; count those that were refused, of which nothing can be false."""
    if kind == "forged":
        words = whole_answers.said_of_forged(seed)
        tally["not forged" if words is None else "forged"] += 1
        if words == []:
            yield "passes without a word"
        return
    faults = KINDS[kind](seed)
    tally["refused" if faults is None else "compared"] += 1
    yield from faults or ()


def main() -> int:
    """Compare answers of one kind; return 1 where anything is false."""
    kind, rest = (sys.argv[1], sys.argv[2:]) if len(sys.argv) > 1 else ("", [])
    if kind not in (*KINDS, "forged"):
        print(f"whole_answers: must be given one of {', '.join((*KINDS, 'forged'))}, got {kind!r}")
        return 2
    return run_cases(f"whole_answers {kind}", partial(faults_of, kind=kind), rest, count=3_000)


if __name__ == "__main__":
    sys.exit(main())
