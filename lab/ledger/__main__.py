"""What the searches reach, beside what they reached: `python -m lab.ledger [NAME...] [--record] [--jobs 2]`.

Asks the questions of `rows.jsonl` in counted work, each with the work on record, and prints what is better, equal or
worse. Where an answer is worse it is asked for again with more work, up to four times as much. A NAME chooses the rows
whose names begin with it. `--without SEARCH` leaves a search out, or several with commas (`cp-sat,highs,cbc` is the
engines), and notes the rows that fall without. `--record` writes rows anew, or for the first time, with the least work
at which the answer comes. What writes rows writes the tables of the documents, too. Status 1 where a row is worse.
"""

from __future__ import annotations

import argparse
import sys
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache, partial
from statistics import geometric_mean

from lab.ledger.answers import ROOT, UNCOUNTED, ask, is_here
from lab.ledger.figures import documents
from lab.ledger.questions import questions
from lab.ledger.rows import Answer, Row, read_rows, write_rows

MORE = 1.3
"""How many times the work on record an answer may take."""
_TIMES = (1.0, MORE, 4.0)
_LEAST_WORK = 1000


def compare(row: Row, each_times: Sequence[float] = _TIMES, without: str = "") -> tuple[str, float, Answer]:
    """Ask the question of a row, with more work as long as the answer is worse than the one on record.

    Returns better, equal or worse, with how many times the work on record, and the answer.
    """
    for times in each_times:
        answer = ask(row.command, int(row.work * times), without)
        if not answer.is_worse_than(row.answer):
            word = "better" if row.answer.is_worse_than(answer) else "equal"
            return word if times <= MORE else "worse", times, answer
    return "worse", times, answer


def recorded(row: Row) -> Row:
    """Return a row with the answer to its question by all of its work, and the least work at which that comes."""
    works = [row.most_work]
    while works[0] > MORE * _LEAST_WORK and not row.command.startswith(UNCOUNTED):
        works.insert(0, int(works[0] / MORE))
    asked = cache(partial(ask, row.command))
    best = asked(row.most_work)
    work = works[bisect_left(works, True, key=lambda work: not asked(work).is_worse_than(best))]
    return replace(row, work=work, answer=asked(work))


def report(results: Iterable[tuple[Row, tuple[str, float, Answer]]]) -> str:
    """Return the table by kind, behind a line for each row that is not equal."""
    of_kind, lines = defaultdict(list), []
    for row, (word, times, answer) in results:
        of_kind[row.name.partition("/")[0]].append((word, times))
        if word != "equal":
            lines.append(f"{word}: {row.name}: {answer}, on record {row.answer}, {times:.2f} x work")
    lines += ["| kind | better | equal | worse | work, geometric mean |", "|---|---|---|---|---|"]
    for kind, pairs in sorted(of_kind.items()):
        cells = [str(sum(word == each for each, _ in pairs)) for word in ("better", "equal", "worse")]
        lines.append(f"| {kind} | {' | '.join(cells)} | {geometric_mean(times for _, times in pairs):.2f} |")
    return "\n".join(lines)


def keep(rows: dict[str, Row]) -> None:
    """Write the rows, and the documents that have tables of them."""
    write_rows(rows.values())
    for path, _, text in documents(read_rows()):
        (ROOT / path).write_text(text)


def main() -> int:
    """Run the program."""
    parser = argparse.ArgumentParser(prog="python -m lab.ledger", description="What the searches reach.")
    parser.add_argument("names", nargs="*", metavar="NAME", default=[""])
    parser.add_argument("--without", default="", metavar="SEARCH")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    options, rows = parser.parse_args(), read_rows()
    asked = questions() if options.record else rows.values()
    chosen = [row for row in asked if row.name.startswith(tuple(options.names)) and is_here(row.command)]
    with ProcessPoolExecutor(options.jobs) as pool:
        if options.record:
            for row in pool.map(recorded, chosen):
                print(row.name, row.work, row.answer, flush=True)
                if row.answer.status != "failed":
                    old = rows.get(row.name, row)
                    rows[row.name] = replace(row, gate=old.gate, falls=old.falls)
                    keep(rows)
            return 0
        each_times = _TIMES[:1] if options.without else _TIMES
        asked_again = pool.map(partial(compare, each_times=each_times, without=options.without), chosen)
        results = list(zip(chosen, asked_again, strict=True))
    print(report(results))
    if options.without:
        for row, (word, _, _) in results:
            falls = {*row.falls} - {options.without} | {options.without for _ in range(word == "worse")}
            rows[row.name] = replace(row, falls=tuple(sorted(falls)))
        keep(rows)
    return int(any(word == "worse" for _, (word, _, _) in results))


if __name__ == "__main__":
    sys.exit(main())
