"""Single operations in tiles: the best tilings equal those of an enumeration, and cost what the simulator counts."""

import random
from itertools import combinations, product
from pathlib import Path
from typing import Any

import pytest

from lab.schedule_tiles import differences, draw_machine, greedy_figures, walk
from memplan.extensions.cascade.access.access_graph import AccessGraph
from memplan.extensions.cascade.access.from_graph import access_graph
from memplan.extensions.cascade.timing.inputs import target_of_hardware_file
from memplan.extensions.cascade.timing.network_run import run_step
from memplan.extensions.cascade.timing.target import Target
from memplan.extensions.schedule.answer import ScheduleAnswer
from memplan.extensions.schedule.dory import graph_of, nodes_of
from memplan.extensions.schedule.schedule import schedule_refuted
from memplan.extensions.schedule.search.layers import LayerTilings, layer_step, whole_front
from memplan.extensions.schedule.search.network_search import MOST_RANGES, PASSES, NetworkSearch
from memplan.extensions.schedule.search.networks import bound_of, network_answer, network_of, schedule_network
from memplan.planner.errors import FormatError, ProblemError
from memplan.solvers.search.control import Control
from tests.support.depth import seeds
from tests.support.networks import Network, mobilenet_v1, mobilenet_v2, two_convolutions
from tests.support.random_networks import random_network

EXAMPLES = Path(__file__).parents[4] / "examples" / "schedules"


@pytest.mark.drawn
@pytest.mark.parametrize("seed", seeds(15))
def test_the_best_tiling_of_a_layer_equals_an_enumeration(seed: int) -> None:
    assert differences(seed) == []


@pytest.mark.drawn
@pytest.mark.parametrize("seed", seeds(10))
def test_closed_form_costs_of_tilings_equal_the_simulation(seed: int) -> None:
    rng = random.Random(seed)
    graph, target = random_network(rng), draw_machine(rng)
    for v, row in enumerate(graph.operations):
        fast = frozenset(t for t in range(len(graph.tensors)) if rng.random() < 0.2)
        made = tuple(t for t in row.outputs if t in fast)
        if row.role == "striped":
            front = LayerTilings(graph, v, fast, target, "latency").front()
        else:
            front = whole_front(graph, v, fast, target, "latency")
        for k in range(len(front.bytes)):
            figures = run_step(graph, layer_step(graph, v, front.tiles[k], made), fast - set(made), target)
            bytes_ = sum(size for kind, _, size in figures.buffers if kind not in ("resident", "retained"))
            assert bytes_ == front.bytes[k]
            assert figures.latency == pytest.approx(front.cost[k])


@pytest.mark.drawn
@pytest.mark.parametrize("seed", seeds(6))
def test_padding_by_an_operation_costs_the_same_as_padding_in_a_convolution(seed: int) -> None:
    rng = random.Random(seed)
    rows, columns, channels = rng.randint(3, 9), rng.randint(3, 9), rng.randint(1, 3)
    kernel, stride = rng.randint(1, 3), rng.randint(1, 2)
    top, left, below, right = (rng.randint(0, 2) for _ in range(4))
    pads, is_deep, networks = (0, top, left, 0, 0, below, right, 0), rng.random() < 0.5, []
    for is_apart in (True, False):
        net = Network()
        read = net.conv(net.input(rows, columns, channels), channels, 1)
        if is_apart:
            shape = 1, rows + top + below, columns + left + right, channels
            read = net.add_op("pad", [read], shape, pads=pads)
        more: dict[str, Any] = {"pad": 0 if is_apart else ((top, left), (below, right))}
        made = net.depthwise(read, kernel, stride, **more) if is_deep else net.conv(read, 3, kernel, stride, **more)
        net.add_op("add", [made], net.shapes[made])
        networks.append(net.graph())
    machine = draw_machine(rng)
    least = [NetworkSearch(network_of(graph), machine, "latency").min_memory()[0] for graph in networks]
    assert least[0] == least[1]
    machine = machine.with_capacity(int(rng.choice([1, 1.3, 3]) * least[0]))
    apart, inside = (
        schedule_network(graph, machine, "latency", Control.from_limit(60, True, None)) for graph in networks
    )
    assert [v for step in apart.subgraphs for v in step] == [0, 2, 3]
    assert (apart.latency, apart.traffic, apart.peak) == (inside.latency, inside.traffic, inside.peak)
    again = ScheduleAnswer.model_validate_json(apart.model_dump_json())
    assert schedule_refuted(networks[0], machine, "latency", again) is None


@pytest.mark.parametrize("value", [3, "an input"])
def test_a_pad_that_is_not_zero_is_not_merged_into_a_convolution(value: object) -> None:
    net = Network()
    padded = net.add_op("pad", [net.input(4, 4, 1)], (1, 6, 6, 1), pads=(0, 1, 1, 0, 0, 1, 1, 0), value=value)
    net.conv(padded, 1, pad=0)
    assert len(network_of(net.graph()).operations) == 2


@pytest.mark.drawn
@pytest.mark.parametrize("seed", seeds(6))
def test_the_front_of_a_layer_includes_the_best_of_its_alternatives(seed: int) -> None:
    rng, net = random.Random(seed), Network()
    made = net.input(rng.randint(3, 8), rng.randint(3, 8), rng.randint(1, 4))
    for _ in range(rng.randint(1, 3)):
        kind = rng.randrange(3)
        made = net.conv(made, rng.randint(1, 6)) if kind == 0 else net.depthwise(made) if kind == 1 else made
        made = net.add_op("unknown", [made], net.shapes[made]) if kind == 2 else made
    for row in net.ops:
        count = rng.randrange(3)
        others = [{"work": rng.choice([0, 5, 30]), "cost": rng.choice([0, 100, 20000])} for _ in range(count)]
        row["alternatives"] = others
    given, machine = net.graph(), draw_machine(rng)
    graph = network_of(given)
    factor, least = rng.choice([1, 1.3, 2]), NetworkSearch(graph, machine, "latency").min_memory()[0]
    machine = machine.with_capacity(int(factor * least))
    every = list[float]()
    for ways in product(*(range(1 + len(row.alternatives)) for row in graph.operations)):
        chosen = graph
        for v, way in enumerate(ways):
            chosen = chosen.choose_alternative(v, way)
        search = NetworkSearch(chosen, machine, "latency")
        if search.min_memory()[0] <= machine.capacity and (run := search.search_within(machine.capacity)) is not None:
            every.append(run.latency)
    best = NetworkSearch(graph, machine, "latency").search_within(machine.capacity)
    assert best.latency == pytest.approx(min(every))
    answer = network_answer(graph, best, (), bound_of(graph, machine, "latency"), machine, "latency")
    assert answer.lower_bound <= answer.latency
    assert schedule_refuted(given, machine, "latency", answer) is None
    regions = (answer.regions[0].model_copy(update={"alternative": 9}), *answer.regions[1:])
    assert schedule_refuted(given, machine, "latency", answer.model_copy(update={"regions": regions})) is not None


def test_a_dense_layer_over_many_pixels_is_tiled_along_channels() -> None:
    net = Network()
    net.add_dense(net.input(7, 7, 4), 64)
    target = draw_machine(random.Random(0)).with_capacity(1000)
    assert access_graph(net.graph()).operations[0].role == "barrier"
    found = schedule_network(net.graph(), target, "traffic", Control())
    assert found.traffic == 7 * 7 * 4 * 65 + 64
    assert len(found.regions[0].ranges[0].channels) > 1


def best_of(graph: AccessGraph, capacity: int, *, with_regions: bool) -> tuple[float, int]:
    search = NetworkSearch(graph, draw_machine(random.Random(1)).with_capacity(capacity), "latency")
    if with_regions:
        search.add_regions(MOST_RANGES, lambda: False)
    found = search.search_within(capacity)
    assert found.peak <= capacity
    return found.latency, found.traffic


def test_regions_transfer_fewer_bytes_than_single_operations() -> None:
    graph = network_of(two_convolutions())
    assert best_of(graph, 6000, with_regions=True)[1] < best_of(graph, 6000, with_regions=False)[1]


def test_a_pass_over_few_regions_achieves_most_of_the_possible_gain() -> None:
    target = draw_machine(random.Random(1)).with_capacity(60_000)
    search = NetworkSearch(network_of(mobilenet_v2(0.35, 144)), target, "traffic")
    (_, most), (few, states), *_ = PASSES
    alone = search.search_within(target.capacity, states=most)
    search.add_regions(few, lambda: False)
    found = search.search_within(target.capacity, states=states)
    assert len(search._runs) < 2000  # A search that simulates all ranges finds more than 4,000 regions.
    assert found.traffic < 0.8 * alone.traffic


def test_a_schedule_of_single_operations_is_reported_before_regions_are_searched() -> None:
    noted, running = list[ScheduleAnswer](), Control(note=lambda answer: noted.append(answer))
    running.cancelled.set()
    target = draw_machine(random.Random(1)).with_capacity(6000)
    found = schedule_network(two_convolutions(), target, "latency", running)
    assert noted == [found]
    assert found.subgraphs == ((0,), (1,))


def test_a_chain_moves_no_more_than_greedy_tiles_of_each_layer() -> None:
    whole = mobilenet_v1(0.25, 32)
    chain = whole.model_copy(update={"ops": whole.ops[:5], "kept": whole.ops[4].outputs})
    target = draw_machine(random.Random(1)).with_capacity(4096)
    graph = network_of(chain)
    found = schedule_network(chain, target, "traffic", Control())
    assert found.traffic <= sum(greedy_figures(graph, v, target).traffic for v in range(5))


def test_a_capacity_that_is_too_small_is_refused_and_the_error_names_the_largest_operation() -> None:
    net = Network()
    net.pool(net.conv(net.input(8, 8, 64), 64, 3))
    with pytest.raises(ProblemError, match=r"capacity: must hold the \d+ bytes that operation 0 \(conv2d .*; got 100"):
        schedule_network(net.graph(), draw_machine(random.Random(0)).with_capacity(100), "latency", Control())


def dory_layer(rng: random.Random) -> dict[str, Any]:
    name, side, into = rng.choice(("Convolution", "FullyConnected", "Addition", "Pooling")), rng.randint(2, 5), 4
    kernel, made = (rng.choice((1, 3)), rng.randint(1, 6)) if name == "Convolution" else (1, into)
    kernel = 2 if name == "Pooling" else kernel
    side = 1 if name == "FullyConnected" else side
    out = side + 2 * (kernel // 2) - kernel + 1
    weights = kernel * kernel * into * made if name in ("Convolution", "FullyConnected") else 0
    inputs = ["a", "b"] if name == "Addition" else ["a"]
    own = {"input_indexes": inputs, "output_index": "y", "input_activation_bits": 8, "output_activation_bits": 8}
    layer = {
        "kernel_shape": [kernel] * 2,
        "strides": [1, 1],
        "dilations": [1, 1],
        "group": 1,
        "pads": [kernel // 2] * 4,
        "input_channels": into,
        "output_channels": made,
        "weight_memory": weights,
        "input_dimensions": [side] * 2,
        "output_dimensions": [out] * 2,
    }
    return {"name": f"{name}0", "DORY_node_parameters": own, "Layer_node_parameters": layer, "Weights": {}}


def three_memories(rng: random.Random) -> Target:
    fields = draw_machine(rng).model_dump(mode="json")
    fast, slow = fields["memories"]
    fast["capacity"] = rng.choice((80, 200, 500))
    middle = {"name": "L2", "capacity": rng.choice((120, 250, 600)), "alignment": rng.choice((1, 8))}
    fields["memories"] = [fast, middle, {**slow, "name": "L3"}]
    fields["links"].append({"bandwidth": rng.choice((0.25, 1)), "latency": rng.choice((0, 20))})
    fields["engine"]["rates"] = {"conv2d": 4.0, "add": 2.0}
    return Target.model_validate(fields)


@pytest.mark.drawn
@pytest.mark.parametrize("seed", seeds(20))
def test_the_best_tiling_of_a_dory_layer_in_three_memories_equals_an_enumeration(seed: int) -> None:
    rng = random.Random(seed)
    nodes, target = [dory_layer(rng)], three_memories(rng)
    graph = network_of(graph_of(nodes_of({"layers": nodes}) or []))
    row, out = graph.operations[0], graph.tensors[graph.operations[0].outputs[0]]
    items = [*([-1] if row.weights else []), *row.outputs, *(read.tensor for read in row.reads)]
    rows, columns, channels = (range(1, size + 1) for size in (out.rows, out.columns, out.channels))
    tiles = list(product(rows, columns, channels, (False, True)))
    every = [frozenset(far) for size in range(len(items) + 1) for far in combinations(items, size)]
    walked = [walk(graph, 0, tile, frozenset(), target, far) for far in every for tile in tiles]
    second = target.memories[1].capacity or 0
    fitting = [one.latency for one in walked if one.bytes <= target.capacity and one.second <= second]
    if not fitting:
        with pytest.raises(ProblemError, match="capacity"):
            schedule_network(graph_of(nodes), target, "latency", Control())
        return
    found = schedule_network(graph_of(nodes), target, "latency", Control())
    assert found.latency == pytest.approx(min(fitting))
    assert schedule_refuted(graph_of(nodes), target, "latency", found) is None
    assert sum(move.bytes for move in found.transfers) == found.traffic
    assert {move.source for move in found.transfers if move.tensor in found.far} <= {"L1", "L2", "L3"}


def test_a_network_in_three_memories_has_offsets_for_all_tensors_in_the_second() -> None:
    target = Target.model_validate_json((EXAMPLES / "gap8_with_l3_like.json").read_bytes())
    fast, second, third = target.memories
    target = target.model_copy(update={"memories": (fast, second.model_copy(update={"capacity": 60_000}), third)})
    graph = mobilenet_v1(0.25, 96)
    found = schedule_network(graph, target, "latency", Control.from_limit(3))
    assert schedule_refuted(graph, target, "latency", found) is None
    assert found.far
    assert max(slot.offset + slot.size for slot in found.second_slots) <= 60_000
    assert any(row.source == "L3" for row in found.transfers)
    for change in ({"far": found.far[1:]}, {"second_slots": found.second_slots[1:]}):
        assert schedule_refuted(graph, target, "latency", found.model_copy(update=change)) is not None


@pytest.mark.parametrize(
    ("nodes", "sentence"),
    [
        ([{"name": "Softmax0", "Layer_node_parameters": {}}],
         "nodes\\[0\\].name: must be a Convolution, FullyConnected"),
        ([{"name": "Addition0", "Layer_node_parameters": {}}],
         "nodes\\[0\\]: must have the fields of a DORY layer, 'input_d"),
    ],
)  # fmt: skip
def test_a_malformed_layer_of_dory_is_refused(nodes: list[dict[str, Any]], sentence: str) -> None:
    with pytest.raises(FormatError, match=sentence):
        graph_of(nodes_of(nodes) or [])


GAP8: dict[str, Any] = {
    "name": "PULP/GAP8",
    "memory": {
        "levels": 3,
        "L1": {"dimension": 64000, "bandwidth": 32, "latency": 1},
        "L2": {"dimension": 512000, "bandwidth": 8, "latency": 10},
        "L3": {"dimension": 8000000, "bandwidth": 0.5, "latency": 100},
    },
    "peak MAC/cycle": {"8bits": 32, "float32": None},
    "HW specific parameters": {"accelerator core0 stack": 3500, "accelerator core1-7 stack": 3400},
    "double_buffering": 1,
}


def test_a_dory_hardware_file_is_read_as_a_target() -> None:
    target = Target.model_validate(target_of_hardware_file(GAP8))
    assert [memory.capacity for memory in target.memories] == [64000 - 3500 - 7 * 3400, 512000, None]
    assert [(link.bandwidth, link.latency) for link in target.links] == [(8, 10), (0.5, 100)]
    assert (target.engine.rate, target.engine.copies) == (32, 1)
    assert target_of_hardware_file({"memories": []}) is None
    unknown = GAP8 | {"memory": GAP8["memory"] | {"L3": {"dimension": 8000000, "bandwidth": None}}}
    with pytest.raises(FormatError, match=r"memory\.L3\.bandwidth: must be a number in bytes per cycle, such"):
        target_of_hardware_file(unknown)
