"""Compare cascades (operations fused in stripes) with brute force: python -m lab.cascade_rows COMMAND [N [SEED]].

`exactness` executes random regions of N graphs (default 2,000) by value, and checks that results are wrong if a buffer
has one row or column less. `enumeration` compares the search, on N random graphs (500) of up to six operations, with
all intervals, heights and mixes of modes. `fronts` compares the Pareto fronts of N random graphs (500) with all chains.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterator

from lab.support.cases import run_cases
from memplan.extensions.cascade.regions.execution import check_by_value
from memplan.extensions.cascade.regions.regions import Cascade
from memplan.extensions.cascade.search.options import CascadeOptions, Delivery
from memplan.extensions.cascade.search.search import RegionSearch
from memplan.planner.errors import InvalidPlanError
from tests.support.cascade_fronts import beaten, fronts_differ
from tests.support.random_networks import (
    random_blocks,
    random_cascade,
    random_network,
    random_units,
    shrunk,
    side_by_side,
)

DELIVERIES: tuple[Delivery, ...] = ("resident", "streamed")


def exactness(seed: int, tally: Counter[str]) -> Iterator[str]:
    """Execute random regions of a graph by value; yield a line for each buffer that could lose a row or a column."""
    rng = random.Random(seed)
    graph = (random_blocks, random_units, random_network, random_network)[seed % 4](rng)
    options = CascadeOptions(input=rng.choice(DELIVERIES), output=rng.choice(DELIVERIES))
    found = RegionSearch(graph, options).run()
    for _ in range(6):
        drawn = random_cascade(graph, options, found, rng)
        offsets, size = side_by_side(drawn)
        check_by_value(drawn, offsets, size, seed)
        for number, region in enumerate(drawn.regions):
            if region.kind == "whole":
                continue
            tally[f"regions {region.kind}"] += 1
            for tensor, hold in region.buffer_by_tensor.items():
                less = shrunk(drawn, number, tensor) if hold.mode != "whole" and hold.bytes else None
                if less is not None:
                    tally["buffers one smaller"] += 1
                    if not any(_computes_wrong_values(less, offsets, size, seed + more) for more in (0, 1, 2)):
                        yield f"tensor {tensor} of region {number} could be one smaller"


def _computes_wrong_values(less: Cascade, offsets: dict[str, int], size: int, seed: int) -> bool:
    """Return True if executing a cascade with the buffers at these offsets gives wrong results."""
    try:
        check_by_value(less, offsets, size, seed)
    except InvalidPlanError:
        return True
    return False


def enumeration(seed: int, _: Counter[str]) -> Iterator[str]:
    """Yield a line if an enumeration of chains of regions (operations fused in stripes) finds a better one."""
    if beaten(seed):
        yield "other chains beat those of the search"


def fronts(seed: int, _: Counter[str]) -> Iterator[str]:
    """Yield a line if the search's Pareto fronts, of two or three objectives, differ from those of all chains."""
    if said := fronts_differ(5_000 + seed, 25):
        yield str(said)


DRAWN = {"exactness": (exactness, 2_000), "enumeration": (enumeration, 500), "fronts": (fronts, 500)}
"""Maps each command to (function that yields the faults for a seed, default number of seeds)."""


def main(command: str, *words: str) -> int:
    """Run the program `command` with the arguments `words`, and return its exit status."""
    faults, count = DRAWN[command]
    return run_cases("cascade_rows", faults, words, count=count)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
