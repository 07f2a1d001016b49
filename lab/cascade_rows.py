"""Measure what cascades must show: python -m lab.cascade_rows COMMAND [N [SEED]].

`newer`: networks after 2019, at what is asked of them; with N above 0 each point is executed by value, for up to N
seconds a network. `peaks`: the least peaks of known networks within bounds of multiplications, each placed and
verified. `exactness`: random regions of N graphs (2,000) run by value, each of their buffers with one row or column
less, which must fail. `enumeration`: N random graphs (500) of up to six operations, against all intervals, heights and
mixes of modes. `fronts`: N random graphs (500), by two and by three objectives, against all chains.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

from lab.support.cases import run_cases
from lab.support.measured_networks import MEASURED
from memplan.extensions.cascade.cascade import cascade
from memplan.extensions.cascade.regions.execution import check_by_value
from memplan.extensions.cascade.regions.regions import Cascade
from memplan.extensions.cascade.search.options import CascadeOptions, Delivery
from memplan.extensions.cascade.search.search import RegionSearch
from memplan.planner.errors import InvalidPlanError
from tests.support.cascade_fronts import beaten, fronts_differ
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
    "mobilenet_v1": ({}, {"overlap": "sliding"}, {"input": "streamed"}),
    "mobilenet_v2": ({}, {"overlap": "sliding"}, {"input": "streamed"}),
    "vgg16": ({}, {"overlap": "sliding"}, {"input": "streamed"}),
    "resnet50": ({}, {"overlap": "sliding"}),
    "efficientnet_b0": ({},),
    "unet": ({}, {"input": "streamed"}),
    "espcn": ({"input": "streamed", "output": "streamed"},),
    "msf_chain": ({"input": "streamed", "output": "streamed"},),
}
STREAMED = {"input": "streamed"}
BOTH = {"input": "streamed", "output": "streamed"}
NEWER_ROWS: tuple[tuple[str, dict[str, Any], tuple[tuple[float, int], ...]], ...] = (
    ("efficientnet_v2_s", {"input": "streamed"}, ((10, 443_392),)),
    ("regnet_y_400mf", {}, ((1, 451_624), (11, 313_612))),
    ("shufflenet_v2", {"input": "streamed"}, ((0, 164_808), (5, 136_416), (10, 125_214), (100, 90_944))),
    ("mobilenet_v3_large", {"input": "streamed"}, ((0, 176_960), (10, 157_040), (20, 87_952))),
    ("yolov5n", {"output": "streamed"}, ((100, 413_216),)),
    ("yolov5n", {"input": "streamed"}, ((0, 586_800),)),
    ("deeplab_v3", {"output": "streamed"}, ((100, 371_840),)),
    ("vit", {}, ((0, 480_000),)),
    ("convnext_tiny", {}, ((0, 6_000_000),)),
    ("msf_vww5", BOTH, ((0, 89_600), (2, 38_576), (4, 32_792), (11, 26_128), (30, 17_760), (35, 13_376), (96, 12_000))),
    ("msf_320k", BOTH, ((0, 247_808), (4, 190_096), (19, 186_736), (25, 186_032), (37, 156_672), (45, 94_184))),
    ("msf_320k", BOTH, ((102, 62_880), (169, 42_643))),
    ("efficientnet_v2_s", {}, ((0, 847_872), (10, 739_200))),
    ("regnet_y_400mf", STREAMED, ((0, 702_472), (10, 451_624))),
    ("shufflenet_v2", {}, ((0, 233_856), (5, 226_008))),
    ("mobilenet_v3_large", {}, ((0, 261_632), (5, 227_648), (10, 227_008), (25, 223_520))),
    ("mobilenet_v3_small", {}, ((0, 213_248), (5, 201_040))),
    ("mobilenet_v3_small", STREAMED, ((0, 84_688), (10, 69_792))),
    ("mnasnet", {}, ((0, 267_008), (5, 227_888), (10, 224_968), (31, 206_344))),
    ("mnasnet", STREAMED, ((0, 149_408), (10, 79_096), (25, 65_880))),
    ("squeezenet", {}, ((0, 223_760), (5, 199_568), (10, 193_120), (37, 183_136))),
    ("squeezenet", STREAMED, ((0, 106_928), (10, 47_168), (29, 39_504))),
    ("googlenet", {}, ((0, 376_320), (5, 327_424), (10, 317_824), (29, 308_224))),
    ("googlenet", STREAMED, ((0, 370_944), (10, 266_848), (35, 200_704))),
    ("densenet121", {}, ((0, 575_232), (5, 445_952), (10, 425_920), (73, 335_360))),
    ("densenet121", STREAMED, ((0, 455_680), (10, 380_544), (39, 335_360))),
    ("ds_cnn", {}, ((0, 52_768), (105, 22_668))),
    ("ds_cnn", STREAMED, ((0, 49_248), (105, 18_748))),
    ("wav2vec", {}, ((0, 99_456), (5, 94_336))),
    ("wav2vec", STREAMED, ((0, 83_626), (5, 78_666))),
    ("fsrcnn", {}, ((0, 970_752), (5, 862_408), (10, 850_112), (110, 833_576))),
    ("fsrcnn", STREAMED, ((0, 889_728), (10, 767_458), (110, 750_727))),
)
"""Networks of lab/support/measured_networks.py, options, and the peaks asked below shares.

Those of msf-CNN are what it publishes for its chains, at its multiplications; those behind them were found before.
"""
DELIVERIES: tuple[Delivery, ...] = ("resident", "streamed")


def peaks(_: int) -> None:
    """Print the least placed peak within each bound of multiplications."""
    for name, several in ROWS.items():
        for options in several:
            began = time.process_time()
            result = cascade(NETWORKS[name](), CascadeOptions(**options, time_limit_s=600))
            within = []
            for share in SHARES:
                least = min((p.peak for p in result.points if p.macs_ratio <= 1 + share / 100 + 5e-5), default=0)
                within.append(f"{least:,} (+{share} %)")
            print(f"{name} {options}: layers {result.layers_peak:,}; {', '.join(within)}", end="; ")
            print(f"{time.process_time() - began:.1f} s of CPU", flush=True)


def newer(limit_s: int) -> None:
    """Print the least placed peak of newer networks within each bound of multiplications, beside what is asked."""
    for name, options, asked in NEWER_ROWS:
        began = time.process_time()
        limit = limit_s or 600
        result = cascade(MEASURED[name](), CascadeOptions(**options, check=limit_s > 0, time_limit_s=limit))
        spent, said = time.process_time() - began, []
        for percent, peak in asked:
            least = min((p.peak for p in result.points if p.macs_ratio < 1 + percent / 100 + 1e-9), default=0)
            said.append(f"{least:,} of {peak:,} below +{percent} % ({'met' if least <= peak else 'missed'})")
        print(
            f"{name} {options}: layers {result.layers_peak:,}; {'; '.join(said)}; least {result.points[-1].peak:,}",
            end="; ",
        )
        print(f"{len(result.checked)} of {len(result.points)} points by value; {spent:.1f} s of CPU", flush=True)


def exactness(seed: int, tally: Counter[str]) -> Iterator[str]:
    """Run random regions of a graph by value; yield each buffer that could be one smaller."""
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
            for tensor, hold in region.holds.items():
                less = shrunk(drawn, number, tensor) if hold.mode != "whole" and hold.bytes else None
                if less is not None:
                    tally["buffers one smaller"] += 1
                    if not any(_fails(less, offsets, size, seed + more) for more in (0, 1, 2)):
                        yield f"tensor {tensor} of region {number} could be one smaller"


def _fails(less: Cascade, offsets: dict[str, int], size: int, seed: int) -> bool:
    try:
        check_by_value(less, offsets, size, seed)
    except InvalidPlanError:
        return True
    return False


def enumeration(seed: int, _: Counter[str]) -> Iterator[str]:
    """Yield where some regions in stripes of rows beat those of a search."""
    if beaten(seed):
        yield "other chains beat those of the search"


def fronts(seed: int, _: Counter[str]) -> Iterator[str]:
    """Yield how fronts of two and of three objectives differ from all chains."""
    if said := fronts_differ(5_000 + seed, 25):
        yield str(said)


DRAWN = {"exactness": (exactness, 2_000), "enumeration": (enumeration, 500), "fronts": (fronts, 500)}
"""From a command to the faults of a seed, and how many seeds there are by default."""


def main(command: str, *words: str) -> int:
    """Run a command; return the exit status."""
    if command in DRAWN:
        faults, count = DRAWN[command]
        return run_cases("cascade_rows", faults, words, count=count)
    {"peaks": peaks, "newer": newer}[command](int(words[0]) if words else 0)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
