"""Compare the results of the searches with the ledger: `python -m lab.ledger [NAME...] [--record] [--jobs 2]`.

The program asks the questions of `rows.jsonl` with the recorded amount of work, and prints whether each answer is
better, equal or worse. After a worse answer, the question gets up to four times as much work. NAME selects the rows
whose names start with it. The exit status is 1 if a row is worse.

- `--record` records rows again, or for the first time, with the least work that gives the answer. This also updates the
  table in `docs/benchmarks.md`.
- `--without SEARCH` disables a search, or several searches with commas (`cp-sat,highs,cbc`: the engines), and records
  which rows become worse.
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from statistics import geometric_mean

from lab.ledger.answers import is_here
from lab.ledger.asking import TIMES, compare, record_answer
from lab.ledger.figures import document
from lab.ledger.questions import questions
from lab.ledger.rows import Answer, Row, read_rows, write_rows


def report(results: Iterable[tuple[Row, tuple[str, float, Answer]]]) -> str:
    """Return a line for each row whose answer differs from the recorded one, and counts by kind of row."""
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
    """Write the rows to `rows.jsonl`, and update the table of rows in `docs/benchmarks.md`."""
    write_rows(rows.values())
    path, text = document(read_rows())
    path.write_text(text)


def main() -> int:
    """Ask the selected questions, compare or record the answers, and return 1 if a row is worse, else 0."""
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
            for row in pool.map(record_answer, chosen):
                print(row.name, row.work, row.answer, flush=True)
                if row.answer.status != "failed":
                    old = rows.get(row.name, row)
                    rows[row.name] = replace(row, gate=old.gate, falls=old.falls)
                    keep(rows)
            return 0
        each_times = TIMES[:1] if options.without else TIMES
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
