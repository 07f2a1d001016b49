"""All models in folders, read: which were refused and why, so that each refusal can be judged by its sentence.

    python -m lab.read_models FOLDER... [--seconds 60]

Each file is read in a process of its own with a limit of time, and again with the options that a refusal proposes.
Printed are a line for each file that stays refused, and how many of each format were read; Git LFS pointers and other
files that are no models count for themselves.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from memplan.planner.errors import InputError
from memplan.planner.formats.other_files import other_kind
from memplan.systems.imported import ModelOptions
from memplan.systems.reading import IMPORTERS, detect, read_model

_SUFFIXES = tuple(suffix for importer in IMPORTERS.values() for suffix in importer.suffixes)


_FLAGS = {"dims": "--dim", "shape": "--shape"}


def outcome(path: str) -> tuple[str, str]:
    """Return the format of a file, or `other`, and what reading it said: nothing where a problem came of it."""
    data = Path(path).read_bytes()
    if other_kind(data, path) is not None or not data:
        return "other", ""
    proposed: list[str] = []
    try:
        known = detect(data, path) or "unknown"
        try:
            _ = read_model(data, path).problem
        except InputError as error:
            _, known_words, flags = error.sentences[0].partition("; give them, for example: ")
            if not known_words:
                raise
            proposed = words = shlex.split(flags)
            given = [(flag, value) for flag, value in zip(words[::2], words[1::2], strict=True)]
            fields = {name: [value for flag, value in given if flag == f] for name, f in _FLAGS.items()}
            _ = read_model(data, path, ModelOptions.model_validate(fields)).problem
        return f"{known}{' as proposed' if proposed else ''}", ""
    except InputError as error:
        return "refused", f"{error.sentences[0]}\t{' '.join(proposed)}"
    except Exception as error:  # noqa: BLE001  # a fault of ours is what is looked for
        return "fault", f"{type(error).__name__}: {error}"


def files_in(folders: list[str]) -> list[str]:
    """Return the files in folders whose names end as a model's."""
    found = (path for folder in folders for path in sorted(Path(folder).rglob("*")) if path.is_file())
    return [str(path) for path in found if path.name.lower().endswith(_SUFFIXES)]


def main() -> int:
    """Read all, and print what was refused; 1 where something failed that is no refusal."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--seconds", type=float, default=60.0, help="the most for one file")
    given = parser.parse_args()
    counts: Counter[str] = Counter()
    for path in files_in(given.folders):
        # A process for each file: one that takes too long, or too much memory, is ended with it.
        with ProcessPoolExecutor(1, mp_context=get_context("fork")) as pool:
            try:
                known, sentence = pool.submit(outcome, path).result(given.seconds)
            except Exception as error:  # noqa: BLE001
                known, sentence = "fault", type(error).__name__
                for process in list(pool._processes.values()):
                    process.kill()
        counts[known] += 1
        if sentence:
            print(f"{known}\t{path}\t{sentence}", flush=True)
    print("\t".join(f"{known} {count}" for known, count in sorted(counts.items())))
    return 1 if counts["fault"] else 0


if __name__ == "__main__":
    sys.exit(main())
