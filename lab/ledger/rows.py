"""The rows of the ledger: a question, the answer to it, and the least counted work at which that comes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).with_name("rows.jsonl")
PROVED = ("optimal", "infeasible", "fits")


@dataclass(frozen=True)
class Answer:
    """An answer: status, values in the order in which they are least, bound of the first, who found and proved it."""

    status: str
    values: list[float]
    bound: float | None
    by: list[str]
    cpu_s: float

    def is_worse_than(self, other: Answer) -> bool:
        """Return True where the status, a value or the bound is worse; of several plans fewer are worse."""
        own, others = ((each.rank, -len(each.values), each.values) for each in (self, other))
        if own != others:
            return own > others
        return other.bound is not None and (self.bound is None or self.bound < other.bound)

    @property
    def rank(self) -> int:
        """0 for a proof, 1 for a plan, 2 for neither."""
        return 0 if self.status in PROVED else 1 if self.status == "feasible" else 2

    def words(self) -> str:
        """Return the answer in a few words."""
        bound = "" if self.bound is None or not self.rank else f" above {self.bound:,}"
        return f"{self.status} {' '.join(f'{value:,}' for value in self.values)}{bound} by {', '.join(self.by) or '-'}"


UNANSWERED = Answer("unknown", [], None, [], 0.0)


@dataclass(frozen=True)
class Row:
    """A question and its answer: a command of memplan with `library:`, `given:`, `hard:` or `generated:` before files.

    work: the least work at which the answer comes, within a fifth; None where a clock ends the search, which has more
        time than it needs. One unit is about a microsecond of one core.
    most_work: the work that the search is given at most.
    gate: the tests ask this question.
    falls: the searches without any one of which the answer is worse.
    """

    name: str
    command: str
    most_work: int | None
    work: int | None = None
    answer: Answer = UNANSWERED
    gate: bool = False
    falls: tuple[str, ...] = ()


def read_rows(file: Path = FILE) -> dict[str, Row]:
    """Return the rows by their names."""
    rows = {}
    for line in file.read_text().splitlines() if file.exists() else ():
        fields = json.loads(line)
        fields["answer"], fields["falls"] = Answer(**fields["answer"]), tuple(fields["falls"])
        rows[fields["name"]] = Row(**fields)
    return rows


def write_rows(rows: Iterable[Row], file: Path = FILE) -> None:
    """Write the rows, sorted by their names, a line each."""
    ordered = sorted(rows, key=lambda row: row.name)
    fields = [vars(row) | {"answer": vars(row.answer) | {"cpu_s": round(row.answer.cpu_s, 2)}} for row in ordered]
    file.write_text("".join(json.dumps(each) + "\n" for each in fields))
