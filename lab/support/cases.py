"""Runs random cases for all lab programs that compare results; it prints each fault and counts the outcomes."""

import time
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from functools import partial
from multiprocessing import get_context
from typing import Any

_BLOCK = 50
"""The number of seeds that a worker process receives at a time."""
_REPORT_EVERY = 20
Faults = Callable[..., Iterable[str]]
"""The type of `faults(seed, tally, **options)`: it yields a line for each fault, and counts cases in the tally."""


def run_cases(
    name: str, faults: Faults, arguments: Sequence[str] | None = None, *, count: int = 1000, **options: int
) -> int:
    """Run the program `python -m lab.NAME [COUNT [SEED]] [--workers N]`; return 1 after faults, else 0.

    `count` is the default number of cases. Each of `options` becomes a flag with this default value.
    """
    parser = ArgumentParser(prog=f"python -m lab.{name}")
    parser.add_argument("count", type=int, nargs="?", default=count, help="how many cases")
    parser.add_argument("seed", type=int, nargs="?", default=0, help="the first seed")
    parser.add_argument("--workers", type=int, default=1, help="how many processes share the seeds")
    for option, default in options.items():
        parser.add_argument(f"--{option}", type=int, default=default)
    given: dict[str, Any] = vars(parser.parse_args(arguments))
    count, first, workers = given.pop("count"), given.pop("seed"), given.pop("workers")
    run = partial(_run_block, partial(faults, **given))
    blocks = [range(at, min(at + _BLOCK, first + count)) for at in range(first, first + count, _BLOCK)]
    tally, found, began = Counter[str](), 0, time.monotonic()
    with ExitStack() as stack:
        pool = stack.enter_context(get_context("spawn").Pool(workers)) if workers > 1 else None
        for k, (counts, lines) in enumerate(map(run, blocks) if pool is None else pool.imap(run, blocks), 1):
            tally.update(counts)
            found += len(lines)
            if k % _REPORT_EVERY == 0 or k == len(blocks):
                counted = ", ".join(f"{many:,} {kind}" for kind, many in sorted(tally.items()))
                done = f"{blocks[k - 1].stop - first:,} cases, {found} faults, {time.monotonic() - began:.0f} s"
                print(f"{done}: {counted}" if counted else done, flush=True)
    return 1 if found else 0


def _run_block(faults: Faults, seeds: range) -> tuple[Counter[str], list[str]]:
    """Run a block of seeds, print each fault at once, and return the counts and the faults."""
    tally, found = Counter[str](), list[str]()
    for seed in seeds:
        for line in faults(seed, tally):
            found.append(f"seed {seed}: {line}")
            print(found[-1], flush=True)
    return tally, found
