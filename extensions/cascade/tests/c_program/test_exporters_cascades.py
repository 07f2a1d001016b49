"""Cascades in C, compiled with sanitizers: in the planned arena they compute the same values as numpy by layers."""

import random
import shutil
from pathlib import Path

import numpy as np
import pytest

from memplan.extensions.cascade.access.from_graph import access_graph
from memplan.extensions.cascade.c_program import write_cascade
from memplan.extensions.cascade.c_program.program import lines_of
from memplan.extensions.cascade.cascade import cascade
from memplan.extensions.cascade.regions.regions import is_accumulated
from memplan.extensions.cascade.search.options import CascadeOptions
from memplan.planner.errors import OptionError
from memplan.programs.operations.graph import OperationGraph
from memplan.programs.operations.graph_variants import replace_fields
from tests.runtimes.programs_in_c import Values, arena_of, has_cortex, run, run_in_numpy, write_program
from tests.support import networks
from tests.support.cascade_twin import coarse
from tests.support.networks import Network


def network(dtype: str = "int8") -> OperationGraph:
    """Return a small network with an operation of every kind that has a reference kernel."""
    net = Network("all_kinds", dtype)
    x = net.conv(net.input(18, 14, 3), 8, 3, 2, pad=1)
    y = net.conv(net.depthwise(net.conv(x, 16, 1)), 8, 1)
    x = net.add(x, y)
    y = net.conv(net.pool(x, 3, 2, pad=((1, 1), (0, 0))), 8, 3, d=2, groups=2)
    y = net.conv(net.resize(y), 4, 2)
    _, rows, columns, _ = net.shapes[y]
    x = net.conv(x, 4, (net.shapes[x][1] - rows + 1, net.shapes[x][2] - columns + 1), pad="valid")
    net.add_dense(net.global_pool(net.conv(net.concat(x, y), 12)), 5)
    return net.graph()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
@pytest.mark.parametrize(("dtype", "way", "sliding"), [("int8", "resident", True), ("float32", "streamed", False)])
def test_a_cascade_in_c_computes_the_same_outputs_as_numpy(dtype: str, way: str, sliding: bool, tmp_path: Path) -> None:
    graph = network(dtype)
    values = Values.from_seed(graph)
    given = "streamed" if way == "streamed" else "resident"
    point = cascade(coarse(graph), CascadeOptions(overlap="sliding" if sliding else "none", input=given)).points[-1]
    assert any(region.kind != "whole" for region in point.cascade.regions)
    image = np.random.default_rng(2).integers(-128, 128, (1, 18, 14, 3)).astype(np.int8)
    image = image if dtype == "int8" else (image / 64).astype(np.float32)
    expected = run_in_numpy(values, image)
    got = np.frombuffer(run(write_program(tmp_path, point, values, streamed=way == "streamed"), image), expected.dtype)
    if dtype == "int8":
        assert len(set(expected.ravel().tolist())) > 3
        assert got.tolist() == expected.ravel().tolist()
    else:
        assert np.allclose(got, expected.ravel(), atol=1e-4)


@pytest.mark.slow
@pytest.mark.skipif(not has_cortex(), reason="needs arm-none-eabi-gcc")
def test_a_cascade_compiled_for_cortex_m_has_an_arena_of_exactly_the_planned_bytes(tmp_path: Path) -> None:
    graph = network()
    point = cascade(coarse(graph)).points[0]
    assert arena_of(write_program(tmp_path, point, Values.from_seed(graph))) == point.peak


def test_c_files_declare_but_do_not_define_an_operation_without_reference_kernel() -> None:
    net = Network("unknown")
    net.add_op("softmax", [net.conv(net.input(8, 8, 2), 4)], (1, 8, 8, 4), axis=3)
    graph = net.graph()
    files = write_cascade(cascade(coarse(graph)).points[-1], graph, "4 us")
    assert b'/* "softmax softmax_1" */\nvoid memplan_4_us_op_1(' in files["memplan_4_us.h"]
    assert b'/* "softmax": define void memplan_4_us_op_1(' in files["memplan_4_us_reference.c"]
    assert b"extern const memplan_int8_values memplan_4_us_values_0;" in files["memplan_4_us_values.h"]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_regions_along_channels_in_c_compute_the_same_outputs_as_numpy(dtype: str, tmp_path: Path) -> None:
    net = Network("channels", dtype)
    x = net.concat(net.input(5, 4, 3), net.conv(0, 2, 1))
    y = net.depthwise(net.conv(x, 70, 1))
    x = net.conv(net.pool(net.add(net.resize(y), net.resize(y)), 3, 2, pad=1), 2)
    net.add_dense(net.add_dense(net.global_pool(net.depthwise(net.conv(x, 45, 1))), 300), 7)
    graph = net.graph()
    values, random = Values.from_seed(graph), np.random.default_rng(2)
    image = random.integers(-128, 128, (1, 5, 4, 3)).astype(np.int8)
    image = image if dtype == "int8" else (image / 64).astype(np.float32)
    expected = run_in_numpy(values, image).ravel()
    point = cascade(graph, CascadeOptions(alignment=4)).points[-1]
    # The test covers both kinds of regions: sums over the channels of all steps, and some output channels per step.
    along = [region for region in point.cascade.regions if region.kind == "channels"]
    assert {is_accumulated(point.cascade.graph, region) for region in along} == {True, False}
    got = np.frombuffer(run(write_program(tmp_path, point, values), image), expected.dtype)
    assert np.array_equal(got, expected) if dtype == "int8" else np.allclose(got, expected, atol=1e-4)


def test_c_code_streams_the_output_of_a_global_pool_after_its_sums_are_complete() -> None:
    net = Network("sums")
    net.global_pool(net.conv(net.input(9, 9, 3), 16))
    point = cascade(coarse(net.graph()), CascadeOptions(output="streamed")).points[-1]
    assert [region.kind for region in point.cascade.regions] == ["tiles"]
    after = write_cascade(point, net.graph(), "net")["net.c"].decode().rpartition("net_op_1_end(")[2]
    assert "net_output_3(&t3, (memplan_part){0, 1, 0, 1, 0, INT32_MAX});" in after


def test_a_dense_layer_over_several_pixels_is_written_in_c_as_a_1_x_1_convolution() -> None:
    net = Network("tokens")
    net.add_op("fully_connected", [net.tensor(1, 6, 8)], (1, 6, 4), (4, 8))
    files = write_cascade(cascade(net.graph()).points[-1], net.graph(), "net")
    assert b"8, 4, 1};" in files["net_reference.c"]
    assert b"memplan_conv_int8(out[0], in[0], part" in files["net_reference.c"]


def test_writing_a_cascade_of_a_batch_in_c_is_refused() -> None:
    net = Network("batches")
    attributes = {"kernel": (1, 1), "strides": (1, 1), "dilations": (1, 1), "pads": (0, 0, 0, 0)}
    net.add_op("conv2d", [net.tensor(2, 6, 6, 3)], (2, 6, 6, 4), (4, 1, 1, 3), **attributes)
    point = cascade(coarse(net.graph())).points[-1]
    with pytest.raises(OptionError, match="batch: must be 1 for C"):
        write_cascade(point, net.graph(), "net")


def test_lines_of_ranges_reproduce_every_non_empty_range_exactly() -> None:
    draw, found = random.Random(4), 0
    for _ in range(300):
        slope, offset, top, steps = (draw.randint(*ends) for ends in ((0, 4), (-20, 9), (1, 30), (1, 24)))
        reach = draw.randint(0, 5)
        spans = []
        for y in range(steps):
            first, end = (min(max(slope * y + offset + more, 0), top) for more in (0, reach))
            spans.append((first, end) if first < end else (0, 0))
        if draw.random() < 0.3:
            spans[draw.randrange(steps)] = (0, draw.randint(0, top))
        lines = lines_of(spans)
        if lines is not None:
            found += 1
            made = [(lines[0].value_at(y), lines[1].value_at(y)) for y in range(steps)]
            told, wanted = ([span if span[0] < span[1] else (0, 0) for span in rows] for rows in (made, spans))
            assert told == wanted
    assert found > 150


def test_c_code_passes_working_memory_to_the_functions_of_operations_that_need_it() -> None:
    plain = networks.two_convolutions()
    rows = (row.model_copy(update={"work": 3000 if v == 1 else 0}) for v, row in enumerate(plain.ops))
    graph = replace_fields(plain, ops=tuple(rows))
    point = cascade(access_graph(graph), CascadeOptions(time_limit_s=5)).points[-1]
    files = write_cascade(point, graph, "net", 4)
    source = next(text for name, text in files.items() if name.endswith(".c") and b"region_0" in text).decode()
    assert point.regions[0].kind != "whole"
    assert "work_1" in source
