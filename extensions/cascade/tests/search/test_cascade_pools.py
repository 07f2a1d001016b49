"""Cascades in two memories: buffers of regions are in the fast one, whole tensors in the one where they cost least."""

import pytest

from memplan.extensions.cascade.cascade import cascade, lines
from memplan.extensions.cascade.regions.counts import bytes_by_tensor
from memplan.extensions.cascade.regions.execution import check_by_value
from memplan.extensions.cascade.search.options import CascadeOptions
from memplan.planner.verify.verifier import verify
from memplan.programs.operations.graph import OperationGraph
from tests.support.cascade_twin import coarse
from tests.support.networks import Network, add_inverted_block, two_convolutions


@pytest.fixture(autouse=True)
def _limit_chains(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memplan.extensions.cascade.search.planning.MOST_CHAINS", 3)


def blocks() -> OperationGraph:
    net = Network()
    x = net.input(16, 16, 3)
    for channels in (4, 8):
        x = add_inverted_block(net, x, channels, 4, 2)
    net.add_dense(net.global_pool(x), 4)
    return net.graph()


def test_with_two_memories_only_whole_tensors_are_slow_and_their_traffic_is_reported() -> None:
    result = cascade(blocks(), CascadeOptions(pools=(("fast", 500), ("slow", 100_000)), check=True))
    assert len(result.checked_positions) == len(result.points) > 3
    for point in result.points:
        assert point.used is not None
        assert point.pools is not None
        assert point.peak == point.used["fast"] <= 500
        assert verify(point.problem, point.plan) == ()
        pools, moved = point.pools, bytes_by_tensor(point.cascade)
        whole = {name: int(name[1:]) for name in pools if name[1:].isdigit()}
        assert all(pools[name] == "fast" for name in pools if name not in whole)
        assert point.slow_traffic == sum(moved[t] for name, t in whole.items() if pools[name] == "slow")
    costs = [(point.peak, point.macs, point.slow_traffic or 0) for point in result.points]
    for one in costs:
        assert not any(other != one and all(a <= b for a, b in zip(other, one, strict=True)) for other in costs)
    told = result.model_dump(mode="json")
    assert told["conventions"]["pools"] == [{"name": "fast", "size": 500}, {"name": "slow", "size": 100_000}]
    assert told["points"][0]["used"].keys() == {"fast", "slow"}
    assert any("of it in slow" in line for line in lines(result))
    assert result.exhausted.evaluated > 0


def test_slow_traffic_is_zero_if_everything_fits_in_the_fast_memory() -> None:
    # A search with two memories omits rows in pieces, which cause the most traffic.
    one = cascade(coarse(blocks()), CascadeOptions(macs=1.0))
    options = CascadeOptions(pools=(("fast", one.points[-1].peak), ("slow", 100_000)), macs=1.0)
    point = min(cascade(blocks(), options).points, key=lambda point: point.slow_traffic or 0)
    assert (point.slow_traffic, point.macs_ratio) == (0, 1.0)
    offsets, size = point.join_memories()
    assert check_by_value(point.cascade, offsets, size) > 0


def test_cascade_with_too_small_memories_has_no_points() -> None:
    assert cascade(blocks(), CascadeOptions(pools=(("fast", 0), ("slow", 10)))).points == ()


def test_slow_traffic_is_an_objective_of_two_memories_even_if_not_requested() -> None:
    memories = CascadeOptions(pools=(("fast", 8192), ("slow", 65536)))
    several = [memories, memories.model_copy(update={"objectives": ("peak", "macs", "traffic")})]
    fronts = (cascade(two_convolutions(), one).points for one in several)
    two, three = ([(p.peak, p.macs, p.slow_traffic) for p in points] for points in fronts)
    assert two == three
    assert len({slow for _, _, slow in three}) == len(three) > 1
