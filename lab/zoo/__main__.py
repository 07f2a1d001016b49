"""Run the zoo: `python -m lab.zoo run [--minutes 360] [MODEL ...]`, `again N`, `write MODEL TO`, `tables`.

- `run` measures all models without a row in the table, each in a separate process, and adds their rows. With `--on
  ADDRESS`, the machines of a cluster measure them; each needs this checkout. If a model fails, crashes or exceeds its
  CPU seconds, its row states the reason.
- `again` measures N random rows again and compares the results.
- `write` writes a model's certificates and the other files that the checkers read.
- `tables` writes the tables of `docs/benchmarks.md`.

All commands except `tables` need torch, timm, torchvision and transformers.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from concurrent.futures import as_completed
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from lab.support.apart import run_in_process
from lab.zoo import table
from lab.zoo.trying import missing_packages, tried_in_turn, try_model
from memplan.extensions.bench.clusters import executor_on

_TIMED = ("cpu_s",)
"""The columns whose values may differ when a row is measured again."""


def _rows_of(wanted: Sequence[tuple[Any, str]], limit_s: int, on: str | None) -> Generator[dict[str, Any], None, None]:
    """Measure each (model, mode), in turn on this machine or in parallel on the cluster at `on`; yield each row."""
    if on is not None:
        with executor_on(on) as cluster:
            cluster.check(missing_packages)
            made = [
                cluster.submit(run_in_process, partial(tried_in_turn, limit_s=limit_s), (model.key, mode))
                for model, mode in wanted
            ]
            for future in as_completed(made):
                yield future.result()
        return
    with tempfile.TemporaryDirectory() as text:
        for model, mode in wanted:
            yield try_model(model, mode, Path(text), limit_s)
            for each in Path(text).glob("*.*"):
                each.unlink()


def _run_models(
    path: Path, wanted: Sequence[str], modes: Sequence[str], minutes: float, limit_s: int, on: str | None
) -> int:
    """Measure the wanted models without a row in the table, append their rows, and return the exit status."""
    from lab.zoo.measuring import COLUMNS
    from lab.zoo.models import models

    until, done = time.monotonic() + 60 * minutes, {table.key(row) for row in table.read(path)}
    chosen = [model for model in models() if not wanted or model.key in wanted]
    if missing := set(wanted) - {model.key for model in chosen}:
        sys.exit(f"no such model: {', '.join(sorted(missing))}")
    new = [(model, mode) for model in chosen for mode in modes if (model.key, mode) not in done]
    with closing(_rows_of(new, limit_s, on)) as rows:
        for row in rows:
            table.append(path, COLUMNS, [row])
            print(*table.key(row), row.get("reason") or f"{row['peak']:,}", row.get("cpu_s"), flush=True)
            if time.monotonic() > until:
                break
    return 0


def _repeat_rows(path: Path, count: int, seed: int, limit_s: int) -> int:
    """Measure `count` random rows of a table again, print differences, and return 1 if there are any, else 0."""
    from lab.zoo.measuring import COLUMNS
    from lab.zoo.models import models

    known, faults = {model.key: model for model in models()}, 0
    rows = random.Random(seed).sample(table.read(path), count)
    with tempfile.TemporaryDirectory() as text:
        for row in rows:
            name, mode = table.key(row)
            made = try_model(known[name], mode, Path(text), limit_s)
            cells = {column: "" if made.get(column) is None else str(made[column]) for column in COLUMNS}
            differ = [column for column in COLUMNS if cells[column] != row[column] and column not in _TIMED]
            print(name, mode, "differs in " + ", ".join(differ) if differ else "equal", flush=True)
            faults += bool(differ)
    print(f"{len(rows) - faults} of {len(rows)} equal")
    return 1 if faults else 0


def _write_certificates(name: str, folder: Path, limit_s: int) -> int:
    """Write the files that the checkers read for a model, in all modes, into a folder; return the exit status."""
    from lab.zoo.measuring import MODES
    from lab.zoo.models import models

    folder.mkdir(parents=True, exist_ok=True)
    model = next((each for each in models() if each.key == name), None)
    if model is None:
        sys.exit(f"no such model: {name}")
    for mode in MODES:
        print(mode, try_model(model, mode, folder, limit_s).get("reason") or "written")
    return 0


def main(words: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status; the command `again` returns 1 if a row differs from its record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", type=Path, default=table.TABLE)
    parser.add_argument("--seconds", type=int, default=90, help="of the processor, for a model in a mode")
    verbs = parser.add_subparsers(dest="verb", required=True)
    run = verbs.add_parser("run")
    run.add_argument("models", nargs="*")
    run.add_argument("--modes", default="inference,training")
    run.add_argument("--minutes", type=float, default=360)
    run.add_argument("--on", metavar="ADDRESS", help="a cluster: dask://HOST:PORT or ray://HOST:PORT")
    again = verbs.add_parser("again")
    again.add_argument("count", type=int)
    again.add_argument("--seed", type=int, default=0)
    write = verbs.add_parser("write")
    write.add_argument("model")
    write.add_argument("folder", type=Path)
    verbs.add_parser("tables")
    given = parser.parse_args(words)
    if given.verb == "run":
        return _run_models(given.table, given.models, given.modes.split(","), given.minutes, given.seconds, given.on)
    if given.verb == "again":
        return _repeat_rows(given.table, given.count, given.seed, given.seconds)
    if given.verb == "write":
        return _write_certificates(given.model, given.folder, given.seconds)
    from lab.zoo.tables import publish

    publish(given.table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
