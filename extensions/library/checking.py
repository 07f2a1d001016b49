"""The check of the library: its fingerprints, and its plans and certificates by checkers independent of memplan."""

from collections.abc import Iterable, Iterator

from memplan.extensions.library.entries import VERSION, Entry, ProblemLibrary
from memplan.extensions.library.fingerprints import fingerprint
from memplan.extensions.library.judging import KINDS, BrokenRuleError, judge_plan, prove_certificate
from memplan.planner.errors import FormatError

_LARGE = 200_000
"""The fast check skips certificates with more bytes than this."""


def check(
    library: ProblemLibrary, wanted: Iterable[Entry], *, is_fast: bool = False
) -> Iterator[tuple[Entry, list[str]]]:
    """Check entries; yield each with sentences about its faults. If `is_fast`, large certificates are skipped."""
    names: set[str] = set()
    for entry in wanted:
        faults = list(_faults_of_entry(library, entry, is_fast))
        if entry.name in names:
            faults.append("another problem has its name")
        names.add(entry.name)
        yield entry, faults


def version_fault(library: ProblemLibrary) -> str | None:
    """Return a sentence if the library's recorded hash differs from the hash of its problems, else None."""
    version = library.version()
    if version is None or version.partition(" ")[2] == library.digest():
        return None
    return (
        f"{VERSION}: {version} does not have the problems' hash {library.digest()}, so the library needs a new version"
    )


def _faults_of_entry(library: ProblemLibrary, entry: Entry, is_fast: bool) -> Iterator[str]:
    """Yield sentences about the faults of an entry's fingerprint, plan and certificate."""
    kind, path = KINDS[entry.kind], library.problem(entry)
    try:
        data = path.read_bytes()
        if fingerprint(entry.kind, data, path.name, entry.limit) != entry.fingerprint:
            yield "the recorded fingerprint differs from that of the file"
        text, floor = data.decode(), None
        if entry.best is not None:
            plan = library.plan(entry).read_bytes().decode()
            if kind.judge is not None:
                value, floor = judge_plan(kind, text, plan, entry.limit)
                if value != entry.best:
                    yield f"its plan has the value {value}, not {entry.best}"
        proof = library.proof(entry)
        if not proof.exists():
            if entry.is_infeasible or (entry.bound is not None and entry.bound != floor):
                yield "its bound has no certificate"
        elif not (is_fast and proof.stat().st_size > _LARGE):
            verdict = prove_certificate(kind, text, proof.read_bytes().decode(), entry.limit)
            if verdict is None and not entry.is_infeasible:
                yield "its certificate says that nothing fits"
            if verdict is not None and entry.bound != max(verdict, floor or 0):
                yield f"its certificate proves {verdict}, not {entry.bound}"
    except (OSError, FormatError, BrokenRuleError, UnicodeDecodeError) as error:
        yield str(error)
