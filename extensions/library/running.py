"""Benchmark runs of any planner (a command line) on problems of the library; independent checkers check its plans.

The rows are those of bench, which summarises them. A plan is optimal if it has the proved bound of its problem.
"""

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memplan.extensions.bench.measuring import machine
from memplan.extensions.bench.results import Result
from memplan.extensions.bench.summary import outcome_word
from memplan.extensions.library.entries import Entry, ProblemLibrary
from memplan.extensions.library.judging import KINDS, BrokenRuleError, judge_plan
from memplan.planner.errors import FormatError, OptionError, excerpt

GRACE_S = 5.0
"""The seconds after the time limit at which a planner's process is killed."""
_WORDS = ("problem", "out", "seconds", "capacity", "limit", "kind")


@dataclass(frozen=True)
class Planner:
    """A planner that runs as a command line.

    name: its name in result rows.
    template: the command, with the placeholders {problem}, {out}, {seconds}, {capacity}, {limit} and {kind}.
    infeasible_status: the exit status that means that nothing fits, or None.
    """

    name: str
    template: str
    infeasible_status: int | None = None

    def suits(self, entry: Entry) -> bool:
        """Return True if a checker supports the entry's kind, and the entry has a capacity if the command needs one."""
        return KINDS[entry.kind].judge is not None and ("{capacity}" not in self.template or entry.capacity is not None)

    def line(self, entry: Entry, problem: Path, out: Path, limit_s: float) -> list[str]:
        """Return the words of the planner's command for one problem. Raises OptionError for an invalid template."""
        values = (problem, out, limit_s, _number_text(entry.capacity), _number_text(entry.limit), entry.kind)
        try:
            return [word.format(**dict(zip(_WORDS, values, strict=True))) for word in shlex.split(self.template)]
        except (KeyError, IndexError, ValueError):
            names = ", ".join(f"{{{word}}}" for word in _WORDS)
            raise OptionError(
                f"command: must have only the placeholders {names}, got {excerpt(self.template)}"
            ) from None


def _number_text(value: float | None) -> str:
    """Return a number as text, without a fraction if it is whole; empty for None."""
    return "" if value is None else f"{value:g}" if value % 1 else str(int(value))


def run(
    library: ProblemLibrary, wanted: Iterable[Entry], planner: Planner, limit_s: float, better: Path
) -> Iterator[Result]:
    """Run a planner on each problem and yield each run's Result; copy better plans than the best known to `better`."""
    for entry in wanted:
        load, started = round(os.getloadavg()[0], 2), datetime.now(UTC).isoformat(timespec="seconds")
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder, library.plan(entry).name)
            line = planner.line(entry, library.problem(entry).resolve(), out, limit_s)
            status, wall_s, cpu_s, words = _measure_command(line, limit_s + GRACE_S)
            row = Result(
                instance=f"{entry.kind}/{entry.name}",
                solver=planner.name,
                seed=0,
                time_limit_s=limit_s,
                lower_bound=entry.bound,
                known_peak=entry.best,
                fingerprint=entry.fingerprint,
                wall_time_s=round(wall_s, 4),
                cpu_time_s=round(cpu_s, 4),
                started=started,
                load_average=load,
                machine=machine(),
                **_outcome_fields(library, entry, planner, out, status, words),
            )
            if is_better(row):
                better.mkdir(parents=True, exist_ok=True)
                kept = better / f"{entry.kind}-{out.name}"
                shutil.copyfile(out, kept)
                row = row.model_copy(update={"message": f"{row.message}; submit {kept}"})
        yield row


def is_better(row: Result) -> bool:
    """Return True if a run's plan is better than the best known plan of its problem."""
    return row.outcome == "plan" and row.peak is not None and (row.known_peak is None or row.peak < row.known_peak)


def word_of(row: Result) -> str:
    """Return the outcome of a run as one word: "better", or else the word of bench's report."""
    return "better" if is_better(row) else outcome_word(row)


def _measure_command(line: list[str], most_s: float) -> tuple[int | None, float, float, str]:
    """Run a command; return (exit status or None if killed, wall seconds, CPU seconds, end of the output)."""
    begin = time.monotonic()
    with tempfile.TemporaryFile() as words:
        try:
            child = subprocess.Popen(line, stdout=words, stderr=words, stdin=subprocess.DEVNULL, start_new_session=True)
        except OSError as error:
            raise OptionError(f"command: must start, but {line[0]} failed: {error.strerror}") from error
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


def _outcome_fields(
    library: ProblemLibrary, entry: Entry, planner: Planner, out: Path, status: int | None, said: str
) -> dict[str, Any]:
    """Return the Result fields about the outcome of a run: a checked plan, a claim of infeasibility, or a failure."""
    if status is None:
        return {"outcome": "late", "message": f"killed {GRACE_S:g} s after its limit"}
    if status == planner.infeasible_status:  # The planner claims that nothing fits, so ignore its offsets.
        if entry.best is not None:
            return {"outcome": "invalid", "message": "it says that nothing fits, and a plan is known"}
        known = "infeasible" if entry.is_infeasible else "unknown"
        return {"outcome": "none", "status": known, "message": "it says that nothing fits"}
    if not out.exists() or not out.stat().st_size:
        return {"outcome": "failed" if status else "none", "message": said}
    try:
        problem = library.problem(entry).read_bytes().decode()
        value, _ = judge_plan(KINDS[entry.kind], problem, out.read_bytes().decode(), entry.limit)
    except (BrokenRuleError, FormatError, UnicodeDecodeError) as error:
        return {"outcome": "invalid", "message": str(error)}
    facts = {"outcome": "plan", "status": "optimal" if value == entry.bound else "feasible", "peak": value}
    if entry.best is None or value < entry.best:
        facts["message"] = "none was known" if entry.best is None else f"{entry.best:,} was known"
    return facts
