"""Points of a cascade unrolled into lists of operations on parts of tensors."""

from dataclasses import replace

import pytest

from memplan.extensions.cascade.access.access_graph import barrier_of
from memplan.extensions.cascade.access.from_graph import access_graph
from memplan.extensions.cascade.cascade import cascade
from memplan.extensions.cascade.search.options import CascadeOptions
from memplan.extensions.cascade.writing import rewritable_model
from memplan.extensions.forms.forms import coarser_cascades, unrolled_forms
from memplan.extensions.forms.unrolled import unroll
from memplan.planner.errors import FormatError, OperationsError
from memplan.programs.models.model_graph import read_model_graph
from memplan.programs.operations.graph_variants import replace_fields
from tests.runtimes.tflite_networks import vgg
from tests.support import networks
from tests.support.networks import Network


def test_a_tensor_before_a_whole_operation_is_not_stored_twice() -> None:
    net = Network("whole")
    net.global_pool(net.conv(net.conv(net.input(24, 20, 2), 4), 16))
    access = access_graph(net.graph())
    whole = barrier_of(access, 2, "is not written in parts")
    result = cascade(replace(access, operations=(*access.operations[:2], whole), is_coarse=True))
    image, last = 24 * 20, result.points[-1]
    # The tensor that is made row by row, and the whole tensor that the pool reads.
    assert unroll(last.cascade).live_peak == 2 * 16 * image
    assert min(form.peak for form in unrolled_forms([last])) == result.layers_peak == (4 + 16) * image


def test_tiles_are_merged_along_columns_where_operations_are_costly() -> None:
    net = Network("tiles")
    net.conv(net.conv(net.input(32, 32, 2), 16), 2)
    result = cascade(net.graph(), CascadeOptions(stripe=(2, 2)))
    forms = [unroll(form) for form in coarser_cascades(result.points[-1].cascade)]
    assert [len(form.steps) for form in forms] == sorted(len(form.steps) for form in forms)
    assert min(len(form.steps) for form in forms) < len(forms[-1].steps) / 16
    assert forms[-1].steps == unroll(result.points[-1].cascade).steps


def test_live_bytes_include_the_workspace_of_each_part_of_an_operation() -> None:
    graph, work = networks.two_convolutions(), 3000
    for v in range(len(graph.ops)):
        rows = (row.model_copy(update={"work": work if u == v else 0}) for u, row in enumerate(graph.ops))
        result = cascade(access_graph(replace_fields(graph, ops=tuple(rows))), CascadeOptions(time_limit_s=5))
        for parts in (unroll(point.cascade) for point in result.points):
            alive = parts.live_bytes()
            runs = [at for at, step in enumerate(parts.steps, 1) if step.kind == "run" and step.operation == v]
            assert runs
            assert all(alive[at] >= work for at in runs)


def test_cascades_that_cannot_be_unrolled_or_written_are_reported() -> None:
    graph = read_model_graph(vgg(32, 4)).graph
    streamed = cascade(graph, CascadeOptions(input="streamed"))
    with pytest.raises(OperationsError, match="resident"):
        unroll(streamed.points[-1].cascade)
    with pytest.raises(OperationsError, match="points: must contain a cascade that can be unrolled"):
        list(unrolled_forms([]))
    with pytest.raises(FormatError, match=r"written in parts \(tflite\), got none"):
        rewritable_model(b'{"ops": []}', None, graph)
