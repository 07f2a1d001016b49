"""Runs of anybody's planner on problems of the library: a command line for each, its plan checked without memplan.

A run is solved where the plan is at least as good as the best known one, or where the planner says of a problem of
which it is proved that nothing fits. A plan that is valid and worse is one, but does not count as solved.
"""

from __future__ import annotations

import contextlib
import csv
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path

from memplan_bench.measuring import machine

from memplan.planner.errors import FormatError, OptionError, shown
from memplan_library.entries import Entry, ProblemLibrary
from memplan_library.judging import KINDS, BrokenRuleError, judged

GRACE_S = 5.0
"""Seconds after its time limit at which a planner is killed."""
SOLVED = ("solved", "better")
_WORDS = ("problem", "out", "seconds", "capacity", "limit", "kind")


@dataclass(frozen=True)
class Row:
    """A run: a planner on a problem, which the fingerprint names in any checkout. Times are seconds.

    outcome: solved; better than what was known; plan, a valid one that is worse; wrong, of a claim that nothing fits;
        none; invalid; late; failed.
    """

    fingerprint: str
    kind: str
    name: str
    planner: str
    limit_s: float
    outcome: str
    value: float | None
    best: float | None
    bound: float | None
    wall_s: float
    cpu_s: float
    load: float
    day: str
    machine: str
    message: str


@dataclass(frozen=True)
class Planner:
    """A planner by its command line.

    name: its name in rows.
    template: the command, with the words {problem}, {out}, {seconds}, {capacity}, {limit} and {kind}.
    infeasible_status: the exit status by which it says that nothing fits; None where it has none.
    """

    name: str
    template: str
    infeasible_status: int | None = None

    def suits(self, entry: Entry) -> bool:
        """Return True where plans can be judged, and there is a capacity if the command asks for one."""
        return KINDS[entry.kind].judge is not None and ("{capacity}" not in self.template or entry.capacity is not None)

    def line(self, entry: Entry, problem: Path, out: Path, limit_s: float) -> list[str]:
        """Return the words of the command for a problem; raises OptionError for a template that is none."""
        values = (problem, out, limit_s, _digits(entry.capacity), _digits(entry.limit), entry.kind)
        try:
            return [word.format(**dict(zip(_WORDS, values, strict=True))) for word in shlex.split(self.template)]
        except (KeyError, IndexError, ValueError):
            names = ", ".join(f"{{{word}}}" for word in _WORDS)
            raise OptionError(f"command: must have no braces but {names}, got {shown(self.template)}") from None


def _digits(value: float | None) -> str:
    return "" if value is None else f"{value:g}" if value % 1 else str(int(value))


def run(
    library: ProblemLibrary, wanted: Iterable[Entry], planner: Planner, limit_s: float, better: Path
) -> Iterator[Row]:
    """Yield a row for each problem, one after the other; plans that are better than what was known go to `better`."""
    for entry in wanted:
        load, day = round(os.getloadavg()[0], 2), datetime.now(UTC).date().isoformat()
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder, library.plan(entry).name)
            line = planner.line(entry, library.problem(entry).resolve(), out, limit_s)
            status, wall_s, cpu_s, words = _measured(line, limit_s + GRACE_S)
            outcome, value, message = _outcome(library, entry, planner, out, status, words)
            if outcome == "better":
                better.mkdir(parents=True, exist_ok=True)
                better_folder = better / f"{entry.kind}-{out.name}"
                shutil.copyfile(out, better_folder)
                message = f"{message}; submit {better_folder}"
        yield Row(
            fingerprint=entry.fingerprint,
            kind=entry.kind,
            name=entry.name,
            planner=planner.name,
            limit_s=limit_s,
            outcome=outcome,
            value=value,
            best=entry.best,
            bound=entry.bound,
            wall_s=round(wall_s, 4),
            cpu_s=round(cpu_s, 4),
            load=load,
            day=day,
            machine=machine(),
            message=message,
        )


def _measured(line: list[str], most_s: float) -> tuple[int | None, float, float, str]:
    """Run a command; return its status (None where it was killed), wall and CPU time, and its last words."""
    begin = time.monotonic()
    with tempfile.TemporaryFile() as words:
        try:
            child = subprocess.Popen(line, stdout=words, stderr=words, stdin=subprocess.DEVNULL, start_new_session=True)
        except OSError as error:
            raise OptionError(f"command: {line[0]}: {error.strerror}") from error
        is_late = False
        while (done := os.wait4(child.pid, os.WNOHANG))[0] == 0:
            if time.monotonic() - begin > most_s and not is_late:
                is_late = True
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
            time.sleep(0.002)
        wall_s = time.monotonic() - begin
        child.returncode = os.waitstatus_to_exitcode(done[1])
        words.seek(max(0, words.seek(0, os.SEEK_END) - 300))
        text = " ".join(words.read().decode(errors="replace").split())
    return None if is_late else child.returncode, wall_s, done[2].ru_utime + done[2].ru_stime, text


def _outcome(
    library: ProblemLibrary, entry: Entry, planner: Planner, out: Path, status: int | None, said: str
) -> tuple[str, float | None, str]:
    """Return what came of a run: a word, the value of its plan, and what is to be said of it."""
    if status is None:
        return "late", None, f"killed {GRACE_S:g} s after its limit"
    if status == planner.infeasible_status:  # whatever it writes then
        if entry.best is not None:
            return "wrong", None, "it says that nothing fits, and a plan is known"
        return ("solved" if entry.is_infeasible else "none"), None, "it says that nothing fits"
    if not out.exists() or not out.stat().st_size:
        return ("failed" if status else "none"), None, said
    try:
        problem = library.problem(entry).read_bytes().decode()
        value, _ = judged(KINDS[entry.kind], problem, out.read_bytes().decode(), entry.limit)
    except (BrokenRuleError, FormatError, UnicodeDecodeError) as error:
        return "invalid", None, str(error)
    if entry.best is None or value < entry.best:
        return "better", value, "none was known" if entry.best is None else f"{entry.best:,} was known"
    return ("solved" if value == entry.best else "plan"), value, ""


def write_rows(path: Path, rows: Iterable[Row]) -> Iterator[Row]:
    """Append rows to a table, one at a time, and yield them."""
    names = [field.name for field in fields(Row)]
    with path.open("a", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, names, lineterminator="\n")
        if not file.tell():
            table.writeheader()
        for row in rows:
            table.writerow({name: "" if value is None else value for name, value in asdict(row).items()})
            file.flush()
            yield row


def read_rows(path: Path) -> list[Row]:
    """Read a table of rows, the latest of each planner, problem and limit; raises FormatError."""
    latest: dict[tuple[str, str, float], Row] = {}
    with path.open(newline="", encoding="utf-8") as file:
        for number, cells in enumerate(csv.DictReader(file), start=2):
            try:
                row = _row(cells)
            except (TypeError, ValueError, KeyError) as error:
                raise FormatError(f"{path}, line {number}: is no row of a run: {error}") from error
            latest[row.planner, row.fingerprint, row.limit_s] = row
    return list(latest.values())


def _row(cells: dict[str, str]) -> Row:
    numbers = {name: float(cells[name]) for name in ("limit_s", "wall_s", "cpu_s", "load")}
    values = {name: float(cells[name]) if cells[name] else None for name in ("value", "best", "bound")}
    return Row(**{**cells, **numbers, **values})  # type: ignore[arg-type]  # all that are left are texts
