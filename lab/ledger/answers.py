"""What a command of memplan answers to a question of the ledger: status, values, bound, and who found and proved it."""

from __future__ import annotations

import io
import json
import resource
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest.mock import patch

from lab.ledger.rows import Answer
from lab.support import hard_suite
from memplan.api.cli.main import main
from memplan.solvers.portfolio import stages

ROOT = Path(__file__).parents[2]
GIVEN = ROOT.parent / "shared"
WORK_PER_S = 50_000
"""Units of work that `--deterministic` spends for a second of the time limit."""
_FOLDERS = {"given": GIVEN / "instances", "library": ROOT / "library", "own": Path(__file__).parent / "problems"}
_CLOCK_S = 100
"""The time limit of commands that know no `--deterministic`, which need less."""


class UnansweredError(Exception):
    """A command failed, or gave an answer that a clock had a say in."""


def ask(command: str, work: int | None, without: str = "") -> Answer:
    """Run a command of memplan, in counted work where it can be counted, perhaps without one of the searches.

    Raises UnansweredError.
    """
    before, suits = _cpu_s(), stages._suits  # the one place where a search is chosen
    with patch.object(stages, "_suits", lambda row, instance: row.name != without and suits(row, instance)):
        if command.startswith("hard-suite "):
            most = work or hard_suite.NODES
            nodes, ppm = hard_suite.cost(hard_suite.problem(command.partition(" ")[2]), most)
            status = "optimal" if ppm == 0 or nodes < most else "feasible"
            return Answer(status, [ppm], None, ["exact"], _cpu_s() - before)
        fields = _answered(command, work)
    status, values, bound = _facts(command.split()[0], fields)
    if "--accept fit" in command and values:
        status, values, bound = "fits", [], None
    proof = fields.get("proof")  # of a schedule it is a word
    by = [str(fields.get("solver") or "").split(":")[0], proof.get("by") if isinstance(proof, dict) else None]
    return Answer(status, values, bound, list(filter(None, by)), _cpu_s() - before)


def is_here(command: str) -> bool:
    """Return False where the problem is in a folder beside the repository that this machine has not."""
    return GIVEN.is_dir() or not ("given:" in command or "generated:" in command)


def _answered(command: str, work: int | None) -> dict[str, Any]:
    """Return what a command writes as JSON."""
    with _line(command) as words, tempfile.TemporaryDirectory() as folder:
        counted = [] if work is None else ["--deterministic"]
        limit = ["--time-limit", f"{_CLOCK_S if work is None else work / WORK_PER_S:g}"]
        out = Path(folder, "answer.json")
        with redirect_stdout(io.TextIOWrapper(io.BytesIO())), redirect_stderr(io.StringIO()) as errors:
            status = main([*words, *limit, *counted, "-o", str(out)])
        if status > 1 or not out.exists():
            raise UnansweredError(f"{shlex.join(words)}: exit status {status}: {errors.getvalue().strip()[-300:]}")
        fields: dict[str, Any] = json.loads(out.read_text())
    if fields.get("reproducible") is False:
        raise UnansweredError(f"{shlex.join(words)}: a clock had a say ({fields['disturbed_by']})")
    return fields


def _facts(question: str, fields: dict[str, Any]) -> tuple[str, list[float], float | None]:
    """Return the status of an answer, its values and the bound of the first of them."""
    status = fields.get("status", "feasible")
    if question == "shapes":
        return status, [round(fields["proof"]["worst_ratio"], 6), len(fields["programs"])], None
    if question == "cascade":
        return status, [fields["points"][-1]["peak"]], None
    if question == "schedule":
        return status, [fields["latency"]], fields["lower_bound"]
    if fields.get("recomputed"):
        return status, [min(point["live_peak"] for point in fields["recomputed"]["points"])], None
    if question == "order":
        return status, [fields["peak"]], fields["lower_bound"]
    if "objects" in fields:
        return status, [fields["total"]], fields["lower_bound"]
    if not fields["placements"]:
        return status, [], None
    if fields.get("heaps"):
        return status, [len(fields["pools"]), fields["peak"]], fields["heaps"]["least"]
    if fields.get("kept"):
        return status, [fields["kept"]["moved"], fields["peak"]], None
    if fields.get("others"):
        return status, [fields["cost"], *(plan["cost"] for plan in fields["others"]["plans"])], None
    if fields["cost"] is not None:
        return status, [fields["cost"]], fields["cost_lower_bound"]
    if len(fields["pools"]) > 1:
        return status, [pool["used"] for pool in reversed(fields["pools"])], None
    return status, [fields["peak"]], fields["lower_bound"]


@contextmanager
def _line(command: str) -> Iterator[list[str]]:
    """Yield the words of a command with the files of what it names by `hard:NAME` or `generated:N,SEED,ALPHA,SIGMA`."""
    with tempfile.TemporaryDirectory() as folder:
        words = shlex.split(command)
        for k, word in enumerate(words):
            kind, _, name = word.partition(":")
            file = Path(folder, "problem.csv")
            if kind == "hard":
                table = hard_suite.problem(name).buffers
                rows = zip(range(len(table)), table.start, table.end, table.size, strict=True)
                file.write_text("id,lower,upper,size\n" + "".join(f"{i},{a},{b},{size}\n" for i, a, b, size in rows))
            elif kind == "generated":
                program = [sys.executable, str(GIVEN / "trials" / "generate.py"), *name.split(",")]
                file.write_bytes(subprocess.run(program, check=True, capture_output=True).stdout)
            if kind in ("hard", "generated", *_FOLDERS):
                words[k] = str(_FOLDERS[kind] / name if kind in _FOLDERS else file)
        yield words


def _cpu_s() -> float:
    """Return the processor seconds of this process and of its children that ended."""
    uses = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(use.ru_utime + use.ru_stime for use in uses)
