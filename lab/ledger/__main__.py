"""What the searches reach, beside what they reached: `python -m lab.ledger [NAME...] [--gate] [--record] [--jobs 2]`.

Asks the questions of `rows.jsonl` in counted work, each with the work on record, and prints what is better, equal or
worse. Where an answer is worse it is asked for again with more work, up to four times as much. A NAME chooses the rows
whose names begin with it; `--gate` those that the tests ask; `--without SEARCH` leaves a search out, and notes the rows
that fall without it. `--record` writes rows anew, with the least work at which the answer comes, `--new` those that
are missing. `--documents` writes the tables of the documents anew. Status 1 where a row is worse.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from multiprocessing import get_context
from statistics import geometric_mean
from typing import TypeVar

from lab.ledger.answers import ROOT, WORK_PER_S, UnansweredError, ask, is_here
from lab.ledger.figures import documents
from lab.ledger.questions import questions
from lab.ledger.rows import UNANSWERED, Answer, Row, read_rows, write_rows

T = TypeVar("T")
MORE = 1.3
"""How many times the work on record an answer may take."""
_LEAST_WORK = WORK_PER_S // 50
_STEP = 1.6
_CLOSE = 1.2
_MOST_TIMES = 4.0


@dataclass(frozen=True)
class Result:
    """What became of a row: better, equal or worse, with how many times the work on record, and the answer."""

    row: Row
    word: str
    times: float
    answer: Answer


def compare(row: Row, times: float = 1.0, most: float = _MOST_TIMES, without: str = "") -> Result:
    """Ask the question of a row, with more work as long as the answer is worse than the one on record."""
    answer = UNANSWERED
    while times <= most:
        try:
            answer = ask(row.command, row.work and int(row.work * times), without)
        except UnansweredError as error:
            print(error, file=sys.stderr)
            break
        if not answer.is_worse_than(row.answer):
            word = "better" if row.answer.is_worse_than(answer) else "equal"
            return Result(row, word if times <= MORE else "worse", times, answer)
        if row.work is None:
            break
        times *= _STEP
    return Result(row, "worse", times, answer)


def recorded(row: Row) -> Row:
    """Return a row with the answer to its question by all of its work, and the least work at which that comes."""
    if row.most_work is None:
        return replace(row, answer=ask(row.command, None))
    below, best, answer, work = 0, 0, UNANSWERED, _LEAST_WORK // 2
    while answer.rank and work < row.most_work:
        before, work = work, min(2 * work, row.most_work)
        now = ask(row.command, work)
        if not best or answer.is_worse_than(now):
            below, best, answer = before, work, now
    while best > max(_LEAST_WORK, _CLOSE * below):
        between = (best + below) // 2
        now = ask(row.command, between)
        below, best, answer = (between, best, answer) if now.is_worse_than(answer) else (below, between, now)
    return replace(row, work=best, answer=answer)


def side_by_side(function: Callable[..., T], calls: Iterable[tuple[object, ...]], jobs: int) -> Iterator[T]:
    """Yield what a function returns to each call, in so many processes; what is not answered is printed."""
    with ProcessPoolExecutor(jobs, mp_context=get_context("fork")) as pool:
        for done in as_completed([pool.submit(function, *call) for call in calls]):
            if isinstance(error := done.exception(), UnansweredError):
                print(error, file=sys.stderr)
            else:
                yield done.result()


def report(results: Iterable[Result]) -> str:
    """Return the table by kind, behind a line for each row that is not equal."""
    words: dict[str, Counter[str]] = defaultdict(Counter)
    times: dict[str, list[float]] = defaultdict(list)
    lines = []
    for result in results:
        row, kind = result.row, result.row.name.partition("/")[0]
        words[kind][result.word] += 1
        times[kind].append(result.times)
        if result.word != "equal":
            change = f"{result.answer.words()}, on record {row.answer.words()}, {result.times:.2f} x work"
            lines.append(f"{result.word}: {row.name}: {change}")
    lines += ["| kind | better | equal | worse | work, geometric mean |", "|---|---|---|---|---|"]
    for kind, counts in sorted(words.items()):
        cells = [str(counts[word]) for word in ("better", "equal", "worse")]
        lines.append(f"| {kind} | {' | '.join(cells)} | {geometric_mean(times[kind]):.2f} |")
    return "\n".join(lines)


def main() -> int:
    """Run the program."""
    parser = argparse.ArgumentParser(prog="python -m lab.ledger", description="What the searches reach.")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--without", default="", metavar="SEARCH")
    parser.add_argument("--jobs", type=int, default=2)
    for flag in ("gate", "record", "new", "documents"):
        parser.add_argument(f"--{flag}", action="store_true")
    options = parser.parse_args()
    rows = read_rows()
    asked = {row.name: row for row in questions()} if options.record or options.new else rows
    chosen = [row for name, row in asked.items() if name.startswith(tuple(options.names)) or not options.names]
    chosen = [row for row in chosen if is_here(row.command) and row.gate >= options.gate]
    if options.documents:
        for path, _, text in documents(rows):
            (ROOT / path).write_text(text)
    elif options.record or options.new:
        for row in side_by_side(
            recorded, [(row,) for row in chosen if not (options.new and row.name in rows)], options.jobs
        ):
            old = rows.get(row.name, row)
            rows[row.name] = replace(row, gate=old.gate, falls=old.falls)
            print(row.name, row.work, row.answer.words(), flush=True)
            write_rows(rows.values())
    else:
        calls = [(row, 1.0, 1.0 if options.without else _MOST_TIMES, options.without) for row in chosen]
        results = list(side_by_side(compare, calls, options.jobs))
        print(report(results))
        if options.without:
            for result in results:
                falls = {*result.row.falls} - {options.without} | (
                    {options.without} if result.word == "worse" else set()
                )
                rows[result.row.name] = replace(result.row, falls=tuple(sorted(falls)))
            write_rows(rows.values())
        return int(any(result.word == "worse" for result in results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
