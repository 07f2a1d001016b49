"""TensorFlow Lite models written as cascades: equal outputs in LiteRT and TFLite Micro, in less memory."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memplan.api.cli.main import main
from memplan.extensions.cascade import command
from memplan.extensions.cascade.answer import CascadeAnswer
from memplan.extensions.cascade.cascade import cascade
from memplan.extensions.cascade.search.options import CascadeOptions
from memplan.extensions.cascade.writing import write_in_parts
from memplan.extensions.forms.forms import RewritableModel, coarser_cascades, rewritable_model, unrolled_forms
from memplan.extensions.forms.unrolled import unroll
from memplan.planner.errors import OptionError
from memplan.planner.foreign.model_options import ModelOptions
from memplan.programs.models.model_graph import read_model_graph
from memplan.runtimes.tflite.tflm_tail import arena_of
from tests.runtimes.litert_models import outputs_of
from tests.runtimes.tflite_files import two_halves
from tests.runtimes.tflite_networks import Network, mobilenet_v1, mobilenet_v2, vgg

pytest.importorskip("ai_edge_litert", reason="models are run where LiteRT is installed")


def search_model(data: bytes) -> tuple[RewritableModel, CascadeAnswer]:
    model = rewritable_model(data, read_model_graph(data, "model.tflite").graph)
    return model, cascade(model.access, CascadeOptions(time_limit_s=30))


def image_for(data: bytes, side: int, channels: int = 3) -> np.ndarray:
    draw = np.random.default_rng(len(data))
    if read_model_graph(data).graph.tensors[0].dtype == "int8":
        return draw.integers(-128, 128, (1, side, side, channels)).astype(np.int8)
    return draw.standard_normal((1, side, side, channels)).astype(np.float32)


def odd_network(is_int8: bool) -> bytes:
    """Return a network of odd sizes: kernels that reach beyond borders, a padded pool, an addition, a pad."""
    net = Network(37, 3, is_int8=is_int8, seed=5)
    net.convolution(6, 5, 2)
    net.max_pool(3, 2, "SAME")
    before = net.at
    net.depthwise(5, 1)
    net.convolution(6, 1, fused="NONE")
    net.add(before)
    net.pad(1, 0)
    net.convolution(8, 3, 1, padding="VALID")
    net.max_pool(2, 2)
    net.classify(4)
    return net.data()


@pytest.mark.parametrize("is_int8", [True, False])
@pytest.mark.parametrize(("make", "side"), [(odd_network, 37), (mobilenet_v2, 32), (vgg, 32)])
def test_rewritten_models_compute_bit_identical_outputs(make: Any, side: int, is_int8: bool) -> None:
    data = odd_network(is_int8) if make is odd_network else make(side, 4, is_int8=is_int8)
    model, result = search_model(data)
    image = image_for(data, side)
    (wanted,) = outputs_of(data, image)
    forms = [unroll(form) for point in result.points for form in coarser_cascades(point.cascade)]
    assert min(found.live_peak for found in forms) < result.layers_peak
    for found in random.Random(1).sample(forms, min(6, len(forms))):
        (given,) = outputs_of(model.write(found), image)
        assert np.array_equal(wanted, given) if is_int8 else np.allclose(wanted, given, rtol=1e-5, atol=1e-5)


def test_the_arena_never_grows_with_the_allowed_multiplications() -> None:
    data = mobilenet_v2(48, 8, is_int8=True)
    model, arenas = rewritable_model(data, read_model_graph(data, "model.tflite").graph), [arena_of(data).used]
    for macs in (1.0, 1.1, 1.5):
        found = cascade(model.access, CascadeOptions(macs=macs, time_limit_s=30))
        written = write_in_parts(model, found, data, ModelOptions())
        assert written.data is not None
        arenas.append(arena_of(written.data).used)
    assert arenas == sorted(arenas, reverse=True)
    assert arenas[-1] < arenas[1] < arenas[0]


def test_another_order_is_written_if_no_partitioned_form_needs_a_smaller_arena(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "_ORDER_S", 60.0)
    given, target = tmp_path / "given.tflite", tmp_path / "out.tflite"
    given.write_bytes(two_halves())
    assert main(["cascade", str(given), "-o", str(target), "--time-limit", "60"]) == 0
    assert "out.tflite: another order of whole operations, +0.00% MACs;" in capfd.readouterr().err
    assert arena_of(target.read_bytes()).used < arena_of(two_halves()).used
    graphs = (read_model_graph(data).graph for data in (two_halves(), target.read_bytes()))
    given_names, names = ([str(graph.tensors[row.outputs[0]].name) for row in graph.ops] for graph in graphs)
    assert names != given_names
    assert sorted(names) == sorted(given_names)


def test_an_average_pool_with_padding_runs_whole() -> None:
    net = Network(25, 3, seed=5)
    net.convolution(6, 3, 1)
    net.convolution(8, 3, 2)
    net.max_pool(3, 2, "SAME", "AVERAGE_POOL_2D")
    net.convolution(6, 3, 1)
    data = net.data()
    model, result = search_model(data)
    assert [row.role == "barrier" for row in model.access.operations] == [False, False, True, False]
    image = image_for(data, 25)
    for point in result.points[:3]:
        assert np.array_equal(outputs_of(data, image), outputs_of(model.write(unroll(point.cascade)), image))


@pytest.mark.slow
def test_a_rewritten_model_needs_half_the_arena_in_tflite_micro() -> None:
    micro = pytest.importorskip(
        "tflite_micro.python.tflite_micro.runtime", reason="arenas are measured where TFLite Micro is installed"
    )
    data = mobilenet_v2(96, 12)
    model, result = search_model(data)
    written = model.write(min(unrolled_forms(result.points), key=lambda form: form.needed).found)

    def run(content: bytes, arena: int) -> np.ndarray:
        interpreter = micro.Interpreter.from_bytes(content, arena_size=arena)
        interpreter.set_input(image_for(data, 96), 0)
        interpreter.invoke()
        output: np.ndarray = interpreter.get_output(0)
        return output

    assert np.array_equal(run(data, 2 << 20), run(written, result.layers_peak // 2))


def test_rewritable_model_refuses_sizes_of_dimensions() -> None:
    data = mobilenet_v1(32, 4)
    with pytest.raises(
        OptionError,
        match=r"(?s)dims: must be left out if a \.tflite is written, .*got batch=1.*export the model with batch=1",
    ):
        rewritable_model(data, read_model_graph(data).graph, ModelOptions(dims={"batch": 1}))
