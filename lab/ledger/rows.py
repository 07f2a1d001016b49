"""The rows of the ledger: questions with recorded answers, and the least counted work that gives each answer."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).with_name("rows.jsonl")
WORK_PER_S = 50_000
"""With `--deterministic`, one second of the time limit is this number of units of work."""


@dataclass(frozen=True)
class Answer:
    """A recorded answer: status, values (most important first), bound on the first, finder, prover and CPU seconds."""

    status: str
    values: list[float]
    bound: float | None
    by: list[str]
    cpu_s: float

    def is_worse_than(self, other: "Answer") -> bool:
        """Return True if this answer has a worse status, number of values, value or bound than the other answer."""
        own, others = ((each.rank, -len(each.values), each.values) for each in (self, other))
        has_less_bound = other.bound is not None and (self.bound is None or self.bound < other.bound)
        return own > others or has_less_bound

    @property
    def rank(self) -> int:
        """The quality of the status: 0 for proved, 1 for a plan, 2 otherwise."""
        return {"optimal": 0, "infeasible": 0, "fits": 0, "feasible": 1}.get(self.status, 2)

    def __str__(self) -> str:
        """Return the answer as a short text."""
        bound = "" if self.bound is None or not self.rank else f" above {self.bound:,}"
        return f"{self.status} {' '.join(f'{value:,}' for value in self.values)}{bound} by {', '.join(self.by) or '-'}"


@dataclass(frozen=True)
class Row:
    """A question and its answer. The question is a memplan command, in which words such as `library:NAME` name files.

    work: the least work that gives the answer, to within 30 percent; a unit is about a microsecond of one core.
    most_work: the work limit of the search.
    gate: True if the tests ask this question.
    falls: the searches whose absence makes the answer worse.
    """

    name: str
    command: str
    most_work: int
    work: int = 0
    answer: Answer = Answer("unknown", [], None, [], 0.0)
    gate: bool = False
    falls: tuple[str, ...] = ()


def read_rows() -> dict[str, Row]:
    rows = {}
    for line in FILE.read_text().splitlines():
        fields = json.loads(line)
        fields["answer"], fields["falls"] = Answer(**fields["answer"]), tuple(fields["falls"])
        rows[fields["name"]] = Row(**fields)
    return rows


def write_rows(rows: Iterable[Row]) -> None:
    """Write the rows to `rows.jsonl`, sorted by name, one per line."""
    ordered = sorted(rows, key=lambda row: row.name)
    fields = [vars(row) | {"answer": vars(row.answer) | {"cpu_s": round(row.answer.cpu_s, 2)}} for row in ordered]
    FILE.write_text("".join(json.dumps(each) + "\n" for each in fields))
