"""Models converted to forms for a runtime's arena: the form that fits with the fewest multiplications."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from memplan.api.cli.main import main
from memplan.extensions.files.convert.answer import Converted
from memplan.extensions.files.convert.convert import convert
from memplan.extensions.files.convert.options import ConvertOptions
from memplan.planner.errors import OptionError
from memplan.runtimes.tflite.tflm_tail import arena_of
from tests.runtimes.tflite_files import two_halves

Captured = pytest.CaptureFixture[str]
MODELS = Path(__file__).parents[3] / "tests" / "models"
KWS = (MODELS / "recorded" / "kws_dscnn_int8.tflite").read_bytes()


def deploy_model(data: bytes, **options: object) -> Converted:
    found = convert(data, None, ConvertOptions.model_validate({"to": "tflite", "time_limit_s": 2, **options}))
    arena = arena_of(found.files[0].data)
    assert found.deployment is not None
    assert (arena.head, arena.tail, arena.least) == (found.arena.head, found.arena.tail, found.arena.least)
    assert (found.arena.used, found.arena.least) <= (found.given.used, found.given.least)
    return found


def form_of(found: Converted) -> str | None:
    return None if found.deployment is None else found.deployment.form


def test_convert_writes_another_order_if_it_lowers_the_peak() -> None:
    found = deploy_model(two_halves())
    assert (form_of(found), found.deployment and found.deployment.macs_ratio) == ("ordered", 1.0)
    assert found.arena.head < found.given.head


def test_convert_keeps_the_given_model_if_no_deployment_form_is_better(tmp_path: Path, capfd: Captured) -> None:
    found = deploy_model(KWS)
    assert (form_of(found), found.files[0].data) == ("given", KWS)
    given, target = tmp_path / "kws.tflite", tmp_path / "out.tflite"
    given.write_bytes(KWS)
    assert main(["convert", str(given), "-o", str(target), "--time-limit", "2"]) == 0
    assert "out.tflite: the model as given, as nothing is gained" in capfd.readouterr().err
    assert target.read_bytes() == KWS


def test_convert_reports_an_arena_size_too_small_for_every_deployment_form(tmp_path: Path, capfd: Captured) -> None:
    given, target = tmp_path / "kws.tflite", tmp_path / "out.tflite"
    given.write_bytes(KWS)
    assert main(["convert", str(given), "--fit", "20KiB", "-o", str(target), "--time-limit", "2"]) == 1
    said = capfd.readouterr()
    assert "no form that was found fits: 24,208 bytes are 3,728 too many" in said.err
    assert "not written, as no form that was found fits" in said.err
    assert not target.exists()


def test_convert_refuses_options_of_device_forms_together_with_options_of_a_problem(capfd: Captured) -> None:
    for rule, name in (
        ({"in_place": True}, "in_place"),
        ({"capacity": ("64KiB",)}, "capacity"),
        ({"weights": "ram"}, "weights"),
    ):
        for asked in ({"fit": 65536}, {"macs": 1.5}, {"c_array": True}):
            options = ConvertOptions.model_validate({"to": "tflite", **asked, **rule})
            with pytest.raises(
                OptionError, match=rf"^{next(iter(asked))}: must not be given together with {name}, got .*\nleave one"
            ):
                convert(KWS, None, options)
    path = str(MODELS / "recorded" / "kws_dscnn_int8.tflite")
    assert main(["convert", path, "--to", "tflite", "--in-place", "--fit", "64KiB"]) == 2
    assert "fit: must not be given together with --in-place, got 65536 (leave one" in capfd.readouterr().err


def test_the_c_array_has_the_bytes_of_the_model_and_the_arena_its_section(tmp_path: Path) -> None:
    given, target = tmp_path / "model.tflite", tmp_path / "net.tflite"
    given.write_bytes(KWS)
    asked = ["convert", str(given), "-o", str(target), "--c-array", "--section", ".dtcm", "--time-limit", "2"]
    assert main([*asked, "--quiet"]) == 0
    source = (tmp_path / "net.c").read_text()
    array = source.partition("const unsigned char net[NET_SIZE] = {")[2].partition("}")[0]
    assert bytes(int(byte, 16) for byte in array.replace("\n", "").split(",") if byte.strip()) == target.read_bytes()
    assert 'MEMPLAN_IN_SECTION(".dtcm")' in source
    assert f"#define NET_ARENA_SIZE {arena_of(target.read_bytes()).least}u" in (tmp_path / "net.h").read_text()
    if compiler := shutil.which("gcc"):
        command = [compiler, "-std=c11", "-Wall", "-Werror", "-c", "net.c", "-o", "net.o"]
        subprocess.run(command, cwd=tmp_path, check=True)


def test_convert_runs_operators_in_parts_to_fit_with_equal_outputs() -> None:
    pytest.importorskip("ai_edge_litert", reason="models are run where LiteRT is installed")
    from tests.runtimes.litert_models import outputs_of
    from tests.runtimes.tflite_networks import vgg

    data = vgg(64, 8)
    found = deploy_model(data, fit=arena_of(data).least * 3 // 4, time_limit_s=8)
    assert (form_of(found), found.fits) == ("cascade", True)
    image = np.random.default_rng(3).integers(-128, 128, (1, 64, 64, 3)).astype(np.int8)
    before, after = outputs_of(data, image), outputs_of(found.files[0].data, image)
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
