"""Compare the answers of all questions about one file with each other: `python -m lab.file_invariants [COUNT [SEED]]`.

The first part uses all small files of the project: models, dumps, problems, graphs and programs. The second part uses
random models in six formats, whose live bytes are also counted without memplan's code. `test_file_invariants.py` in
`tests/runtimes` tries a few cases.
"""

import sys
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from lab.support.cases import run_cases
from memplan.extensions.library.entries import ProblemLibrary
from tests.runtimes import foreign_files
from tests.runtimes.drawn_files import draw_file
from tests.runtimes.file_invariants import violations

_ROOT = Path(__file__).parents[1]
_FOLDERS = ("examples", "library")
_NOT_READ = {"plans", "proofs", "planners", "cmake", "plugin", "core"}
_MOST_BYTES = 12_000


def files() -> Iterator[tuple[str, bytes]]:
    """Yield (path, bytes) of each small file of the project that memplan can read."""
    yield from chain(foreign_files.files(), foreign_files.models())
    ProblemLibrary(_ROOT / "library").unpack()
    for folder in _FOLDERS:
        for path in sorted((_ROOT / folder).rglob("*.*")):
            is_small = path.is_file() and path.suffix in (".csv", ".json") and path.stat().st_size <= _MOST_BYTES
            if is_small and path.stem != "index" and _NOT_READ.isdisjoint(path.parts):
                yield str(path.relative_to(_ROOT)), path.read_bytes()


def faults(seed: int, tally: Counter[str]) -> Iterator[str]:
    name, data, live = draw_file(seed)
    for line in violations(data, name, live=live, tally=tally):
        yield f"{name}: {line}"


def main() -> int:
    """Compare the answers about files, and then about random models; return 1 after a disagreement."""
    tally, found = Counter[str](), 0
    for name, data in files():
        for line in violations(data, Path(name).name, tally=tally):
            found += 1
            print(f"{name}: {line}", flush=True)
    print(
        f"{found} faults of files: {', '.join(f'{many:,} {kind}' for kind, many in sorted(tally.items()))}", flush=True
    )
    return run_cases("file_invariants", faults, count=300) or int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
