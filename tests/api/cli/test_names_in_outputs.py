"""Each form of each answer shows all names: whole, or cut in the middle with both ends; names in C stay unique."""

import json
import re
import zlib
from base64 import b64decode
from html import unescape
from pathlib import Path

import pytest

from memplan.api.cli.main import main
from memplan.runtimes.tflite.model import read_model
from tests.runtimes.tflite_files import INT8, model, operator, subgraph, tensor

LONG = "/".join(f"block_{k}/depthwise;batch_norm" for k in range(15))[:392]
NAMES = ["a", "two words", "größe/Übergang", f"first {LONG} 1", f"first {LONG} 2", f"other {LONG} 1", f"x{'y' * 398}z"]
ENDS = 6
"""The characters of each end of a name that every output shows."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = [{"id": name, "size": 64 + k, "start": 0, "end": 2} for k, name in enumerate(NAMES)]
    Path("p.json").write_text(json.dumps({"buffers": rows}), encoding="utf-8")
    Path("q.json").write_text(json.dumps({"buffers": [{**row, "size": 200} for row in rows]}))
    assert main(["plan", "p.json", "-o", "plan.json", "-q"]) == 0
    assert main(["check", "p.json", "--save-baseline", "old.json", "-q"]) == 0
    return tmp_path


def missing(text: str, is_all: bool = True) -> list[str]:
    """Return the names of which a text lacks an end; without `is_all`, none are missing if it shows any at all."""
    flat = unescape(text).replace("\\u00df", "ß").replace("\\u00f6", "ö").replace("\\u00dc", "Ü")
    lost = [name for name in NAMES if name[:ENDS] not in flat or name[-ENDS:] not in flat]
    return lost if is_all or len(lost) == len(NAMES) else []


@pytest.mark.parametrize(
    ("line", "output"),
    [
        ("plan p.json -o out.json -o out.csv -o out.svg", "out.json out.csv out.svg"),
        ("plan p.json --format triples", ""),
        ("convert p.json plan.json -o out.c", "out.h"),
        ("convert p.json plan.json --to triples -o out.json", "out.json"),
        ("convert p.json --capacity ram=4KiB@0x1000 -o out.ld", "out.ld"),
        ("explain p.json --capacity 128 --format table", ""),
        ("explain p.json --what-if --format table", ""),
        ("check p.json --budget 1KiB --with-plan", ""),
        ("plan p.json -o out.html", "out.html"),
        ("verify p.json plan.json -o out.html", "out.html"),
        ("explain p.json --capacity 128 -o out.html", "out.html"),
        ("check q.json --baseline old.json -o out.html", "out.html"),
        ("check q.json --baseline old.json -o out.sarif -o out.xml -o out.md", "out.sarif out.xml out.md"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_each_output_shows_both_ends_of_each_name(line: str, output: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(line.split()) in (0, 1)
    for text in [Path(name).read_text(encoding="utf-8") for name in output.split()] or [capfd.readouterr().out]:
        data = [zlib.decompress(b64decode(part)).decode() for part in re.findall(r"document\">([\w+/]+=*)<", text)]
        assert missing("".join(data) or text, is_all="check q" not in line and "128" not in line) == []


@pytest.mark.usefixtures("folder")
def test_long_names_stay_unique_in_c(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", "p.json", "plan.json", "-o", "out.c", "-q"]) == 0
    capfd.readouterr()
    names = re.findall(r"#define OUT_OFFSET_(\w+) ", Path("out.h").read_text(encoding="utf-8"))
    assert len(names) == len({*names}) == len(NAMES)
    assert max(map(len, names)) <= 104


def test_no_name_of_a_model_is_replaced_by_a_number() -> None:
    tensors = [tensor(name, [4], INT8) for name in (*NAMES, "a")]
    rows = [operator("RELU", [k], [k + 1]) for k in range(len(NAMES))]
    ids = [row.id for row in read_model(model(subgraph(tensors, [0], [len(NAMES)], rows))).tensors]
    assert len({*ids}) == len(tensors)
    assert (ids[1:3], ids[0], ids[-1]) == (NAMES[1:3], "#0/0 a", f"#0/{len(NAMES)} a")
    assert [(name[:ENDS], name[-ENDS:]) for name in NAMES[3:]] == [(each[:ENDS], each[-ENDS:]) for each in ids[3:-1]]
