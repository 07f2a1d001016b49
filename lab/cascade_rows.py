"""Measure what cascades must show: python -m lab.cascade_rows COMMAND [N].

`newer`: networks after 2019, at what is asked of them; with N above 0 each point is executed by value, for up to N
seconds a network. `long`: N equal blocks (500) with a time limit of 60 s. `peaks`: the least peaks of known networks
within bounds of multiplications, each placed and verified. `baselines`: the first N networks beside fusion blocks and
patches. `exactness`: N random regions (10,000) run by value, each of their buffers with one row or column less, which
must fail. `enumeration`: N random graphs (500) of up to six operations, against all intervals, heights and mixes of
modes. `fronts`: N random graphs (500), by two and by three objectives, against all chains. `time`: seconds of CPU.
"""

from __future__ import annotations

import random
import sys
import time
from functools import partial
from typing import Any

from memplan.capabilities.cascade.regions.execution import check_by_value
from memplan.capabilities.cascade.regions.regions import Cascade
from memplan.capabilities.cascade.search.options import CascadeOptions, Delivery
from memplan.capabilities.cascade.search.points import CascadePoint
from memplan.capabilities.cascade.search.search import RegionSearch
from memplan.capabilities.cascade.search.solve import cascade
from memplan.planner.errors import InvalidPlanError
from tests.support.cascade_baselines import fusion_blocks, patches
from tests.support.cascade_fronts import beaten, fronts_differ
from tests.support.networks import NETWORKS, Network
from tests.support.newer_networks import NEWER, excited
from tests.support.random_networks import (
    random_blocks,
    random_cascade,
    random_network,
    random_units,
    shrunk,
    side_by_side,
)
from tests.support.table_networks import TABLE

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
"""Networks of newer_networks.py and table_networks.py in tests/support, options, and the peaks asked below shares.

Those of msf-CNN are what it publishes for its chains, at its multiplications; those behind them were found before.
"""
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


def newer(limit_s: int) -> None:
    """Print the least placed peak of newer networks within each bound of multiplications, beside what is asked."""
    for name, options, asked in NEWER_ROWS:
        began = time.process_time()
        limit = limit_s or 600
        result = cascade((NEWER | TABLE)[name](), CascadeOptions(**options), check=limit_s > 0, time_limit_s=limit)
        spent, said = time.process_time() - began, []
        for percent, peak in asked:
            least = min((p.peak for p in result.points if p.macs_ratio < 1 + percent / 100 + 1e-9), default=0)
            said.append(f"{least:,} of {peak:,} below +{percent} % ({'met' if least <= peak else 'missed'})")
        print(
            f"{name} {options}: layers {result.layers_peak:,}; {'; '.join(said)}; least {result.points[-1].peak:,}",
            end="; ",
        )
        print(f"{len(result.checked)} of {len(result.points)} points by value; {spent:.1f} s of CPU", flush=True)


def long(count: int) -> None:
    """Print what is found for a chain of equal residual blocks, with and without squeeze-and-excite."""
    for excite in (False, True):
        net = Network()
        x = net.conv(net.input(112, 112, 3), 16, 3, 2)
        for _ in range(count // (4 if excite else 1)):
            y = net.depthwise(net.conv(x, 96, 1))
            x = net.add(x, net.conv(excited(net, y, 8, "", "sigmoid") if excite else y, 16, 1))
        net.dense(net.global_pool(x), 10)
        began = time.process_time()
        result = cascade(net.graph(), time_limit_s=60)
        print(
            f"{len(result.graph.operations):,} operations: {result.layers_peak:,} to {result.points[-1].peak:,}",
            end=", ",
        )
        print(f"cut short {result.exhausted.cut_short}, {time.process_time() - began:.1f} s of CPU", flush=True)


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


def enumeration(wanted: int) -> None:
    """Compare what is found with all regions in stripes of rows that there are."""
    wrong = [seed for seed in range(wanted) if beaten(seed)]
    print(f"{wanted} graphs of up to six operations: {len(wrong)} have chains that beat those found {wrong}")
    if wrong:
        sys.exit(1)


def baselines(count: int) -> None:
    """Print the peaks of fusion blocks and of patches beside those found."""
    for name, made in [*NETWORKS.items(), *NEWER.items(), *TABLE.items()][:count]:
        result = cascade(made(), time_limit_s=600)
        blocks, patched = (way(result.graph, result.options) for way in (fusion_blocks, patches))
        at_0, at_10 = (min(p.peak for p in result.points if p.macs_ratio <= most) for most in (1.0, 1.1))
        verdict = "never above" if at_0 <= blocks and at_10 <= patched else "ABOVE"
        print(
            f"{name}: {at_0:,} of {blocks:,} in blocks at +0 %, {at_10:,} of {patched:,} in patches at +10 %", end=": "
        )
        print(verdict, flush=True)


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


def _note(times: list[float], point: CascadePoint | None, _: object) -> None:
    if point is not None:
        times.append(time.process_time())


COMMANDS = {
    "peaks": (peaks, 0),
    "newer": (newer, 0),
    "long": (long, 500),
    "exactness": (exactness, 10_000),
    "enumeration": (enumeration, 500),
    "baselines": (baselines, 99),
    "fronts": (fronts, 500),
    "time": (seconds, 0),
}

if __name__ == "__main__":
    command, count = COMMANDS[sys.argv[1]]
    command(int(sys.argv[2]) if len(sys.argv) > 2 else count)
