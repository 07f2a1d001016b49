"""Fronts of peak, traffic and time of networks on a target, by the command, and the seconds that sizes take.

    python -m lab.schedule_networks fronts [--target FILE] [--only vgg16,two_convs] [--limit 60]
    python -m lab.schedule_networks sizes [100 1000]

`fronts` runs `memplan schedule --frontier` for the graphs of the tests of TVM's cascader (two convolutions, with a
slice between them, the start of MobileNetV1, all of it, MobileNetV2's diamond), and VGG16; each answer is run again as
if it came from elsewhere. `sizes` schedules networks of so many operations twice, and graphs of tiles: the seconds of
CPU, the gap, and whether both answers are the same.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from memplan import OperationGraph, ScheduleOptions, ScheduleProblem, Target, schedule
from memplan.api.cli.main import main as memplan
from memplan.capabilities.inputs import GRAPH
from memplan.capabilities.schedule.answer import ScheduleAnswer
from memplan.capabilities.schedule.schedule import CAPABILITY
from tests.support.networks import Network, inverted, mobilenet_v1, vgg16
from tests.support.small_schedules import drawn_schedule

SEPARABLE = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1))
"""The channels and strides of MobileNetV1's blocks: a depthwise convolution, and one of 1 x 1."""


def two_convs(*, is_sliced: bool = False) -> OperationGraph:
    """Return two convolutions, 1 x 1 and 3 x 3, of 12 x 12 x 8; with a slice of 6 x 6 pixels between them."""
    net = Network("two_convs_slice" if is_sliced else "two_convs")
    x = net.conv(net.input(12, 12, 8), 64 if is_sliced else 32, 1)
    if is_sliced:
        x = net.add_op("slice", [x], (1, 6, 6, 64), starts=(0, 0, 0, 0), steps=(1, 1, 1, 1), axes=(0, 1, 2, 3))
    net.conv(x, 16, 3, pad=1)
    return net.graph()


def mobilenet_start(layers: int = 8) -> OperationGraph:
    """Return the first layers of MobileNetV1, 224 x 224 x 3, which ends with 1,024 channels and no classifier."""
    net = Network(f"mobilenet_v1_{layers}")
    x = net.conv(net.input(224, 224, 3), 32, 3, 2, pad=((0, 0), (1, 1)))
    for channels, stride in SEPARABLE:
        for kind in ("depthwise", "pointwise"):
            if len(net.ops) < layers:
                pad = ((0, 0), (1, 1)) if stride == 2 else 1
                x = net.depthwise(x, 3, stride, pad=pad) if kind == "depthwise" else net.conv(x, channels, 1)
    return net.graph()


def diamond() -> OperationGraph:
    """Return a residual block of MobileNetV2 behind a convolution, 56 x 56 x 96."""
    net = Network("mobilenet_v2_diamond")
    inverted(net, net.conv(net.input(56, 56, 96), 24, 1), 24, 6, 1)
    return net.graph()


NETWORKS: dict[str, Callable[[], OperationGraph]] = {
    "two_convs": two_convs,
    "two_convs_slice": lambda: two_convs(is_sliced=True),
    "diamond": diamond,
    "mobilenet_start": mobilenet_start,
    "mobilenet_v1": lambda: mobilenet_start(27),
    "mobilenet_v1_classifier": mobilenet_v1,
    "vgg16": vgg16,
}


def main() -> None:
    """Print the points of each front, or a row for each size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("fronts", "sizes"))
    parser.add_argument("sizes", type=int, nargs="*", default=[100, 1000])
    parser.add_argument("--target", type=Path, default=Path("examples/schedules/ethos_u55_like.json"))
    parser.add_argument("--only", default="", help="names of networks, with commas")
    parser.add_argument("--limit", type=float, default=60, help="seconds of each call")
    given = parser.parse_args()
    if given.what == "sizes":
        for size in given.sizes:
            _row_of_size(size, Target.model_validate(json.loads(given.target.read_text())))
        return
    wanted = [name for name in NETWORKS if not given.only or name in given.only.split(",")]
    raise SystemExit(1 if sum(not _front(name, given.target, given.limit) for name in wanted) else 0)


def _front(name: str, target: Path, limit_s: float) -> bool:
    """Print the front of a network by the command; return True if the answer is what its steps say."""
    graph, began = NETWORKS[name](), time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        model, answer = Path(folder, "network.json"), Path(folder, "answer.json")
        model.write_text(json.dumps(GRAPH.to_json(graph)))
        arguments = ["schedule", str(model), "--target", str(target), "--frontier", "--time-limit", str(limit_s)]
        if memplan([*arguments, "--quiet", "-o", str(answer)]) != 0:
            print(f"{name}: no schedule")
            return False
        found = ScheduleAnswer.model_validate(json.loads(answer.read_text()))
    cpu = time.process_time() - began
    machine = Target.model_validate(json.loads(target.read_text()))
    wrong = CAPABILITY.refutes({"problem": graph, "target": machine, "options": ScheduleOptions()}, found)
    gap = "" if found.gap is None else f", {found.gap:.2%} above the bound"
    print(f"{name}: {len(graph.ops)} operations, {len(found.slots)} slots{gap}, {cpu:.1f} s of CPU", wrong or "")
    for point in found.frontier:
        print(
            f"    {point.peak:>9,} bytes {point.traffic:>13,} moved {point.latency:>15,.1f} time {point.steps:>4} steps"
        )
    return wrong is None


def _row_of_size(size: int, target: Target) -> None:
    """Print how long a network and a graph of tiles of so many operations take, twice, with the answers compared."""
    rng, net = random.Random(size), Network("drawn")
    x = net.conv(net.input(96, 96, 3), 16, 3, 2)
    while len(net.ops) < size - 2:
        channels = rng.choice((16, 24, 32, 48, 64))
        x = inverted(net, x, channels, rng.choice((2, 4)), 2 if len(net.ops) in (size // 4, size // 2) else 1)
    net.dense(net.global_pool(x), 10)
    limit_s = 30 if size <= 100 else 120
    seed = next(k for k in range(10**6) if len(drawn_schedule(k, most=size, sides=(8, 16)).outputs) > size * 0.95)
    tiles: ScheduleProblem = drawn_schedule(seed, most=size, sides=(8, 16))
    for what, problem, machine in (("network", net.graph(), target), ("tiles", tiles, None)):
        answers = []
        for _ in range(2):
            cpu, clock = time.process_time(), time.monotonic()
            options = ScheduleOptions(time_limit_s=limit_s, deterministic=True)
            answers.append(schedule(problem, machine, options=options))
            cpu, clock = time.process_time() - cpu, time.monotonic() - clock
        found = answers[0]
        gap = "none" if found.gap is None else f"{found.gap:.1%}"
        same = "the same" if answers[0] == answers[1] else "differing"
        print(f"{what} of {size}: {cpu:.1f} s of CPU, {clock:.1f} s, limit {limit_s} s, gap {gap}, {same}", flush=True)


if __name__ == "__main__":
    main()
