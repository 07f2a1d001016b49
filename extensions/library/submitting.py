"""Submissions of plans and certificates to the library: independent checkers check each, and a verdict is returned."""

from dataclasses import dataclass
from datetime import date
from typing import Literal

from memplan.extensions.library.archives import write_file
from memplan.extensions.library.entries import Entry, ProblemLibrary
from memplan.extensions.library.judging import KINDS, BrokenRuleError, judge_plan, prove_certificate
from memplan.planner.errors import FormatError, InputError

Word = Literal["better, added", "not better", "refused", "wrong format"]
_CERTIFICATES = (b"memplan-lemmas/", b"memplan-order/")


@dataclass(frozen=True)
class Verdict:
    """The verdict on a submission: `word` with its `reason` (a sentence), and the problem's resulting entry."""

    word: Word
    reason: str
    entry: Entry


@dataclass(frozen=True)
class Finder:
    """Who found the submitted plan or certificate, and by which command."""

    by: str | None
    command: str | None


def submit(library: ProblemLibrary, entry: Entry, data: bytes, finder: Finder) -> Verdict:
    """Check a submitted plan or certificate of a problem, add it to the library if it is better, return the verdict."""
    try:
        text = data.decode()
        problem = library.problem(entry).read_bytes().decode()
        take = _add_better_certificate if data.startswith(_CERTIFICATES) else _add_better_plan
        better, reason = take(library, entry, problem, text)
    except BrokenRuleError as error:
        return Verdict("refused", str(error), entry)
    except (FormatError, UnicodeDecodeError) as error:
        return Verdict("wrong format", str(error), entry)
    if better is None:
        return Verdict("not better", reason, entry)
    stamp = {"by": finder.by, "on": date.today().isoformat(), "command": finder.command}
    better = better.model_copy(update=stamp)
    library.put(better)
    return Verdict("better, added", reason, better)


def _add_better_plan(library: ProblemLibrary, entry: Entry, problem: str, text: str) -> tuple[Entry | None, str]:
    """Check a plan, and store it if it is better; return its entry (None if not stored) and a sentence."""
    value, floor = judge_plan(KINDS[entry.kind], problem, text, entry.limit)
    if entry.is_infeasible:
        raise InputError(
            f"{entry.name}: must not have a plan, because a certificate proves that nothing fits; one checker is wrong"
        )
    if entry.best is not None and value >= entry.best:
        return None, f"it has {value:,}, {entry.best:,} is known"
    if entry.bound is not None:
        _require_bound_below_plan(entry, value, entry.bound)
    write_file(library.plan(entry), text.encode())
    before_text = "none was known" if entry.best is None else f"{entry.best:,} was known"
    bound = max((each for each in (entry.bound, floor) if each is not None), default=None)
    return entry.model_copy(update={"best": value, "bound": bound}), f"it has {value:,}, {before_text}"


def _add_better_certificate(library: ProblemLibrary, entry: Entry, problem: str, text: str) -> tuple[Entry | None, str]:
    """Check a certificate, and return (entry with the certified bound, sentence about the bound).

    The entry is None if the bound does not improve on the entry's known bound.
    """
    bound = prove_certificate(KINDS[entry.kind], problem, text, entry.limit)
    bound_text = "nothing fits" if bound is None else f"no plan has less than {bound:,}"
    bound_before, is_first = entry.bound, not library.proof(entry).exists()
    if entry.is_infeasible or (
        bound is not None and bound_before is not None and bound < bound_before + (not is_first)
    ):
        return None, f"{bound_text}: that is known"
    if entry.best is not None:
        _require_bound_below_plan(entry, entry.best, bound)
    write_file(library.proof(entry), text.encode())
    return entry.model_copy(update={"bound": bound, "is_infeasible": bound is None}), bound_text


def _require_bound_below_plan(entry: Entry, best: float, bound: float | None) -> None:
    """Raise InputError if a plan's value `best` is below a certified bound, because one checker must be wrong."""
    if bound is None or best < bound:
        raise InputError(
            f"{entry.name}: must not have a plan of {best:,}, which is below a certified bound; one checker is wrong"
        )
