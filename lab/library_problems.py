"""Problems for the library: python -m lab.library_problems LIBRARY KIND SOURCE FILE... [--limit N] [--time-limit S].

Each file becomes a problem of the library, named after source and file, with its features; the best plan and the
certificate that memplan finds are submitted as anybody's are. A problem that is there already, by its fingerprint, is
left as it is. `python -m lab.library_problems LIBRARY --choose 120` writes the benchmark: of each kind a share, each
next problem the one farthest by its features from those chosen.
"""

from __future__ import annotations

import argparse
import math
import re
from collections import defaultdict
from datetime import date
from pathlib import Path

from lab.support.library_answers import WAYS, answer
from memplan.api.library.entries import BENCHMARK, Entry, ProblemLibrary, write_file
from memplan.api.library.fingerprints import features, fingerprint
from memplan.api.library.judging import KINDS
from memplan.api.library.submitting import Finder, submit
from memplan.planner import __version__


def add(library: ProblemLibrary, entry: Entry, data: bytes, time_limit_s: float) -> str:
    """Add a problem to the library, and return what became of it in a line."""
    same = [each.name for each in _known(library, entry.kind) if each.fingerprint == entry.fingerprint]
    if same and same != [entry.name]:
        return f"{entry.name}: is {same[0]}"
    if not same:
        write_file(library.problem(entry), data)
        library.put(entry)
    entry = next(each for each in _known(library, entry.kind) if each.name == entry.name)
    found = answer(entry.kind, library.problem(entry), entry.limit, time_limit_s)
    path = library.problem(entry).relative_to(library.folder.parent)
    finder = Finder(f"memplan {__version__}", found.command.replace("FILE", str(path)))
    words = []
    for text in (found.plan, found.proof):
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


def _known(library: ProblemLibrary, kind: str) -> list[Entry]:
    return library.entries(kind) if kind in library.kinds() else []


def new_entry(kind: str, source: str, path: Path, limit: int | None, origin: str | None) -> Entry:
    """Return the entry of a file of which nothing is known."""
    data = path.read_bytes()
    name = re.sub(r"[^a-z0-9_.-]+", "-", f"{source}-{path.stem}".lower())
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


def chosen(library: ProblemLibrary, count: int) -> list[str]:
    """Return the names of the benchmark: as many of each kind as there are, or a share."""
    groups: dict[str, list[Entry]] = defaultdict(list)
    for entry in library.entries():
        groups[entry.kind].append(entry)
    found: list[str] = []
    for k, (_, rows) in enumerate(sorted(groups.items(), key=lambda item: len(item[1]))):
        share = min(len(rows), (count - len(found)) // (len(groups) - k))
        found += spread(rows, share)
    return sorted(found)


def spread(rows: list[Entry], count: int) -> list[str]:
    """Return the names of so many problems that differ in their features and in what is known of them."""
    points = {row.name: _point(row) for row in rows}
    taken = [max(rows, key=lambda row: sum(points[row.name])).name][:count]
    while len(taken) < count:
        rest = [name for name in points if name not in taken]
        taken.append(max(rest, key=lambda name: min(math.dist(points[name], points[other]) for other in taken)))
    return taken


def _point(row: Entry) -> list[float]:
    known = [4.0 * row.is_infeasible, 4.0 * (row.status == "open"), math.log2(1 + (row.gap or 0)) * 8]
    return [*(math.log2(1 + value) for value in row.features.values()), *known]


def main() -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(description="Problems for the library.")
    parser.add_argument("library", type=Path)
    parser.add_argument("kind", nargs="?", choices=WAYS)
    parser.add_argument("source", nargs="?")
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--origin")
    parser.add_argument("--time-limit", type=float, default=5.0)
    parser.add_argument("--choose", type=int)
    given = parser.parse_args()
    library = ProblemLibrary(given.library)
    if given.choose:
        (given.library / f"{BENCHMARK}.txt").write_text("\n".join(chosen(library, given.choose)) + "\n")
    for path in given.files:
        entry = new_entry(given.kind, given.source, path, given.limit, given.origin)
        print(add(library, entry, path.read_bytes(), given.time_limit), flush=True)


if __name__ == "__main__":
    main()
