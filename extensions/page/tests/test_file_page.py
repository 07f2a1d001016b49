"""Tests of pages as files and in notebooks: their data, escaping, and the scripts that their policy allows."""

import base64
import gc
import hashlib
import json
import pickle
import re
import zlib
from importlib.util import find_spec
from pathlib import Path

import pytest

from memplan import Buffer, Plan, Pool, Problem, read_plan, solve
from memplan.api.cli.main import main
from memplan.extensions.page.file_page import plan_page
from memplan.planner.errors import OptionError
from memplan.planner.model.plan import _PROBLEMS, problem_of

PROBLEM = Problem(
    buffers=[
        Buffer(id="</script><b>bold", size=64, start=-5, end=3),
        Buffer(id="view", size=8, start=0, end=2, alias_of="</script><b>bold", alias_offset=8),
        Buffer(id="holes", size=1 << 60, lifetimes=((0, 1), (2, 4))),
        Buffer(id="timeless", size=16),
    ],
    pools=[Pool(name="<sram>", size=1 << 62, reserved=((0, 64),), bank_size=32)],
)


def page() -> str:
    return plan_page(PROBLEM, solve(PROBLEM), title="</title><script>").decode()


def text_between(text: str, opening: str, end: str) -> str:
    return text.partition(opening)[2].partition(end)[0]


def script(text: str) -> str:
    return unpack_styles(text)[1]


def unpack_styles(text: str) -> list[str]:
    """Return the unpacked styles and script of a page, in this order."""
    return zlib.decompress(base64.b64decode(text_between(text, 'id="script">', "</script>"))).decode().split("\0")


def source(text: str) -> str:
    """Return the hash expression with which a security policy allows a script or style with this text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_the_content_security_policy_allows_exactly_the_included_script_and_style() -> None:
    text = page()
    found = re.search(r'Content-Security-Policy" content="([^"]+)"', text)
    assert found is not None
    loader, (style, own) = text_between(text, '<script type="module">', "</script>"), unpack_styles(text)
    assert f"script-src {source(loader)} {source(own)}; style-src {source(style)};" in found[1]
    assert found[1].startswith("default-src 'none'; ")


def test_names_in_a_file_page_are_escaped() -> None:
    text = page()
    assert "<b>bold" not in text
    assert "<title>&lt;/title&gt;&lt;script&gt;</title>" in text


def test_a_file_page_refers_to_no_network_address() -> None:
    text = page()
    addresses = set(re.findall(r"https?://[^\s\"'`)]+", text + script(text)))
    assert {address for address in addresses if "://www.w3.org/" not in address} == set()


def test_a_file_page_contains_problem_and_plan_as_compressed_json() -> None:
    document = json.loads(zlib.decompress(base64.b64decode(text_between(page(), 'id="document">', "</script>"))))
    (view,) = document["views"]
    assert [document["title"], view["kind"]] == ["</title><script>", "plan"]
    assert Problem.model_validate(view["problem"]) == PROBLEM
    assert [view["inspection"]["valid"], len(view["plan"]["placements"])] == [True, 4]


FIRST, ALWAYS = Buffer(id='</iframe>"<b>', size=64, start=0, end=3), Buffer(id="always", size=16)
SHOWN = Problem(buffers=[FIRST, Buffer(id=2, size=48, lifetimes=((2, 5), (7, 8))), ALWAYS])


def test_columns_of_a_plan_have_sizes_and_times_if_its_problem_is_known() -> None:
    plan = solve(SHOWN)
    columns = plan.to_columns()
    assert (columns["id"], columns["size"].tolist()) == ([buffer.id for buffer in SHOWN.buffers], [64, 48, 16])
    assert (columns["start"], columns["end"]) == ([0, 2, None], [3, 8, None])
    alone = Plan.model_validate(plan.model_dump(mode="json"))
    assert sorted(alone.to_columns()) == ["id", "offset", "pool"]
    assert alone._repr_html_() is None
    assert problem_of(read_plan(plan.model_dump_json().encode(), SHOWN)) is SHOWN


def test_equality_and_pickling_of_a_plan_ignore_its_problem() -> None:
    plan = solve(SHOWN)
    assert plan == Plan.model_validate(plan.model_dump(mode="json"))
    assert problem_of(pickle.loads(pickle.dumps(plan))) is None


def test_the_problem_of_a_plan_is_released_with_the_plan() -> None:
    plan = solve(SHOWN)
    key = id(plan)
    assert key in _PROBLEMS
    del plan
    gc.collect()
    assert key not in _PROBLEMS


def test_to_dataframe_without_pandas_names_the_alternative() -> None:
    plan = solve(SHOWN)
    if find_spec("pandas") is None:
        with pytest.raises(OptionError, match=r"to_dataframe: needs pandas \(pip install pandas\), unlike to_columns"):
            plan.to_dataframe()
    else:
        assert list(plan.to_dataframe().columns) == ["id", "pool", "offset", "size", "start", "end"]


Captured = pytest.CaptureFixture[str]
TABLE = "id,lower,upper,size\na,0,2,4\nb,1,3,4\nc,2,4,6\n"


@pytest.fixture
def table(tmp_path: Path, capfd: Captured) -> Path:
    (tmp_path / "p.csv").write_text(TABLE)
    assert main(["plan", str(tmp_path / "p.csv"), "--deterministic", "-o", str(tmp_path / "p.json")]) == 0
    capfd.readouterr()
    return tmp_path / "p.csv"


def test_plan_and_verify_write_a_page_and_format_page_opens_it(
    table: Path, tmp_path: Path, capfd: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def browse(url: str) -> bool:
        opened.append(url)
        return True

    monkeypatch.setattr("webbrowser.open", browse)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    page = tmp_path / "page.html"
    assert main(["plan", str(table), "-o", str(tmp_path / "x.json"), "-o", str(page), "-q"]) == 0
    assert ("<title>p.csv</title>" in page.read_text(), opened) == (True, [])
    page.unlink()
    table.with_name("wrong.json").write_text(json.dumps({"a": 0, "b": 0, "c": 0}))
    assert main(["verify", str(table), str(table.with_name("wrong.json")), "-o", str(page), "-q"]) == 3
    assert page.read_text().startswith("<!doctype html>")
    capfd.readouterr()
    assert main(["verify", str(table), str(table.with_name("p.json")), "--format", "page"]) == 0
    (path,) = opened
    assert Path(path.removeprefix("file://")).parent == tmp_path
    assert capfd.readouterr().err.splitlines()[-1] == f"memplan: wrote {path.removeprefix('file://')}"


def test_sweep_writes_a_page_and_a_table(table: Path, tmp_path: Path, capfd: Captured) -> None:
    page = tmp_path / "sweep.html"
    assert main(["sweep", str(table), "--size", "8:16:4", "-o", str(page), "-o", str(page.with_suffix(".csv"))]) == 0
    assert page.read_text().startswith("<!doctype html>")
    assert page.with_suffix(".csv").read_text().startswith("size,status,cost,")
    assert capfd.readouterr().out == ""
