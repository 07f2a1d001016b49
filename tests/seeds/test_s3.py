"""Source document 3: cascades (operations run in stripes), compared with published numbers and brute force."""

import copy
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest
from pydantic_core import from_json

from memplan import CascadeAnswer, CascadeOptions, Target, cascade
from memplan.programs.operations.graph import OperationGraph, graph_from, write_graph
from memplan.solvers.search.control import Control
from tests.support.networks import NETWORKS, Network, five_operations, two_convolutions
from tests.support.seed_entrances import Command, Http

MEMORIES = [{"name": "L1", "capacity": 65536, "alignment": 4}, {"name": "L2"}]
ENGINE = {"native": [1, 1], "rate": 16}
GAP8 = {"memories": MEMORIES, "links": [{"bandwidth": 8, "latency": 100}], "engine": ENGINE}
Answer = dict[str, Any]


def body(graph: OperationGraph) -> Answer:
    content: Answer = from_json(write_graph(graph))
    return content


def ask_cascade(http: Http, graph: OperationGraph | Answer, **options: Any) -> Answer:
    given = body(graph) if isinstance(graph, OperationGraph) else graph
    answer: Answer = http.ask("cascade", {"graph": given, "options": options})
    return answer


def stopped_answer(graph: OperationGraph, **options: Any) -> CascadeAnswer:
    """Return the answer of a question stopped before its search begins, so that it depends on no clock."""
    control = Control()
    control.cancelled.set()
    return cascade(graph, CascadeOptions(**options), control)


def front(answer: Answer) -> list[tuple[int, int]]:
    return [(point["peak"], point["macs"]) for point in answer["points"]]


def spans(ranges: Answer) -> list[tuple[int, int]]:
    """Return the row or column ranges of each step, from the line or table form defined in docs/cascades.md."""
    if "table" in ranges:
        return [(a, b) for a, b in ranges["table"]]
    ends = [min(max(ranges["A"] * y + ranges["B"], 0), ranges["top"]) for y in range(ranges["steps"])]
    return [(a, b) if a < b else (0, 0) for a, b in zip([0, *ends], ends, strict=False)]


def chain(*layers: Callable[[Network, int], int], size: int = 12, channels: int = 2) -> OperationGraph:
    net = Network()
    x = net.input(size, size, channels)
    for layer in layers:
        x = layer(net, x)
    return net.graph()


def conv(channels: int, k: int = 3, s: int = 1) -> Callable[[Network, int], int]:
    return lambda net, x: net.conv(x, channels, k, s)


def test_s3_01_explain_reports_the_missing_bytes_and_a_cascade_that_fits(command: Command) -> None:
    graph = command.file("net.json", body(five_operations()))
    ran = command("explain", graph, "--capacity", "64KiB", "--repairs", "3", "--format", "table")
    assert 'infeasible: pool "default" lacks 81,920 bytes' in ran.out
    assert f"in stripes (`memplan cascade {graph}`)" in ran.out
    assert "peak 25,376" in ran.out
    fits = command("cascade", graph, "--fit", "64KiB", "--format", "json")
    assert (fits.status, fits.answer["points"][0]["peak"]) == (0, 25_376)
    assert command("cascade", graph, "--fit", "1KiB", "--format", "json").status == 1


def test_s3_02_cascades_of_kernels_strides_and_pads_compute_equal_values(http: Http) -> None:
    answer = ask_cascade(http, five_operations(), macs=1.2)
    assert (answer["layers_peak"], answer["layers_macs"]) == (147_456, 5_160_960)
    assert [peak for peak, _ in front(answer)] == [25_376, 22_928, 21_616, 20_912, 20_560, 20_208]
    least = ask_cascade(http, five_operations())["points"][-1]
    assert (least["peak"], round(least["macs_ratio"], 4)) == (19_152, 1.8488)
    (point,) = ask_cascade(http, five_operations(), macs=1.2, point=1, check=True)["points"]
    assert (point["peak"], point["checked_by_value"]) == (22_928, True)


def test_s3_03_the_worked_example_has_16_stripes_of_1152_bytes(command: Command, http: Http) -> None:
    graph = command.file("net.json", body(two_convolutions()))
    ran = command("cascade", graph, "--stripe", "6x6", "--check", "--format", "json").answer
    assert [row["bytes"] for row in ran["tensors"] if row["bytes"]] == [26 * 26 * 3, 18_432, 4_608]
    (point,) = ran["points"]
    (region,) = point["regions"]
    assert (region["steps"], region["buffers"][0]["bytes"]) == ([4, 4], 1_152 == 18_432 // 16 and 1_152)
    assert (point["peak"], point["checked_by_value"]) == (2_028 + 1_152 + 4_608, True)
    assert front(ask_cascade(http, two_convolutions(), stripe="6x6")) == front(ran)


def test_s3_04_tiles_recompute_overlapping_edges_and_rolling_buffers_keep_them(http: Http) -> None:
    net = Network()
    net.conv(net.conv(net.input(26, 26, 3), 32, 1), 8, 3, pad="valid")
    graph = net.graph()
    again = ask_cascade(http, graph, stripe=[6, 6], rolling=False)["points"][-1]
    (region,) = again["regions"]
    rows, columns = (spans(region["ranges"]["0"][axis]) for axis in ("rows", "columns"))
    # An inner tile of 6 x 6 output pixels needs 8 x 8 input pixels, 1.78 times as many.
    assert all(b - a == 8 for a, b in (*rows, *columns) if a < b)
    assert round(8 * 8 / (6 * 6), 2) == 1.78
    assert again["macs"] == 16 * 64 * 32 * 3 + 24 * 24 * 8 * 288
    rolling = ask_cascade(http, graph, stripe=[1, 0], check=True)["points"][-1]
    (hold,) = (row for row in rolling["regions"][0]["buffers"] if row["mode"] == "roll")
    # Like TVM's rolling buffers, the ring spans one stripe on the rolling axis and the full extent of the other.
    assert (hold["capacity"], rolling["macs_ratio"], rolling["checked_by_value"]) == ([3, 26, 32], 1.0, True)


@pytest.mark.parametrize(("name", "layers"), [("mobilenet_v1", 1_204_224), ("vgg16", 6_422_528)])
def test_s3_05_cascades_of_mobilenet_and_vgg_need_at_most_a_third(http: Http, name: str, layers: int) -> None:
    answer = ask_cascade(http, NETWORKS[name](), macs=1.1)
    assert answer["layers_peak"] == layers
    assert answer["points"][-1]["peak"] * 3 <= layers


def test_s3_06_a_cascade_lists_parts_of_operations_with_ranges_and_costs(http: Http) -> None:
    point = ask_cascade(http, five_operations(), macs=1.0, stripe="2")["points"][-1]
    counted = runs = 0
    for region in point["regions"]:
        for v, made in region["ranges"].items():
            each = list(product(spans(made["rows"]), spans(made["columns"])))
            pixels = [(y, x) for (a, b), (c, d) in each for y in range(a, b) for x in range(c, d)]
            # With macs=1.0 no pixel is recomputed, so each costs an equal share of its operation.
            assert len(pixels) == len(set(pixels))
            counted += len(pixels) * (9 * 4 * 32, 0, 32 * 16, 9 * 16 * 16, 0)[int(v)]
            runs += sum(a < b and c < d for (a, b), (c, d) in each)
    assert (counted, runs) == (point["macs"], point["runs"])


def test_s3_07_cascade_also_reports_the_cost_without_rolling_buffers(http: Http) -> None:
    beside = ask_cascade(http, five_operations())["without_rolling"]
    assert (beside["peak"], round(beside["macs_ratio"], 4)) == (19_520, 3.8128)
    alone = ask_cascade(http, five_operations(), rolling=False)
    assert front(alone)[-1] == (beside["peak"], beside["macs"])
    kept = {hold["mode"] for p in alone["points"] for r in p["regions"] for hold in r.get("buffers", ())}
    assert kept <= {"recompute", "whole"}


def test_s3_08_sweeping_the_maximum_region_length_gives_the_expected_curve(http: Http, command: Command) -> None:
    curve = {1: (147_456, 1.0), 2: (83_232, 2.0595), 3: (46_400, 2.0071), 5: (19_152, 1.8488)}
    graph = command.file("net.json", body(five_operations()))
    swept = command("cascade", graph, "--sweep", "longest=1,2,3,5", "--format", "json").answer["swept"]
    least = {row["values"]["longest"]: row["points"][-1] for row in swept}
    assert {k: (point["peak"], round(point["macs_ratio"], 4)) for k, point in least.items()} == curve
    # Worked out by hand: a region of two operations recomputes the overlapping rows of its receptive field.
    assert ask_cascade(http, five_operations(), longest=1)["points"][-1]["macs"] == 5_160_960
    for longest in (2, 3, 5):
        point = ask_cascade(http, five_operations(), longest=longest)["points"][-1]
        assert point["peak"] == curve[longest][0]
        assert max(len(region["ops"]) for region in point["regions"]) <= longest


def test_s3_09_the_chosen_cuts_between_regions_are_the_best_of_all_cuts(http: Http) -> None:
    graph = body(chain(conv(6), conv(5), conv(6), conv(2, 3, 2), size=16))

    def label_cuts(cuts: tuple[bool, ...]) -> Answer:
        cut, number = copy.deepcopy(graph), 0
        for row, is_cut in zip(cut["ops"], (False, *cuts), strict=True):
            number += is_cut
            row["attributes"]["label"] = f"part {number}"
        return cut

    # Regions never cross labels, so labels force each way to cut four operations once.
    every = [ask_cascade(http, label_cuts(cuts), macs=1.0) for cuts in product((False, True), repeat=3)]
    free = ask_cascade(http, graph, macs=1.0)["points"][-1]
    assert free["peak"] == min(answer["points"][-1]["peak"] for answer in every)
    long = ask_cascade(http, NETWORKS["mobilenet_v1"](), macs=1.0)["points"][-1]
    assert max(len(region["ops"]) for region in long["regions"]) >= 5


def test_s3_10_a_barrier_is_reported_with_its_cost_in_bytes(http: Http) -> None:
    answer = ask_cascade(http, five_operations(), barriers=["conv2d_2"])
    (barrier,) = answer["barriers"]
    assert front(answer)[-1][0] == 48 * 48 * 32 + 48 * 48 * 16 == barrier["bytes"] == 110_592
    assert (barrier["operation"], barrier["binds"]) == (2, True)
    assert barrier["reason"] == "is named in the option barriers"


def test_s3_11_ragged_steps_and_the_waste_of_padding_them_are_counted(http: Http) -> None:
    (region,) = ask_cascade(http, two_convolutions(), stripe="5x7")["points"][-1]["regions"]
    rows, columns = (spans(region["ranges"]["1"][axis]) for axis in ("rows", "columns"))
    made = [(b - a) * (d - c) for (a, b), (c, d) in product(rows, columns) if a < b and c < d]
    # 24 rows split into four stripes of 5 and one of 4; 24 columns into three of 7 and one of 3.
    assert (len(made), sum(made), sum(area < 35 for area in made)) == (20, 576, 8)
    assert (region["ragged"], region["waste"]) == (8, round(len(made) * 35 / 576 - 1, 6))
    even = ask_cascade(http, two_convolutions(), stripe="6")["points"]
    assert [point["regions"][0]["ragged"] for point in even] == [0]


def test_s3_12_regions_are_proposed_for_operations_of_any_kind(http: Http) -> None:
    answer = ask_cascade(http, five_operations(), macs=1.0)
    groups = [[answer["operations"][v]["kind"] for v in region["ops"]] for region in answer["points"][-1]["regions"]]
    assert groups == [["conv2d", "my.median", "conv2d", "conv2d", "relu"]]
    assert ask_cascade(http, five_operations(), macs=1.0, longest=3)["points"][-1]["regions"][0]["ops"] == [0, 1, 2]


def test_s3_13_a_cascade_sweep_varies_compiler_parameters(http: Http) -> None:
    sweep: dict[str, list[Any]] = {"longest": [2, 5], "rolling": [True, False]}
    sweep |= {"orders": ["given", "depth-first"], "stripe": [1, "6x6"]}
    graph = five_operations()
    answer = ask_cascade(http, graph, sweep=sweep)
    assert [tuple(row["values"].values()) for row in answer["swept"]] == list(product(*sweep.values()))
    assert answer["combinations"] == 16
    for row in answer["swept"][::5]:
        alone = cascade(graph, CascadeOptions.model_validate(row["values"]))
        assert [(p["peak"], p["macs"]) for p in row["points"]] == [(p.peak, p.macs) for p in alone.points]
    assert answer["points"][-1]["peak"] == min(p["peak"] for row in answer["swept"] for p in row["points"])


def test_s3_14_cascades_are_exported_as_schedules_of_loops(command: Command) -> None:
    graph = command.file("net.json", body(two_convolutions()))
    assert command("cascade", graph, "--stripe", "6x6", "-o", "a.schedule").status == 0
    assert command("cascade", graph, "--stripe", "1", "-o", "b.schedule").status == 0
    tiles, rows = ((command.folder / name).read_text() for name in ("a.schedule", "b.schedule"))
    assert "op1.compute_root().tile(rows, columns, 6, 6, y, x)\nop0.compute_at(op1, x)\n" in tiles
    assert "op1.compute_root().split(rows, 1, y)\nop0.compute_at(op1, y)" in rows


def test_s3_15_cascades_do_not_depend_on_the_names_of_operation_kinds(http: Http) -> None:
    own = body(two_convolutions())
    for row, (k, macs) in zip(own["ops"], ((3, 27 * 32), (1, 32 * 8)), strict=True):
        window = [1, 1, 0, k - 1]
        row["kind"] = "my.operation"
        row["attributes"] = {"access_rows": window, "access_columns": window, "macs": macs}
    given, maps = ask_cascade(http, two_convolutions()), ask_cascade(http, own, check=True)
    assert front(maps) == front(given)
    assert maps["points"][0]["checked_by_value"]


def test_s3_16_the_front_contains_all_undominated_points(http: Http) -> None:
    two = ask_cascade(http, five_operations())
    three = ask_cascade(http, five_operations(), objectives=["peak", "macs", "traffic"])
    costs = [(point["peak"], point["macs"], point["traffic"]) for point in three["points"]]
    assert not any(a != b and all(p <= q for p, q in zip(a, b, strict=True)) for a in costs for b in costs)
    assert set(front(two)) <= {cost[:2] for cost in costs}
    assert len(costs) > len(two["points"])
    tiles = (ask_cascade(http, five_operations(), stripe=stripe) for stripe in ("1", "2", "3", "4x4", "6x6", "12x3"))
    for peak, macs in (point for answer in tiles for point in front(answer)):
        assert any(p <= peak and m <= macs for p, m in front(two)), (peak, macs)


def test_s3_17_cascades_are_deterministic_without_device_measurements(http: Http) -> None:
    one, other = (ask_cascade(http, five_operations(), point=-1) for _ in range(2))
    assert [
        one[name] | {"wall_time_s": 0} if name == "exhausted" else one[name] for name in ("points", "exhausted")
    ] == [other[name] | {"wall_time_s": 0} if name == "exhausted" else other[name] for name in ("points", "exhausted")]
    assert one["points"][0]["planned"]["plan"]["status"] == "optimal"


def test_s3_18_cascade_reports_the_number_of_enumerated_regions(http: Http) -> None:
    effort = ask_cascade(http, five_operations())["exhausted"]
    assert (effort["intervals"], effort["longest"], effort["cut_short"]) == (True, 60, [])
    assert effort["evaluated"] > 3_000
    early = stopped_answer(NETWORKS["mobilenet_v1"]()).exhausted
    assert not early.intervals
    assert "regions" in early.cut_short


def test_s3_19_link_time_follows_bandwidth_latency_and_burst_size(http: Http) -> None:
    graph = body(five_operations())
    machine = copy.deepcopy(GAP8) | {"links": [{"bandwidth": 0.5, "latency": 100, "burst": 64}]}
    options = {"pools": ["L1=16KiB", "L2=1MiB"], "macs": 1.0}
    points = http.ask("cascade", {"graph": graph, "target": machine, "options": options})["points"]
    layers = points[-1]
    assert [region["kind"] for region in layers["regions"]] == ["whole"] * 5

    # Worked out by hand per layer: the maximum of compute time and of transferring all data in bursts.
    def layer(macs: int, *moved: int) -> float:
        return max(macs / 16, 100 + -(-sum(moved) // 64) * 64 / 0.5)

    a, b, c, d = 48 * 48 * 4, 48 * 48 * 32, 48 * 48 * 16, 24 * 24 * 16
    times = layer(b * 36, a, b, 4 * 9 * 32), layer(0, b, b), layer(c * 32, b, c, 512), layer(d * 144, c, d, 2_304)
    assert layers["latency"] == sum(times) + layer(0, d, d)
    quick = min(points, key=lambda point: point["slow_traffic"])
    assert quick["slow_traffic"] * 10 < layers["slow_traffic"]
    assert quick["latency"] < layers["latency"]
    # With all tensors in the fast memory, only constants move, once per step.
    found = cascade(five_operations(), CascadeOptions(macs=1.04), target=Target.model_validate(GAP8))
    assert [point.latency for point in found.points] == [889_720.0, 334_464.0]


def test_s3_20_parts_of_operations_have_stable_names(http: Http) -> None:
    def names(answer: Answer) -> Iterator[str]:
        for region in answer["points"][-1]["regions"]:
            for v in region["ops"]:
                made = region["ranges"][str(v)]
                steps = product(enumerate(spans(made["rows"])), enumerate(spans(made["columns"])))
                yield from (f"{region['id']}/{v}/{y},{x}" for (y, r), (x, c) in steps if r[0] < r[1] and c[0] < c[1])

    every = list(names(free := ask_cascade(http, five_operations())))
    assert len(every) == len(set(every)) == free["points"][-1]["runs"]
    assert every == list(names(ask_cascade(http, five_operations(), fit=20_000)))


def test_s3_21_alternative_algorithms_of_an_operation_are_chosen_jointly_with_memory(http: Http) -> None:
    graph = body(five_operations())
    graph["ops"][0]["alternatives"] = [{"name": "winograd", "work": 60_000, "cost": 900_000}]
    answer = ask_cascade(http, graph, macs=1.0)
    assert front(answer) == [(142_944, 3_406_752), (25_376, 5_160_960)]
    assert answer["points"][0]["regions"][0]["alternative"] == 1
    # The Winograd convolution with its workspace then determines the peak.
    assert 48 * 48 * 4 + 48 * 48 * 32 + 60_000 == 142_944


def test_s3_22_branching_operations_with_locality_form_one_region(http: Http) -> None:
    def branches(net: Network, x: int) -> int:
        wide = net.add(net.conv(net.depthwise(x), 4, 1), net.conv(x, 4))
        return net.resize(net.pool(net.concat(wide, x)))

    answer = ask_cascade(http, chain(branches, conv(2), size=16, channels=4), macs=1.0, check=True)
    best = answer["points"][-1]
    assert answer["barriers"] == []
    kinds = [{answer["operations"][v]["kind"] for v in region["ops"]} for region in best["regions"]]
    assert kinds == [{"depthwise_conv2d", "conv2d", "add", "concat", "max_pool2d"}, {"resize", "conv2d"}]
    assert best["checked_by_value"]
    assert best["peak"] * 2 < answer["layers_peak"]
    unknown = body(five_operations())
    del unknown["ops"][1]["attributes"]
    without = ask_cascade(http, unknown)
    assert (front(without)[-1][0], without["barriers"][0]["reason"][:25]) == (147_456, "my.median cannot be split")


def test_s3_23_regions_do_not_cross_labels(http: Http) -> None:
    graph = body(five_operations())
    for v, row in enumerate(graph["ops"]):
        row.setdefault("attributes", {})["label"] = "npu" if v < 3 else "cpu"
    point = ask_cascade(http, graph, macs=1.0)["points"][-1]
    assert (point["peak"], point["regions"][0]["ops"]) == (50_880, [0, 1, 2])
    assert all(max(region["ops"]) < 3 or min(region["ops"]) >= 3 for region in point["regions"])


@pytest.mark.parametrize(("name", "tvm"), [("tvm_double_convolution", 4_080), ("tvm_depthwise", 14_208)])
def test_s3_24_peaks_with_bricks_of_16_channels_do_not_exceed_those_of_tvm(http: Http, name: str, tvm: int) -> None:
    answer = ask_cascade(http, NETWORKS[name](), brick=16, input="streamed", output="streamed", macs=1.0)
    assert answer["points"][-1]["peak"] <= tvm
    mobile = ask_cascade(http, NETWORKS["mobilenet_v1"](), macs=1.1)
    assert mobile["layers_peak"] == 1_204_224
    assert mobile["points"][-1]["peak"] <= 300_000


def test_s3_25_cascade_supports_two_pools_and_a_time_limit(http: Http) -> None:
    points = ask_cascade(http, graph_of_five(), pools=["fast=8192", "slow=1MiB"])["points"]
    assert [point["peak"] for point in points[:3]] == [6_144, 3_840, 2_480]
    assert all(point["used"]["fast"] == point["peak"] <= 8_192 for point in points)
    assert all(point["pools"][name] == "fast" for point in points for name in point["pools"] if ".r" in name)
    assert stopped_answer(graph_of_five(), pools=("fast=8192", "slow=1MiB")).exhausted.cut_short


def graph_of_five() -> OperationGraph:
    return graph_from(body(five_operations()))
