"""Models written by `convert` and `order` run in TFLite Micro: equal outputs, in exactly the reported arena."""

import json
from collections import Counter
from pathlib import Path

import pytest

from memplan.api.cli.main import main
from memplan.extensions.files.convert.convert import convert
from memplan.extensions.files.convert.options import ConvertOptions
from memplan.extensions.forms.tests.executed_forms import faults
from memplan.runtimes.tflite import interpreter
from tests.runtimes.micro_models import MicroModel, add_crossing, micro_model, window
from tests.runtimes.micro_runs import run_here

pytest.importorskip("ai_edge_litert", reason="models are drawn with the schema that LiteRT brings")
pytest.importorskip("tflite_micro", reason="models are run where TFLite Micro is installed")

Captured = pytest.CaptureFixture[str]
OPERATORS = (
    ("TRANSPOSE_CONV", "MEAN"),
    ("SOFTMAX", "MAX_POOL_2D"),
    ("IF", "PAD"),
    ("SPLIT", "RESIZE_BILINEAR"),
    ("BATCH_MATMUL", "GREATER"),
    ("SPACE_TO_BATCH_ND", "PRELU"),
    ("PACK", "CONCATENATION"),
    ("SUM", "MIRROR_PAD"),
    ("TRANSPOSE", "MINIMUM"),
    ("CAST", "FULLY_CONNECTED"),
)


@pytest.mark.parametrize("is_int8", [True, False], ids=["int8", "float32"])
@pytest.mark.parametrize("names", OPERATORS, ids="-".join)
def test_forms_of_a_model_run_with_equal_outputs_in_the_reported_bytes(names: tuple[str, ...], is_int8: bool) -> None:
    tally = Counter[str]()
    assert list(faults(micro_model(7, is_int8=is_int8, names=names, n=2), 0.4, tally, run_here)) == []
    assert tally["given models that run"] == 1
    assert tally["forms of convert"] or "TRANSPOSE_CONV" in names  # its scratch is what there is most of


def image_of_uint8(channels: int, first: int) -> bytes:
    """Return a model whose image is of uint8, which QUANTIZE makes int8, before convolutions that are worth cutting."""
    m = MicroModel((1, 64, 64, channels), is_int8=True)
    m.graph.inputs = [m.tensor((1, 64, 64, channels), m.types.UINT8, scale=0.05, zero=125)]
    m.op("QUANTIZE", m.graph.inputs, m.at)
    for width, stride in ((first, 1), (8, 2), (4, 2)):
        m.at = window(m, "CONV_2D", 3, stride, width=width)
    return m.data()


@pytest.mark.slow
def test_a_uint8_image_is_cut_into_parts_after_its_conversion_to_int8(tmp_path: Path, capfd: Captured) -> None:
    given, target = tmp_path / "image.tflite", tmp_path / "small.tflite"
    given.write_bytes(image_of_uint8(1, 16))
    assert main(["convert", str(given), "-o", str(target), "--time-limit", "20"]) == 0
    assert "with operators in parts" in (said := capfd.readouterr().err)
    assert ", outputs equal" in said
    assert "not taken" not in said
    assert list(faults(image_of_uint8(3, 8), 0.5, Counter(), run_here)) == []


@pytest.mark.slow
def test_convert_falls_back_to_the_given_model_if_a_form_does_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    m = MicroModel((1, 16, 16, 4), is_int8=True)
    m.at = add_crossing(m)
    data = m.data()
    options = ConvertOptions(to="tflite", time_limit_s=30, fit=1 << 20)  # fits, so that no parts are looked for
    assert convert(data, None, options).files[0].data != data
    # A fake runtime whose outputs are wrong in a smaller arena.
    monkeypatch.setattr(interpreter, "_RUN", interpreter._RUN.replace("model.get_output(k)", "np.array(arena_size)"))
    found = convert(data, None, options)
    assert (found.files[0].data, found.deployment.form, found.deployment.runs) == (data, "given", True)
    assert any("outputs differ" in note for note in found.deployment.notes)
    assert json.loads(found.model_dump_json())["deployment"]["measured"].startswith("measured by tflite_micro")
