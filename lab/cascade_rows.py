"""Measure what cascades must show: python -m lab.cascade_rows peaks|exactness|fronts|time [N].

`peaks`: the least peaks of known networks within bounds of multiplications, each placed and verified. `exactness`:
N random regions (10,000) run by value, and each of their buffers with one row or column less, which must fail.
`fronts`: N random graphs (500), by two and by three objectives, against all chains. `time`: seconds of CPU.
"""

from __future__ import annotations

import random
import sys
import time
from functools import partial
from typing import Any

from memplan.planner.errors import InvalidPlanError
from memplan.planner.operations.cascade.execution import check_by_value
from memplan.planner.operations.cascade.regions import Cascade
from memplan.solvers.cascade.options import CascadeOptions, Delivery
from memplan.solvers.cascade.points import CascadePoint
from memplan.solvers.cascade.search import RegionSearch
from memplan.solvers.cascade.solve import cascade
from tests.support.cascade_fronts import fronts_differ
from tests.support.networks import NETWORKS
from tests.support.random_networks import (
    random_blocks,
    random_cascade,
    random_network,
    random_units,
    shrunk,
    side_by_side,
)

SHARES = (0, 2, 5, 10, 20, 25, 30, 38, 68)
ROWS: dict[str, tuple[dict[str, Any], ...]] = {
    "mobilenet_v1": ({}, {"sliding": True}, {"input": "streamed"}),
    "mobilenet_v2": ({}, {"sliding": True}, {"input": "streamed"}),
    "vgg16": ({}, {"sliding": True}, {"input": "streamed"}),
    "resnet50": ({}, {"sliding": True}),
    "efficientnet_b0": ({},),
    "unet": ({}, {"input": "streamed"}),
    "espcn": ({"input": "streamed", "output": "streamed"},),
    "msf_chain": ({"input": "streamed", "output": "streamed"},),
}
DELIVERIES: tuple[Delivery, ...] = ("resident", "streamed")


def peaks(_: int) -> None:
    """Print the least placed peak within each bound of multiplications."""
    for name, several in ROWS.items():
        for options in several:
            began = time.process_time()
            result = cascade(NETWORKS[name](), CascadeOptions(**options), time_limit_s=600)
            within = []
            for share in SHARES:
                least = min((p.peak for p in result.points if p.macs_ratio <= 1 + share / 100 + 5e-5), default=0)
                within.append(f"{least:,} (+{share} %)")
            print(f"{name} {options}: layers {result.layers_peak:,}; {', '.join(within)}", end="; ")
            print(f"{time.process_time() - began:.1f} s of CPU", flush=True)


def exactness(wanted: int) -> None:
    """Run random regions by value until there are so many; each buffer one smaller must fail."""
    regions = smaller = missed = seed = 0
    kinds: dict[str, int] = {}
    while regions < wanted:
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
                regions += 1
                kinds[region.kind] = kinds.get(region.kind, 0) + 1
                for tensor, hold in region.holds.items():
                    less = shrunk(drawn, number, tensor) if hold.mode != "whole" and hold.bytes else None
                    if less is not None:
                        smaller += 1
                        missed += not any(_fails(less, offsets, size, seed + more) for more in (0, 1, 2))
        seed += 1
    print(f"{regions:,} regions {kinds} of {seed} graphs equal by value; ", end="")
    print(f"{smaller:,} buffers one smaller, {missed} missed")
    if missed:
        sys.exit(1)


def _fails(less: Cascade, offsets: dict[str, int], size: int, seed: int) -> bool:
    try:
        check_by_value(less, offsets, size, seed)
    except InvalidPlanError:
        return True
    return False


def fronts(wanted: int) -> None:
    """Compare fronts with all chains."""
    wrong = [told for seed in range(wanted) if (told := fronts_differ(5_000 + seed, 25))]
    print(f"{wanted} graphs, fronts of two and of three objectives: {len(wrong)} differ from all chains")
    if wrong:
        sys.exit(1)


def seconds(_: int) -> None:
    """Print the seconds of CPU for fronts of two and of three objectives; kernels are loaded before."""
    cascade(NETWORKS["two_convolutions"]())
    for name in ("mobilenet_v1", "mobilenet_v2", "resnet50", "efficientnet_lite0", "efficientnet_b0"):
        for options in (CascadeOptions(), CascadeOptions(objectives=("peak", "macs", "traffic"))):
            first: list[float] = []
            began = time.process_time()
            result = cascade(NETWORKS[name](), options, time_limit_s=600, on_point=partial(_note, first))
            print(
                f"{name}: {len(result.graph.operations)} operations, {len(options.objectives)} objectives, "
                f"{len(result.points)} points, first {first[0] - began:.2f} s, all {time.process_time() - began:.1f} s",
                flush=True,
            )


def _note(times: list[float], _: CascadePoint) -> None:
    times.append(time.process_time())


COMMANDS = {"peaks": (peaks, 0), "exactness": (exactness, 10_000), "fronts": (fronts, 500), "time": (seconds, 0)}

if __name__ == "__main__":
    command, count = COMMANDS[sys.argv[1]]
    command(int(sys.argv[2]) if len(sys.argv) > 2 else count)
