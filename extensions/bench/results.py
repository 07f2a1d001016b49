"""Benchmark results: one JSON line per run, written immediately, so that an interrupted benchmark can resume."""

import csv
import io
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated, Any, Literal, get_args

from pydantic import AliasChoices, Field, ValidationError

from memplan.planner.errors import FormatError, excerpt, prefix_sentence, sentences
from memplan.planner.model.plan import Status, StopReason
from memplan.planner.model.rows import WireValue

Outcome = Literal["plan", "none", "invalid", "late", "memory", "failed", "skipped"]
"""The outcome of a run. `plan`: a plan that the verifier accepts. `none`: an answer without a plan ("infeasible").
`invalid`: a plan that violates a rule, or a false claim. `late`, `memory`: stopped by the benchmark at a limit.
`failed`: the process ended otherwise. `skipped`: not run, for the reason in `message`."""

Key = tuple[str, str, int, float]


class Moment(WireValue):
    """A point of a run's progress curve: the best peak and lower bound, in bytes, after some seconds."""

    wall_time_s: float
    peak: int | None = None
    lower_bound: int


class Result(WireValue):
    """One run of a solver on a problem. Sizes are in bytes; `lower_bound` is proved, and `known_peak` can be reached.

    For a problem of the library, `peak` is the value that its kind counts, and `fingerprint` identifies the problem.
    With the objective `cost`, `counts` is "cost": `peak` is the cost of the plan, `lower_bound` a lower bound on the
    cost, and there is no `curve`.

    `found_by` and `proved_by` name the solvers that found and proved the plan; older files call `found_by` `solved_by`.
    Times are those of solving alone, except `process_cpu_s`: the CPU time of the process and its children since their
    start. On a cluster, `begun` is the number of starts, which is above 1 if machines were lost.
    """

    instance: str
    solver: str
    seed: int
    time_limit_s: float
    outcome: Outcome
    message: str | None = None
    buffers: int | None = None
    peak: int | float | None = None
    lower_bound: int | float | None = None
    counts: Literal["cost"] | None = None
    known_peak: int | float | None = None
    fingerprint: str | None = None
    status: Status | None = None
    stop_reason: StopReason | None = None
    found_by: Annotated[str | None, Field(validation_alias=AliasChoices("found_by", "solved_by"))] = None
    proved_by: str | None = None
    wall_time_s: float | None = None
    cpu_time_s: float | None = None
    process_cpu_s: float | None = None
    peak_rss_bytes: int | None = None
    curve: tuple[Moment, ...] = ()
    started: str | None = None
    begun: int | None = None
    load_average: float | None = None
    machine: str | None = None
    version: str | None = None

    @property
    def is_valid(self) -> bool:
        """True if the run ended without a fault, even if it found no plan."""
        return self.outcome in ("plan", "none")

    @property
    def key(self) -> Key:
        """The key of the run (instance, solver, seed, time limit); repetitions of a run have the same key."""
        return (self.instance, self.solver, self.seed, self.time_limit_s)


def latest_rows(rows: Iterable[Result]) -> list[Result]:
    """Return the last row of each run; a repeated run replaces its earlier rows."""
    return list({row.key: row for row in rows}.values())


_CSV = ".csv"
"""The suffix of results as a table; a cell that is not text is written as JSON, and an empty one is a missing value."""


def _parts(kind: Any) -> set[Any]:
    return {kind}.union(*map(_parts, get_args(kind)))


_TEXTS = {
    name for name, row in Result.model_fields.items() if any(x is str or type(x) is str for x in _parts(row.annotation))
}


def _json_line(cells: dict[str, str]) -> bytes:
    parts = [(name, json.dumps(cell) if name in _TEXTS else cell) for name, cell in cells.items() if cell]
    return ("{" + ",".join(f"{json.dumps(name)}:{cell}" for name, cell in parts) + "}").encode()


def read_results(path: Path) -> list[Result]:
    """Return the rows of a results file; an incomplete last line is ignored. Raises FormatError for an invalid line."""
    try:
        lines = path.read_bytes().split(b"\n")[:-1]
    except OSError as error:
        raise FormatError(f"{path}: {error.strerror}") from error
    if path.suffix == _CSV and lines:
        if not lines[0].startswith(b"instance,solver,"):
            got = excerpt(lines[0].decode(errors="replace"))
            rule = f"must be rows of bench, with columns instance,solver,..., got {got}"
            raise FormatError(f"{path}: {rule}", way="name another file")
        usual = csv.field_size_limit(1 << 30)  # A curve has many moments; readers of other tables refuse such a field.
        lines = list(map(_json_line, csv.DictReader(line.decode(errors="replace") for line in lines)))
        csv.field_size_limit(usual)
    rows = []
    for number, line in enumerate(lines, start=1 + (path.suffix == _CSV)):
        try:
            rows.append(Result.model_validate_json(line))
        except ValidationError as error:
            where = f"{path}, line {number}: "
            raise FormatError(*(prefix_sentence(where, sentence) for sentence in sentences(error))) from error
    return rows


@contextmanager
def open_for_appending(path: Path) -> Iterator[tuple[list[Result], IO[bytes]]]:
    """Open a results file, remove an incomplete last line, and yield its rows and the file, opened for appending.

    Raises FormatError if the file cannot be written or is not a file of results.
    """
    try:
        file = path.open("a+b")
    except OSError as error:
        raise FormatError(f"{path}: {error.strerror}") from error
    with file:
        rows = read_results(path)
        file.seek(0)
        file.truncate(file.read().rfind(b"\n") + 1)
        yield rows, file


def write_result(file: IO[bytes], result: Result) -> None:
    """Append one row to a results file, as JSON or as CSV by its suffix, and flush the file."""
    if Path(str(file.name)).suffix != _CSV:
        file.write(result.model_dump_json(exclude_none=True).encode() + b"\n")
    else:
        values = result.model_dump(mode="json", exclude_none=True)
        cells = [values.get(name, "") for name in Result.model_fields]
        text = io.StringIO()
        if not file.tell():
            csv.writer(text, lineterminator="\n").writerow(Result.model_fields)
        row = [cell if isinstance(cell, str) else json.dumps(cell) for cell in cells]
        csv.writer(text, lineterminator="\n").writerow(row)
        file.write(text.getvalue().encode())
    file.flush()
