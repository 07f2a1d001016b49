"""Add problems to the library: python -m lab.library_problems LIBRARY KIND SOURCE FILE[:LIMIT]... [--time-limit S].

Each file becomes a problem of the library, named after its source and file, with its features. The best plan and the
certificate that memplan finds are submitted like those of users. A problem whose fingerprint is already in the library
is left unchanged, except with `--again`. Further options write other files of the library:

- `--tables`: the tables of the library's page, and the list of easy problems, which the ledger proves.
- `--version 1.1`: the version and the hash of the problem set.
"""

import argparse
import re
from collections import Counter, defaultdict
from datetime import date
from pathlib import Path

from lab.ledger.rows import read_rows
from lab.support.library_answers import WAYS, answer
from memplan.extensions.library.archives import write_file
from memplan.extensions.library.entries import EASY, PARTS, VERSION, Entry, ProblemLibrary
from memplan.extensions.library.fingerprints import features, fingerprint
from memplan.extensions.library.judging import KINDS
from memplan.extensions.library.submitting import Finder, submit
from memplan.planner import __version__


def add(library: ProblemLibrary, entry: Entry, data: bytes, time_limit_s: float, *, again: bool = False) -> str:
    """Add a problem to the library, or replace it if `again`; return a line that states the outcome."""
    same = [each.name for each in _listed_entries(library, entry.kind) if each.fingerprint == entry.fingerprint]
    if same and (same != [entry.name] or not again):
        return f"{entry.name}: is there as {same[0]}"
    if not same:
        write_file(library.problem(entry), data)
        library.put(entry)
    entry = next(each for each in _listed_entries(library, entry.kind) if each.name == entry.name)
    found = answer(entry.kind, library.problem(entry), entry.limit, time_limit_s)
    path = library.problem(entry).relative_to(library.folder.parent)
    finder = Finder(f"memplan {__version__}", found.command.replace("FILE", str(path)))
    words = []
    for text in (found.plan, found.proof if entry.kind != "fit" or found.plan is None else None):
        if text:
            verdict = submit(library, entry, text.encode(), finder)
            entry = verdict.entry
            words.append(f"{verdict.word} ({verdict.reason})")
    changes: dict[str, object] = {} if found.bound is None else {"claimed": found.bound}
    if KINDS[entry.kind].judge is None and found.plan:
        write_file(library.plan(entry), found.plan.encode())
        stamp = {"by": finder.by, "on": date.today().isoformat(), "command": finder.command}
        changes |= {"best": found.value, **stamp}
    if changes and entry.status != "proved":
        entry = entry.model_copy(update=changes)
        library.put(entry)
    return f"{entry.name}: {entry.status}, {entry.best}, bound {entry.bound or entry.claimed}; {', '.join(words)}"


def _listed_entries(library: ProblemLibrary, kind: str) -> list[Entry]:
    return library.entries(kind) if kind in library.kinds() else []


def new_entry(kind: str, source: str, path: Path, limit: int | None, origin: str | None) -> Entry:
    """Return a new library entry for the problem file `path`, with features, but without a plan and a bound."""
    data = path.read_bytes()
    stem = path.stem if path.stem.startswith(source) else f"{source}-{path.stem}"
    name = re.sub(r"[^a-z0-9_.-]+", "-", stem.lower())
    return Entry(
        name=name if limit is None else f"{name}-{limit}",
        kind=kind,
        problem="csv" if path.suffix == ".csv" else "json",
        source=source,
        origin=origin or path.name,
        fingerprint=fingerprint(kind, data, path.name, limit),
        limit=limit,
        features=features(kind, data, path.name),
    )


def path_and_limit(path: Path) -> tuple[Path, int | None]:
    """Return (file, limit or None) for a word such as `a.csv:4096`."""
    name, is_limited, limit = str(path).rpartition(":")
    return (Path(name), int(limit)) if is_limited else (path, None)


def easy_names(library: ProblemLibrary) -> list[str]:
    """Return the names of the proved problems that memplan alone proves with every seed, according to the ledger."""
    ranks: dict[str, int] = defaultdict(int)
    for row in read_rows().values():
        name = row.name.partition("#")[0]
        ranks[name] = max(ranks[name], row.answer.rank)
    return sorted(
        entry.name
        for entry in library.entries()
        if entry.status == "proved" and ranks.get(f"{entry.kind}/{entry.name}", 1) == 0
    )


def write_tables(library: ProblemLibrary, text: str) -> str:
    """Return the text of the library's page with its tables replaced: a row per kind, and gaps of open problems."""
    rows = [
        "| kind | what is the least | problems | easy | hard | open | proved | of these nothing fits | claimed |",
        "|" + "---|" * 9,
    ]
    groups = [{entry.name for entry in library.select([part])} for part in PARTS]
    for name, kind in KINDS.items():
        found = _listed_entries(library, name)
        counts = Counter(entry.status for entry in found)
        unfit = sum(entry.is_infeasible for entry in found)
        parts = [len(names & {entry.name for entry in found}) for names in groups]
        cells = (len(found), *parts, counts["proved"], unfit, counts["claimed"])
        if found:
            rows.append(f"| [`{name}`]({name}/README.md) | {kind.least} | " + " | ".join(map(str, cells)) + " |")
    total, statuses = library.entries(), Counter(entry.status for entry in library.entries())
    unfit = sum(entry.is_infeasible for entry in total)
    cells = (len(total), *map(len, groups), statuses["proved"], unfit, statuses["claimed"])
    rows.append("| all | | " + " | ".join(map(str, cells)) + " |")
    open_rows = ["| kind | open | smallest and largest gap |", "|---|---|---|"]
    for name in KINDS:
        gaps = sorted(
            entry.gap for entry in _listed_entries(library, name) if entry.status == "open" and entry.gap is not None
        )
        count = sum(entry.status == "open" for entry in _listed_entries(library, name))
        if count:
            open_rows.append(
                f"| `{name}` | {count} | " + (f"{gaps[0]:.1%}, {gaps[-1]:.1%}" if gaps else "no bound") + " |"
            )
    for mark, lines in (("table", rows), ("open", open_rows)):
        end = "<!-- end -->" if mark == "table" else "<!-- end open -->"
        begin, rest = text.split(f"<!-- {mark} -->")[0], text.split(end)[1]
        text = f"{begin}<!-- {mark} -->\n" + "\n".join(lines) + f"\n{end}{rest}"
    return text


def main() -> None:
    """Add problems or write the files that the arguments name, as the module's docstring describes."""
    parser = argparse.ArgumentParser(description="Problems for the library.")
    parser.add_argument("library", type=Path)
    parser.add_argument("kind", nargs="?", choices=WAYS)
    parser.add_argument("source", nargs="?")
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--origin")
    parser.add_argument("--time-limit", type=float, default=5.0)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--tables", action="store_true")
    parser.add_argument("--version")
    given = parser.parse_args()
    library = ProblemLibrary(given.library)
    if given.version:
        (given.library / VERSION).write_text(f"{given.version} {library.digest()}\n")
    if given.tables:
        (given.library / f"{EASY}.txt").write_text("\n".join(easy_names(library)) + "\n")
        page = given.library / "README.md"
        page.write_text(write_tables(library, page.read_text()))
    for path in given.files:
        path, limit = path_and_limit(path)
        entry = new_entry(given.kind, given.source, path, limit, given.origin)
        print(add(library, entry, path.read_bytes(), given.time_limit, again=given.again), flush=True)


if __name__ == "__main__":
    main()
