"""What all importers have in common: their files are known by what is in them, and broken ones are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.fuzz_importers import SEEDS, broken, outcome
from memplan.planner import formats
from memplan.planner.errors import FormatError
from memplan.planner.systems import file_readers
from memplan.systems.reading import detect, read_model
from tests.support.depth import seeds

MODELS = Path(__file__).parents[1] / "models"


@pytest.mark.parametrize("name", SEEDS)
def test_a_file_is_known_by_what_is_in_it(name: str) -> None:
    for data in SEEDS[name]():
        assert detect(data, "problem.json") == name
        assert [known for known, importer in file_readers().items() if importer.recognises(data)] == [name]
        assert not formats.is_own(data)


@pytest.mark.parametrize(
    "data",
    [
        b"id,lower,upper,size\na,0,1,4\n",
        b'\xef\xbb\xbf{ "buffers": []}',
        b'{"format": "memplan/1", "buffers": []}',
        b'{"size": [4], "ops": []}',
        b'{"functions": {}}',
    ],
)
def test_files_of_memplan_itself_are_known_by_their_beginning(data: bytes) -> None:
    assert formats.is_own(data)
    assert not any(reader.recognises(data) for reader in file_readers().values())


def test_a_file_is_known_by_its_name_where_that_is_all_there_is() -> None:
    assert detect(b"?", "dir/MODEL.TFLITE") == "tflite"
    assert detect(b"?", "dir/model.onnx") == "onnx"


@pytest.mark.parametrize("data", [b'{"buffers": []}', b"id,lower,upper,size\n", b"hello", b"\x08"])
def test_what_is_no_model_is_left_to_others(data: bytes) -> None:
    assert detect(data, "problem.json") is None
    with pytest.raises(FormatError, match=r"must be of a known format, got .*; known are .*\.tflite"):
        read_model(data)


@pytest.mark.drawn
@pytest.mark.parametrize("name", SEEDS)
@pytest.mark.slow
def test_a_broken_file_is_refused_with_a_sentence_or_read(name: str) -> None:
    files = SEEDS[name]()
    found = {outcome(name, broken(name, files, seed)) for seed in seeds(100)}
    assert {"read", "FormatError"} <= found
