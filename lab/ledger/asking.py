"""Compares a ledger row with the current answer to its question, and records new answers."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial

from lab.ledger.answers import UNCOUNTED, run_command
from lab.ledger.rows import Answer, Row

MORE = 1.3
"""An answer as good as recorded counts as equal up to this multiple of the recorded work."""
TIMES = (1.0, MORE, 4.0)
"""The multiples of the recorded work with which a question is asked, until its answer is as good as recorded."""
_LEAST_WORK = 1000


def compare(row: Row, each_times: Sequence[float] = TIMES, without: str = "") -> tuple[str, float, Answer]:
    """Repeat a row's question with more and more work, until the answer is at least as good as the recorded one.

    Returns (verdict "better", "equal" or "worse"; the work as a multiple of the recorded work; the answer).
    """
    for times in each_times:
        answer = run_command(row.command, int(row.work * times), without)
        if not answer.is_worse_than(row.answer):
            word = "better" if row.answer.is_worse_than(answer) else "equal"
            return word if times <= MORE else "worse", times, answer
    return "worse", times, answer


def record_answer(row: Row) -> Row:
    """Return the row with the new answer at the row's work limit, and with the least work that gives this answer.

    A plan that is not proved gets cheaper until the limit, so its work is the limit.
    """
    asked, works = cache(partial(run_command, row.command)), [row.most_work]
    best = asked(row.most_work)
    while works[0] > MORE * _LEAST_WORK and best.status != "feasible" and not row.command.startswith(UNCOUNTED):
        works.insert(0, int(works[0] / MORE))
    work = works[bisect_left(works, True, key=lambda work: not asked(work).is_worse_than(best))]
    return replace(row, work=work, answer=asked(work))
