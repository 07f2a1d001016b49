"""The tables of the library: each kind of problems has a folder with the table `index.jsonl` (one line per problem).

The files of the problems are in an archive next to the table, which is unpacked when a file is first needed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from memplan.extensions.library.archives import pack, unpack
from memplan.files import os_errors_named, write_file_atomically
from memplan.planner.errors import FormatError, OptionError, excerpt, prefix_sentence, sentences
from memplan.planner.model.rows import WireValue

INDEX = "index.jsonl"
BENCHMARK = "benchmark"
"""The name of the group of problems for benchmarks, which are listed in the file `benchmark.txt`."""
EASY = "easy"
"""The name of the group of problems that memplan solves with proof in seconds, which are listed in `easy.txt`."""
PARTS = (EASY, "hard", "open")
VERSION = "LIBRARY_VERSION"
"""The name of the file that records the version of the library's problem set and the hash of all problems."""
EntryStatus = Literal["proved", "claimed", "open"]


class Entry(WireValue):
    """The known facts about a problem.

    name: the name of the problem in lower case, which is also the name of its files.
    kind: the kind of problem, which is also the name of its folder.
    problem: the suffix of the problem file.
    source: the key of the problem's source in `sources.jsonl`; `origin` is the file or rule there.
    fingerprint: a hash of the problem that does not depend on names or on the order of rows.
    limit: depending on the kind, the bytes of the pool or of a heap, or the allowed cost of repeated operations.
    features: counts, sums and shares by which results are grouped.
    best: the least value of a known plan, or None if no plan is known.
    bound: the lower bound that a certificate or a checker proves; None if `is_infeasible`.
    claimed: the lower bound that the program in `command` claims.
    by, on, command: who found the best plan or proof, on which day, and by which command.
    """

    name: str
    kind: str
    problem: Literal["csv", "json"]
    source: str
    origin: str
    fingerprint: str
    limit: int | None = None
    features: dict[str, int | float]
    best: int | float | None = None
    bound: int | float | None = None
    claimed: int | float | None = None
    is_infeasible: bool = False
    by: str | None = None
    on: str | None = None
    command: str | None = None

    @property
    def status(self) -> EntryStatus:
        """`proved` if a checker confirms that no plan is better, `claimed` if only a planner says so, else `open`."""
        if self.is_infeasible or (self.best is not None and self.bound is not None and self.best <= self.bound):
            return "proved"
        return "claimed" if self.best is not None and self.claimed is not None and self.best <= self.claimed else "open"

    @property
    def capacity(self) -> float | None:
        """The problem's limit; without a limit, the best known value, or None if this is 0 or unknown."""
        return self.limit if self.limit is not None else self.best or None

    @property
    def gap(self) -> float | None:
        """The best value divided by the higher of both lower bounds, minus 1; None if no bound is above 0."""
        bound = max(self.bound or 0, self.claimed or 0)
        return self.best / bound - 1 if self.best is not None and bound else None


@dataclass(frozen=True)
class ProblemLibrary:
    """The library of problems that is stored in a folder: its tables, files and groups."""

    folder: Path

    def kinds(self) -> list[str]:
        """Return the names of all kinds of problems in the library."""
        return sorted(path.parent.name for path in self.folder.glob(f"*/{INDEX}"))

    def entries(self, kind: str | None = None) -> list[Entry]:
        """Return the entries of a kind, or of all kinds. Raises FormatError for an invalid line in a table."""
        return [entry for each in ([kind] if kind else self.kinds()) for entry in self._read_entries(each)]

    def _read_entries(self, kind: str) -> Iterator[Entry]:
        """Yield the entries in the table of a kind. Raises FormatError for an invalid line."""
        path = self.folder / kind / INDEX
        with os_errors_named(str(path)):
            lines = path.read_bytes().splitlines()
        for number, line in enumerate(lines, start=1):
            try:
                yield Entry.model_validate_json(line)
            except ValidationError as error:
                raise FormatError(
                    *(prefix_sentence(f"{path}, line {number}: ", text) for text in sentences(error))
                ) from error

    def select(self, words: Sequence[str]) -> list[Entry]:
        """Return the entries that words select: a kind, a name, `benchmark`, `easy`, `hard`, `open`, or `WORD/KIND`.

        Without words, return all entries. Raises OptionError for a word that selects no entry.
        """
        everything = self.entries()
        if not words:
            return everything
        stands_for: dict[str, set[str]] = {entry.name: {entry.name} for entry in everything}
        groups = {BENCHMARK: self.names(BENCHMARK), **self._names_by_part(everything)}
        for entry in everything:
            inside = [word for word, names in groups.items() if entry.name in names]
            for word in (entry.kind, *inside, *(f"{each}/{entry.kind}" for each in inside)):
                stands_for.setdefault(word, set()).add(entry.name)
        if missing := [word for word in words if word not in stands_for]:
            kinds = ", ".join(self.kinds())
            raise OptionError(
                f"problems: must be names, kinds ({kinds}) or groups ({BENCHMARK}, {', '.join(PARTS)}, also as "
                f"GROUP/KIND), got {excerpt(missing[0])}"
            )
        names = set().union(*(stands_for[word] for word in words))
        return [entry for entry in everything if entry.name in names]

    def names(self, group: str) -> list[str]:
        """Return the names of the problems in a group's file, such as `benchmark.txt`, or [] without this file."""
        path = self.folder / f"{group}.txt"
        if not path.exists():
            return []
        with os_errors_named(str(path)):
            return path.read_text(encoding="utf-8").split()

    def _names_by_part(self, entries: Sequence[Entry]) -> dict[str, set[str]]:
        open_names = {entry.name for entry in entries if entry.status == "open"}
        easy = {entry.name for entry in entries if entry.status == "proved"}.intersection(self.names(EASY))
        return dict(zip(PARTS, (easy, {row.name for row in entries} - easy - open_names, open_names), strict=True))

    def version(self) -> str | None:
        """Return the version and hash of the problem set, such as `1.0 sha256:...`, or None without a version file."""
        path = self.folder / VERSION
        return path.read_text(encoding="utf-8").strip() if path.exists() else None

    def digest(self) -> str:
        """Return the hash of all problems: the SHA-256 of the sorted lines `KIND NAME FINGERPRINT LIMIT`."""
        lines = sorted(f"{each.kind} {each.name} {each.fingerprint} {each.limit or '-'}\n" for each in self.entries())
        return f"sha256:{sha256(''.join(lines).encode()).hexdigest()}"

    def problem(self, entry: Entry) -> Path:
        """Return the path of the problem file of an entry."""
        return self._path_of(entry, "problems", entry.problem)

    def plan(self, entry: Entry) -> Path:
        """Return the path of the best plan of an entry; the file may not exist."""
        return self._path_of(entry, "plans", "csv" if entry.problem == "csv" else "json")

    def proof(self, entry: Entry) -> Path:
        """Return the path of the certificate of an entry; the file may not exist."""
        return self._path_of(entry, "proofs", "proof")

    def _path_of(self, entry: Entry, folder: str, ending: str) -> Path:
        _unpack_once(self.folder / entry.kind)
        return self.folder / entry.kind / folder / f"{entry.name}.{ending}"

    def unpack(self) -> None:
        """Unpack the archives of all kinds, unless the files of an archive are already up to date."""
        for kind in self.kinds():
            unpack(self.folder / kind)

    def pack(self) -> list[str]:
        """Pack the files of all kinds into their archives, and return the kinds whose archives changed."""
        self.unpack()
        return [kind for kind in self.kinds() if pack(self.folder / kind)]

    def put(self, entry: Entry) -> None:
        """Write an entry to the table of its kind, replacing an entry of the same name, and pack the kind's files."""
        path = self.folder / entry.kind / INDEX
        rows = {each.name: each for each in self._read_entries(entry.kind)} if path.exists() else {}
        rows[entry.name] = entry
        lines = [rows[name].model_dump_json(exclude_defaults=True) for name in sorted(rows)]
        path.parent.mkdir(parents=True, exist_ok=True)
        _unpack_once(path.parent)
        write_file_atomically(str(path), ("\n".join(lines) + "\n").encode())
        pack(path.parent)


_unpack_once = cache(unpack)


def facts(entry: Entry) -> dict[str, Any]:
    """Return the fields of an entry and its derived status and gap, for printed lists."""
    return {**entry.model_dump(mode="json"), "status": entry.status, "gap": entry.gap}
